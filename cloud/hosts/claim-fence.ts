import { shellQuote } from '../../domain/shell-quote.js';

/** Below the login user's home: what jobctl keeps on a machine that outlives its slices (docs/adr/0070). */
export const MACHINE_FOLDER = '.jobctl/machine';
/** Its first line is the id of the claim. */
export const CLAIM_FILE = 'claim';
/** An empty file for each claim that is being given back, or was. */
export const ENDED_FOLDER = 'ended';

/** Exit code of a command that was not begun. */
export const NOT_HELD = 97;

const FENCE = `cd=$HOME/${MACHINE_FOLDER}
[ ! -e "$cd/${ENDED_FOLDER}/$0" ] && read -r held < "$cd/${CLAIM_FILE}" && [ "$held" = "$0" ] || exit ${NOT_HELD}
exec "\${SHELL:-sh}" -c "$1"`;

/**
 * The command for the login user's shell, begun only while the machine is held by this claim: what a worker that was cut off still
 * sends comes to nothing.
 */
export const whileHeld = (claim: string, command: string): string =>
  `sh -c ${shellQuote(FENCE)} ${shellQuote(claim)} ${shellQuote(command)}`;

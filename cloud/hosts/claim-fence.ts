import { shellQuote } from '../../domain/shell-quote.js';

/** Folder below the login user's home for jobctl's files on a machine that outlives its slices (docs/adr/0070). */
export const MACHINE_FOLDER = '.jobctl/machine';
/** The first line of this file is the id of the claim. */
export const CLAIM_FILE = 'claim';
/** Contains an empty file for each claim that is being given back or was. */
export const ENDED_FOLDER = 'ended';

/** Exit code of a command that was not started. */
export const NOT_HELD = 97;

const FENCE = `cd=$HOME/${MACHINE_FOLDER}
[ ! -e "$cd/${ENDED_FOLDER}/$0" ] && read -r held < "$cd/${CLAIM_FILE}" && [ "$held" = "$0" ] || exit ${NOT_HELD}
exec "\${SHELL:-sh}" -c "$1"`;

/**
 * Wraps a command for the login user's shell so that it starts only while this claim holds the machine. Commands that a cut-off
 * worker still sends have no effect.
 */
export const whileHeld = (claim: string, command: string): string =>
  `sh -c ${shellQuote(FENCE)} ${shellQuote(claim)} ${shellQuote(command)}`;

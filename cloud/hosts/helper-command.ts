import { shellQuote } from '../../domain/shell-quote.js';

/** The folders of system programs. They come before the login's own PATH, which finds the host's other programs. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * A script of jobctl's as a command line for any login shell. bash reads .bashrc first, so the user's functions and PATH would
 * take effect; in the sh that is started here they do not. The account still belongs to the job's user, who can replace its login
 * shell, so the script's output is checked and never trusted (docs/adr/0092).
 */
export const helperCommand = (script: string): string =>
  `exec /bin/sh -c ${shellQuote(`login_path=$PATH PATH=${SYSTEM_PATH}:$PATH\n${script}`)}`;

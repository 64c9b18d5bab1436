import { shellQuote } from '../../domain/shell-quote.js';

/** Where a system keeps its programs. Before the login's own PATH, which finds what a host keeps elsewhere. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * A script of jobctl's own as a command line for the login shell, whichever that is. bash reads .bashrc before it, so that functions
 * and a PATH of the login's user would answer; in the sh that is started here they do not. The account still belongs to whoever
 * runs the job, and can replace its login shell: what the script prints is judged, never believed (docs/adr/0092).
 */
export const helperCommand = (script: string): string =>
  `exec /bin/sh -c ${shellQuote(`login_path=$PATH PATH=${SYSTEM_PATH}:$PATH\n${script}`)}`;

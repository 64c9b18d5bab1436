import { shellQuote } from '../../domain/shell-quote.js';

/**
 * Reads bash's login files. `bash --login` would do so too, but would also read .bash_logout at the end. In a pod, Debian's
 * /etc/profile drops the image's PATH. It is restored from the pod's first process, jobctl's agent, before the user's own file is
 * read. The text has no single quotes, because the runner puts it between single quotes.
 */
export const LOGIN_FILES = `[ ! -r /etc/profile ] || . /etc/profile
if [ -f /jobctl/agent ] && [ -r /proc/1/environ ]; then
  while IFS= read -r -d "" JOBCTL_EACH; do
    case $JOBCTL_EACH in PATH=*) PATH=\${JOBCTL_EACH#PATH=}:$PATH ;; esac
  done < /proc/1/environ
  unset JOBCTL_EACH
fi
if [ -r ~/.bash_profile ]; then . ~/.bash_profile
elif [ -r ~/.bash_login ]; then . ~/.bash_login
elif [ -r ~/.profile ]; then . ~/.profile
fi
`;

/** Returns a command that runs a shell line on a host in the same shell environment as the job's own command. */
export const inLoginShell = (line: string): string => `bash --norc -c ${shellQuote(`${LOGIN_FILES}${line}`)}`;

/** The same for a shell that reads its lines from a person or a pipe. */
export const LOGIN_SHELL = inLoginShell('exec bash');

/** The folders of system programs. They come before the login's own PATH, which finds the host's other programs. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * A script of jobctl's as a command line for any login shell. bash reads .bashrc first, so the user's functions and PATH would
 * take effect; in the sh that is started here they do not. The account still belongs to the job's user, who can replace its login
 * shell, so the script's output is checked and never trusted (docs/adr/0092).
 */
export const helperCommand = (script: string): string =>
  `exec /bin/sh -c ${shellQuote(`login_path=$PATH PATH=${SYSTEM_PATH}:$PATH\n${script}`)}`;

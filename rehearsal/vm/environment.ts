import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

let pythonFolder: string | undefined;

/**
 * The environment a login on a VM starts from. Made from nothing, never from the rehearsal's own environment: its
 * JOBCTL_*, npm_* and credentials are not the VM's.
 */
export function loginEnvironment(user: string, home: string, hostname: string): Record<string, string> {
  return {
    PATH: vmPath(),
    HOME: home,
    USER: user,
    LOGNAME: user,
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    HOSTNAME: hostname,
  };
}

/** Makes the home of `user` under `root` as an image's /etc/skel would, at the first login. */
export function makeHome(root: string, user: string): string {
  const home = join(root, user);
  if (!existsSync(home)) {
    mkdirSync(home, { recursive: true, mode: 0o755 });
    // A login shell starts with /etc/profile, which sets PATH anew and knows nothing of a Python outside of /usr.
    const profile = `# Written by the rehearsal cloud.\nPATH="$HOME/.local/bin:$PATH${pythonSuffix()}"\n`;
    writeFileSync(join(home, '.profile'), profile);
  }
  return home;
}

function vmPath(): string {
  return `${SYSTEM_PATH}${pythonSuffix()}`;
}

function pythonSuffix(): string {
  const folder = findPythonFolder();
  return folder === '' || SYSTEM_PATH.split(':').includes(folder) ? '' : `:${folder}`;
}

/** The folder of the interpreter behind `python3` on the rehearsal's PATH (not of a pyenv shim), or '' if there is none. */
function findPythonFolder(): string {
  if (pythonFolder === undefined) {
    try {
      const program = 'import os, sys; print(os.path.realpath(sys.executable))';
      const path = execFileSync('python3', ['-c', program], { timeout: 20_000, stdio: ['ignore', 'pipe', 'ignore'] });
      pythonFolder = dirname(path.toString().trim());
    } catch {
      pythonFolder = '';
    }
  }
  return pythonFolder;
}

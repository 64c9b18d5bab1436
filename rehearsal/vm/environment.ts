import { appendFileSync, cpSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import { findPython } from './visible-folders.js';

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Folders in which a VM with a separate root finds the rehearsal's commands. They come before the computer's. */
export const VM_COMMANDS = ['/opt/rehearsal/bin', '/run/rehearsal/bin'];

export interface Login {
  readonly user: string;
  /** Path of the home in the VM. */
  readonly home: string;
  readonly hostname: string;
  /** Folders of commands that come before the system's. */
  readonly commands: readonly string[];
}

/**
 * The environment from which a login on a VM starts. It is made from nothing, never from the rehearsal's own environment, whose
 * JOBCTL_*, npm_* and credentials are not the VM's.
 */
export function loginEnvironment({ user, home, hostname, commands }: Login): Record<string, string> {
  return {
    PATH: [...commands, SYSTEM_PATH, ...pythonFolder()].join(':'),
    HOME: home,
    USER: user,
    LOGNAME: user,
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    HOSTNAME: hostname,
  };
}

/** PATH of a container: the system's folders, and the one of this computer's Python. */
export const imagePath = (): string => [SYSTEM_PATH, ...pythonFolder()].join(':');

/** Makes a home from this computer's /etc/skel, at the first login. @param folder path outside the VM */
export function makeHome(folder: string, commands: readonly string[]): void {
  const profile = join(folder, '.profile');
  if (existsSync(profile)) return;
  makeFolderSync(folder, 0o755);
  // Without .bash_logout, which clears a screen that does not exist whenever a login shell without a terminal runs `exit`.
  const filter = (source: string): boolean => !source.endsWith('/.bash_logout');
  if (existsSync('/etc/skel')) cpSync('/etc/skel', folder, { recursive: true, force: false, filter });
  // A login shell reads /etc/profile, which resets PATH and knows neither our commands nor a Python outside /usr.
  const path = [...commands, '$HOME/.local/bin', '$PATH', ...pythonFolder()].join(':');
  appendFileSync(profile, `# Written by the rehearsal cloud.\nPATH="${path}"\n`);
}

function pythonFolder(): readonly string[] {
  const folder = dirname(findPython().executable);
  return folder === '.' || SYSTEM_PATH.split(':').includes(folder) ? [] : [folder];
}

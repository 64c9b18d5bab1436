import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ETC_FILES } from './etc-files.js';

/**
 * The parts of this computer that a VM sees: its operating system, and the Python and Node on its PATH; nothing else. It does not
 * see homes, data, other disks and the rehearsal's own state.
 */
export interface VisibleFolders {
  /** Absolute; a parent comes before what is in it. */
  readonly folders: readonly string[];
  /** Paths in these folders that only root may read. */
  readonly secrets: readonly string[];
}

/** Shown if they are folders, not links, on this computer. dpkg's list of packages tells what is in /usr. */
const SYSTEM_FOLDERS = ['/usr', '/etc', '/opt', '/var/lib/dpkg', '/bin', '/sbin', '/nix', '/gnu', '/snap'];
const LIBRARY_FOLDERS = ['/lib', '/lib32', '/lib64', '/libx32'];

/** Types of file systems that are not shown if they are mounted below a shown folder. */
const PSEUDO = /^(proc|sysfs|tmpfs|devtmpfs|devpts|cgroup2?|mqueue|nsfs|autofs|binfmt_misc|fuse\..*)$/;

const OWN_ETC = new Set(ETC_FILES.map((file) => `/etc/${file}`));

let secretsHere: readonly string[] | undefined;
let python: PythonHere | undefined;

export interface PythonHere {
  /** The interpreter behind `python3` (not a pyenv shim), or '' if there is none. */
  readonly executable: string;
  /** Folders that the interpreter needs. */
  readonly prefixes: readonly string[];
}

/** @param root if read-only, /opt must stay writable: its contents are shown instead of it */
export function visibleFolders(root: 'overlay' | 'read-only'): VisibleFolders {
  const shown = systemFolders(root);
  // The rehearsal's own Node runs some of the VM's tools.
  const node = dirname(process.execPath);
  const nodePrefix = isInstallation(dirname(node)) ? dirname(node) : node;
  const programs = [...findPython().prefixes, nodePrefix];
  const others = programs.filter((prefix) => !shown.some((folder) => isIn(prefix, folder)));
  secretsHere ??= secretsOf('/etc').filter((path) => !OWN_ETC.has(path));
  return { folders: [...new Set([...shown, ...others])].toSorted(), secrets: secretsHere };
}

/** Folders of the operating system that a VM needs to be up. */
export function systemFolders(root: 'overlay' | 'read-only'): readonly string[] {
  const system = [...SYSTEM_FOLDERS, ...LIBRARY_FOLDERS].filter(isFolder);
  // Without an overlay, mounts below a folder come with it.
  if (root === 'read-only') return system.flatMap((each) => (each === '/opt' ? inside(each) : [each]));
  const below = mountPoints().filter((point) => system.some((folder) => isIn(point, folder)) && isFolder(point));
  return [...system, ...below];
}

/** The interpreter behind `python3`, found once per process by running it. */
export function findPython(): PythonHere {
  python ??= askPython();
  return python;
}

function askPython(): PythonHere {
  const program = 'import os, sys; print(os.path.realpath(sys.executable), sys.prefix, sys.base_prefix, sep="\\n")';
  try {
    const answer = execFileSync('python3', ['-c', program], { timeout: 20_000, stdio: ['ignore', 'pipe', 'ignore'] });
    const [executable = '', ...prefixes] = answer.toString().trim().split('\n');
    const own = [...new Set([dirname(executable), ...prefixes.filter(isInstallation)])];
    const isPart = (folder: string): boolean => own.some((other) => other !== folder && isIn(folder, other));
    return { executable, prefixes: own.filter((folder) => !isPart(folder)) };
  } catch {
    return { executable: '', prefixes: [] };
  }
}

/** False for a place where an interpreter was put by hand, such as /home/ada/bin/python3: then only its folder is shown. */
function isInstallation(prefix: string): boolean {
  return isFolder(join(prefix, 'lib')) && prefix !== homedir() && dirname(prefix) !== '/home';
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function inside(folder: string): readonly string[] {
  return readdirSync(folder)
    .map((entry) => join(folder, entry))
    .filter(isFolder);
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Mount points of file systems that have their own files, deepest last. */
function mountPoints(): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const fields = line.split(' ');
      const type = fields[fields.indexOf('-') + 1] ?? '';
      // mountinfo writes spaces and the like in octal.
      const point = (fields[4] ?? '').replaceAll(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCodePoint(parseInt(octal, 8)),
      );
      return point === '' || PSEUDO.test(type) ? [] : [point];
    });
}

/** Files and folders that only their owner and group may read; a folder that others cannot list is one too. */
function secretsOf(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [];
    const othersRead = entry.isDirectory() ? 0o005 : 0o004;
    if (((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & othersRead) !== othersRead) return [path];
    return entry.isDirectory() ? secretsOf(path) : [];
  });
}

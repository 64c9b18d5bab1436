import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ETC_FILES } from './etc-files.js';

/**
 * What a VM sees of this computer: its operating system, and the Python and Node that are on its PATH; nothing else. Homes, data,
 * other disks and the rehearsal's own state are not among it.
 */
export interface VisibleFolders {
  /** Absolute, a parent before what is in it. */
  readonly folders: readonly string[];
  /** Paths in them that root alone may read. */
  readonly secrets: readonly string[];
}

/** Of those that are folders, not links, on this computer. dpkg's list of packages: what is in /usr should be known. */
const SYSTEM_FOLDERS = ['/usr', '/etc', '/opt', '/var/lib/dpkg', '/bin', '/sbin', '/nix', '/gnu', '/snap'];
const LIBRARY_FOLDERS = ['/lib', '/lib32', '/lib64', '/libx32'];

/** File systems of which no folder is worth seeing, below those that are. */
const PSEUDO = /^(proc|sysfs|tmpfs|devtmpfs|devpts|cgroup2?|mqueue|nsfs|autofs|binfmt_misc|fuse\..*)$/;

const OWN_ETC = new Set(ETC_FILES.map((file) => `/etc/${file}`));

let secretsHere: readonly string[] | undefined;
let python: PythonHere | undefined;

export interface PythonHere {
  /** The interpreter behind `python3` (not a pyenv shim), or '' if there is none. */
  readonly executable: string;
  /** Folders that it cannot do without. */
  readonly prefixes: readonly string[];
}

/** @param root read-only: /opt must stay writable, so that what is in it is shown in its place. */
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

/** .. of the operating system, as far as a VM needs them to be up. */
export function systemFolders(root: 'overlay' | 'read-only'): readonly string[] {
  const system = [...SYSTEM_FOLDERS, ...LIBRARY_FOLDERS].filter(isFolder);
  // Without an overlay, what is mounted below comes with the folder.
  if (root === 'read-only') return system.flatMap((each) => (each === '/opt' ? inside(each) : [each]));
  const below = mountPoints().filter((point) => system.some((folder) => isIn(point, folder)) && isFolder(point));
  return [...system, ...below];
}

/** Looked up once per process, by asking it. */
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

/** Not where somebody put an interpreter by hand, such as /home/ada/bin/python3: then its folder alone is shown. */
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

/** Where file systems with files of their own are mounted, deepest last. */
function mountPoints(): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const fields = line.split(' ');
      const type = fields[fields.indexOf('-') + 1] ?? '';
      // Spaces and the like are written in octal.
      const point = (fields[4] ?? '').replaceAll(/\\(\d{3})/g, (_, octal: string) =>
        String.fromCodePoint(parseInt(octal, 8)),
      );
      return point === '' || PSEUDO.test(type) ? [] : [point];
    });
}

/** Files and folders that others than their owner and group may not read. What cannot be listed is such a one. */
function secretsOf(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [];
    const othersRead = entry.isDirectory() ? 0o005 : 0o004;
    if (((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & othersRead) !== othersRead) return [path];
    return entry.isDirectory() ? secretsOf(path) : [];
  });
}

import { spawnSync } from 'node:child_process';
import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RootKind } from './boot.js';
import { bootCommand, etcFolder } from './boot.js';
import { removeDisksSync } from './disks.js';
import { writeEtc } from './etc-files.js';

/** The root that keeps a VM from this computer's files: see RootKind. `none`: no protection. */
export type Confinement = RootKind | 'none';

export interface DetectedConfinement {
  readonly kind: Confinement;
  /** Why the kind is not better, or a description if it is the best. For people. */
  readonly reason: string;
}

const detected = new Map<string, DetectedConfinement>();

/**
 * Finds what this kernel, this user and the file system of `folder` allow. Tried once per process and file system, by booting a
 * VM there.
 * @param folder of the future disks; it must exist
 */
export function detectConfinement(folder = tmpdir()): DetectedConfinement {
  // Characters that mean something in mount options may fail in one folder and not in the next.
  const place = `${statSync(folder).dev} ${PLAIN_PATH.test(folder) ? '' : folder}`;
  const known = detected.get(place) ?? detect(folder);
  detected.set(place, known);
  return known;
}
const PLAIN_PATH = /^[\w./-]+$/;

function detect(folder: string): DetectedConfinement {
  if (process.platform !== 'linux') return { kind: 'none', reason: `no mount namespaces on ${process.platform}` };
  const overlay = probe(folder, 'overlay');
  if (overlay === undefined) return { kind: 'overlay', reason: 'a root of its own over this computer’s folders' };
  const readOnly = probe(folder, 'read-only');
  if (readOnly === undefined) return { kind: 'read-only', reason: `no overlay file system in ${folder}: ${overlay}` };
  return { kind: 'none', reason: `no mount namespaces: ${readOnly}` };
}

/** Returns what went wrong, or undefined. */
function probe(folder: string, root: RootKind): string | undefined {
  const disk = mkdtempSync(join(folder, '.probe-'));
  try {
    writeEtc(etcFolder(disk, root), { hostname: 'probe', hosts: [], address: '127.0.0.1', users: [] });
    const { argv, environment } = bootCommand({ disk, hostname: 'probe', root, mark: disk, isProbe: true });
    const [program, ...args] = argv;
    const ended = spawnSync(program, args, {
      cwd: '/',
      env: { ...environment },
      timeout: 10_000,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (ended.status === 0 && ended.stdout === 'ready\n') return undefined;
    return ended.error?.message ?? (ended.stderr.trim() || `unshare ended with ${ended.status ?? ended.signal}`);
  } finally {
    removeDisksSync(disk);
  }
}

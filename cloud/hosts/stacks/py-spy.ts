import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { makeFolder } from '../../folders.js';
import type { PySpySource } from '../port.js';

/** py-spy (MIT) reads the Python stacks of another process. Its binary is static: it needs neither Python nor the host's libc. */
export const PY_SPY_VERSION = '0.4.3';
/** The path of the program in its wheels. */
export const PY_SPY_MEMBER = `py_spy-${PY_SPY_VERSION}.data/scripts/py-spy`;

interface Wheel {
  readonly url: string;
  /** Hexadecimal, as on PyPI. */
  readonly sha256: string;
}

const FILES = 'https://files.pythonhosted.org/packages';
/** Keyed by the value of `uname -m` (pypi.org/project/py-spy/0.4.3/#files, 2026-11-27). */
export const PY_SPY_WHEELS: Readonly<Record<string, Wheel>> = {
  x86_64: {
    url: `${FILES}/78/1f/651389a861f6148754443834a50dd576993257af5f645d4316ab94505267/py_spy-${PY_SPY_VERSION}-py2.py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl`,
    sha256: '8a4277225f470d394a85cca0cdd944bef87f0097b6f20150a6dd3ac2e92806b8',
  },
  aarch64: {
    url: `${FILES}/60/c3/c9384da6992d64e0dffab551cda3d1e990de1a2685fcfcc16fc8e5a98b18/py_spy-${PY_SPY_VERSION}-py2.py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl`,
    sha256: 'bbcec46930d464b3bfc142d6d02ade4dd8ad5627823263b3eff0280e80c7c132',
  },
};

/** Below the login user's home. @param machine the value of `uname -m` */
export const pySpyPath = (machine: string): string => `.jobctl/tools/py-spy-${PY_SPY_VERSION}-${machine}`;

/** Limit of a wheel and of its contents, which today have 3 MB and 8 MB. */
const MOST_WHEEL_BYTES = 16 * 1024 * 1024;
const MOST_BINARY_BYTES = 64 * 1024 * 1024;
const DOWNLOAD_MS = 60_000;

/**
 * Gets py-spy from PyPI, once for each machine type. It is kept in memory, and in `folder` if one is given.
 * @param fetchWheel downloads a wheel; not called for a wheel that is kept
 */
export function pySpyFrom(
  folder: string | undefined,
  fetchWheel: (url: string) => Promise<Buffer> = download,
): PySpySource {
  const had = new Map<string, Promise<Buffer>>();
  return (machine) => {
    const known = had.get(machine);
    if (known !== undefined) return known;
    const got = pySpy(machine, folder, fetchWheel);
    had.set(machine, got);
    // A failed download is tried again at the next call.
    got.catch(() => had.delete(machine));
    return got;
  };
}

async function pySpy(
  machine: string,
  folder: string | undefined,
  fetchWheel: (url: string) => Promise<Buffer>,
): Promise<Buffer> {
  const wheel = Object.hasOwn(PY_SPY_WHEELS, machine) ? PY_SPY_WHEELS[machine] : undefined;
  if (wheel === undefined) throw new Error(`there is no py-spy for its processor; jobctl knows ${MACHINES}`);
  const kept = folder === undefined ? undefined : join(folder, 'py-spy', `${wheel.sha256}.whl`);
  const old = kept === undefined ? undefined : await readFile(kept).catch(() => undefined);
  if (old !== undefined && sha256Of(old) === wheel.sha256) return unpacked(old);
  const bytes = await fetchWheel(wheel.url);
  const sha256 = sha256Of(bytes);
  if (sha256 !== wheel.sha256)
    throw new Error(`${wheel.url} has SHA-256 ${sha256}, expected ${wheel.sha256}: it was not unpacked`);
  // A cache that cannot be written costs the next call a download.
  if (kept !== undefined) await keep(kept, bytes).catch(() => undefined);
  return unpacked(bytes);
}

const MACHINES = Object.keys(PY_SPY_WHEELS).join(' and ');
const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function keep(path: string, bytes: Buffer): Promise<void> {
  await makeFolder(dirname(path));
  const part = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(part, bytes);
  await rename(part, path);
}

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) }).catch((error: unknown) => {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message;
    throw new Error(`PyPI cannot be reached from here (${reason})`, { cause: error });
  });
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_WHEEL_BYTES) throw new Error(`${url} sends more than ${MOST_WHEEL_BYTES} bytes`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

/** Signature of an entry in a zip archive's central directory (APPNOTE.TXT 4.3.12). */
const CENTRAL = 0x02014b50;
const DEFLATED = 8;

/** Extracts the program from a wheel whose hash is known: a zip archive without extensions, read by its central directory. */
export function unpacked(wheel: Buffer): Buffer {
  const end = wheel.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  for (let at = end < 0 ? wheel.length : wheel.readUInt32LE(end + 16); at + 46 <= wheel.length;) {
    if (wheel.readUInt32LE(at) !== CENTRAL) break;
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => wheel.readUInt16LE(at + field));
    const name = wheel.toString('utf8', at + 46, at + 46 + (nameBytes ?? 0));
    if (name === PY_SPY_MEMBER) {
      const local = wheel.readUInt32LE(at + 42);
      const from = local + 30 + wheel.readUInt16LE(local + 26) + wheel.readUInt16LE(local + 28);
      const packed = wheel.subarray(from, from + wheel.readUInt32LE(at + 20));
      if (wheel.readUInt16LE(at + 10) !== DEFLATED) return Buffer.from(packed);
      return inflateRawSync(packed, { maxOutputLength: MOST_BINARY_BYTES });
    }
    at += 46 + (nameBytes ?? 0) + (extraBytes ?? 0) + (commentBytes ?? 0);
  }
  throw new Error(`the wheel of py-spy ${PY_SPY_VERSION} has no ${PY_SPY_MEMBER}`);
}

import { nameProblem, quotedName, treeProblem } from './outside-text.js';
import type { StoredRound } from './outputs.js';

/** The manifest of one attempt and host (docs/adr/0059), as the host wrote it. It may be forged: nothing in it is believed. */
export interface OutputsManifest extends ManifestHeader {
  readonly entries: readonly OutputEntry[];
}

export interface ManifestHeader extends StoredRound {
  /** `ended`: stored after the command had ended. `running`: an earlier round. */
  readonly state: 'running' | 'ended';
  /** No file changed during the round: these are the files as they were at one moment. */
  readonly isWhole: boolean;
}

export type OutputEntry = OutputFile | OutputLink | OutputFolder;
interface OfOutputDir {
  /** The entry is in `$JOBCTL_OUTPUT_DIR`. Absent: in the folder in which the command starts. */
  readonly isInOutputDir?: true;
}
export interface OutputFile extends OfOutputDir {
  readonly kind: 'file';
  /** Relative, with `/`, and without `..`. */
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
  /** Epoch ms. */
  readonly modifiedAt: number;
  /** Permission bits. */
  readonly mode: number;
}
export interface OutputLink extends OfOutputDir {
  readonly kind: 'link';
  readonly path: string;
  /** Relative to the link's folder: some `..` first, then names. */
  readonly target: string;
}
/** An empty folder. */
export interface OutputFolder extends OfOutputDir {
  readonly kind: 'folder';
  readonly path: string;
}

/** The problem of a manifest, as text that follows its name. */
export class ManifestWrong extends Error {
  override readonly name = 'ManifestWrong';
}

/**
 * Reads a manifest. Names may have any bytes. Those that are not UTF-8 are shown as %XX.
 * @param names `bytes`: one character for each byte, for a host that gets the files back
 * @throws ManifestWrong if the form is wrong, the manifest is not whole, or a name leads out of the folder that it is put in
 */
export function readManifest(content: Uint8Array, names: 'shown' | 'bytes' = 'shown'): OutputsManifest {
  const [first = '', ...lines] = latin1(content).split('\n');
  const header = headerOf(first);
  const entries = lines.filter((line) => line !== '').map((line) => entryOf(line, names));
  const files = entries.filter(({ kind }) => kind === 'file').length;
  if (files !== header.files) throw new ManifestWrong(`is not whole: it lists ${files} files of ${header.files}`);
  const problem = treeProblem(entries.map(({ path }) => path));
  if (problem !== undefined) throw new ManifestWrong(`is refused: ${problem}`);
  return { ...header, entries };
}

/** The first line of a manifest, or of its beginning. @throws ManifestWrong */
export function readManifestHeader(beginning: Uint8Array): ManifestHeader {
  return headerOf(latin1(beginning).split('\n')[0] ?? '');
}

function headerOf(line: string): ManifestHeader {
  const value = parsed(line);
  const { v, state, at, files, bytes, unmatched, problems, whole } = value;
  if (v !== 1) throw new ManifestWrong(`is of version ${JSON.stringify(v)}, not 1: update this jobctl`);
  if (state !== 'running' && state !== 'ended') throw new ManifestWrong(`has state ${JSON.stringify(state)}`);
  return {
    state,
    isWhole: whole === true,
    at: timeOf(numberOf(at, 'at'), 'at'),
    files: countOf(files, 'files'),
    bytes: countOf(bytes, 'bytes'),
    unmatched: textsOf(unmatched),
    problems: textsOf(problems),
  };
}

function entryOf(line: string, names: 'shown' | 'bytes'): OutputEntry {
  const value = parsed(line);
  const shown = safePath(value['path']);
  const given = (name: unknown): string => (names === 'shown' ? shownName(String(name)) : bytesOf(String(name)));
  const path = given(value['path']);
  const at = { path, ...(value['in'] === 'dir' && { isInOutputDir: true as const }) };
  if (value['folder'] === true) return { kind: 'folder', ...at };
  if (value['link'] !== undefined) {
    safeTarget(shown, value['link']);
    return { kind: 'link', ...at, target: given(value['link']) };
  }
  const { sha256, size, mtime, mode } = value;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256))
    throw new ManifestWrong(`gives ${JSON.stringify(path)} no SHA-256`);
  const modifiedAt = timeOf(Math.round(numberOf(mtime, 'mtime') * 1000), 'mtime');
  return { kind: 'file', ...at, sha256, size: countOf(size, 'size'), modifiedAt, mode: modeOf(mode) };
}

/** @throws ManifestWrong for a name that is not a path below a folder */
function safePath(value: unknown): string {
  const path = typeof value === 'string' ? shownName(value) : '';
  const problem = nameProblem(path);
  if (problem === undefined) return path;
  throw new ManifestWrong(`is refused: ${path === '' ? JSON.stringify(value) : quotedName(path)} ${problem}`);
}

/** A link may lead up to the folder itself at most, and then to names. So it stays inside, whatever those names are. */
function safeTarget(path: string, value: unknown): string {
  const target = typeof value === 'string' ? shownName(value) : '';
  const parts = target.split('/');
  const ups = parts.findIndex((part) => part !== '..');
  const rest = ups === -1 ? [] : parts.slice(ups);
  const depth = path.split('/').length - 1;
  const isInside = (ups === -1 ? parts.length : ups) <= depth;
  const areNames = target === '.' || rest.every((part) => part !== '' && part !== '.' && part !== '..');
  if (target === '' || target.includes('\0') || !isInside || !areNames)
    throw new ManifestWrong(
      `is refused: link ${JSON.stringify(path)} leads out of the folder, to ${JSON.stringify(value)}`,
    );
  return target;
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new ManifestWrong(`is no manifest of outputs: ${JSON.stringify(line.slice(0, 80))}`);
}

function numberOf(value: unknown, key: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new ManifestWrong(`has ${key} ${JSON.stringify(value)}, which is no number`);
}

function countOf(value: unknown, key: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new ManifestWrong(`has ${key} ${JSON.stringify(value)}, which is no count`);
}

/** The latest time that `Date` has. */
const MOST_MS = 8.64e15;

function timeOf(ms: number, key: string): number {
  if (Math.abs(ms) <= MOST_MS) return ms;
  throw new ManifestWrong(`has ${key} ${ms}, which is no time`);
}

/** Permission bits, without setuid, setgid and sticky. */
function modeOf(value: unknown): number {
  if (value === undefined) return 0o644;
  if (typeof value === 'string' && /^[0-7]{1,4}$/.test(value)) return Number.parseInt(value, 8) & 0o777;
  throw new ManifestWrong(`has mode ${JSON.stringify(value)}, which is none`);
}

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string').map(shownName) : [];

const latin1 = (bytes: Uint8Array): string => {
  let text = '';
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return text;
};

/** Refuses characters that are not bytes: other code would see another name than the one that was checked. */
function bytesOf(name: string): string {
  for (const character of name)
    if (character > '\u00ff') throw new ManifestWrong(`is refused: ${quotedName(name)} is no name that a host writes`);
  return name;
}

/** The text of a name's bytes, one character each. */
function shownName(bytes: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(bytes, (one) => one.charCodeAt(0)),
    );
  } catch {
    // oxlint-disable-next-line no-control-regex -- control characters are what is shown as %XX
    return bytes.replaceAll(/[^\x00-\x7f]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  }
}

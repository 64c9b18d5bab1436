import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FileSource } from '../../../domain/local-files.js';
import { quotedName } from '../../../domain/outside-text.js';
import { bundleEntries, MOST_BYTES } from '../../job/packing/bundle.js';
import { NotPackable } from '../../job/packing/pack-tree.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { fileSource } from '../../terminal/file-on-disk.js';
import { sizeText } from '../../terminal/render/quantities.js';

/** A file of the folder, as it was read last. */
export interface SyncedFile {
  readonly source: FileSource;
  /** Permission bits. */
  readonly mode: number;
  /** It was written within the last seconds, and perhaps again while it was read. */
  readonly isFresh: boolean;
}

/** The content of the folder at one look. */
export interface FolderLook {
  /** Keyed by the path below the folder, with `/`. */
  readonly files: ReadonlyMap<string, SyncedFile>;
  /** Files that cannot be kept in step, with the reason. */
  readonly problems: readonly string[];
  /** Greater at each look that found a change. */
  readonly version: number;
}

interface Read extends SyncedFile {
  readonly stamp: string;
}

/** Clocks of file systems move in steps: 4 ms on Linux, 2 s on some shares. */
const STEP_MS = 2_000;

/**
 * A folder of this computer whose files are looked at again and again (docs/adr/0184). It has the files that a bundle of the
 * folder would have.
 */
export class SyncedFolder {
  readonly path: string;
  readonly #root: string;
  #read = new Map<string, Read>();
  #version = 0;

  private constructor(path: string, root: string) {
    this.path = path;
    this.#root = root;
  }

  /** @throws CliError (Usage) if it is no folder */
  static async open(path: string): Promise<SyncedFolder> {
    const found = await stat(path).catch(() => undefined);
    const root = found?.isDirectory() === true ? await realpath(path) : undefined;
    if (root === '/') throw new CliError(ExitCode.Usage, `sync: ${path}: is this whole computer; name a folder`);
    if (root !== undefined) return new SyncedFolder(path, root);
    throw new CliError(ExitCode.Usage, `sync: ${path}: ${found === undefined ? 'does not exist' : 'is no folder'}`);
  }

  /** Its name, also if it was given as `.` */
  get name(): string {
    return basename(this.#root);
  }

  /** Only files that changed since the last look are read. @throws CliError if it cannot be read, or is too large */
  async look(): Promise<FolderLook> {
    const entries = await bundleEntries(this.#root, {}).catch((error: unknown) => {
      throw error instanceof NotPackable ? new CliError(ExitCode.Refused, `${this.path}: ${error.message}`) : error;
    });
    if (entries.bytes > MOST_BYTES)
      throw new CliError(
        ExitCode.Refused,
        `${this.path}: has ${sizeText(entries.bytes)}; sync takes ${sizeText(MOST_BYTES)} at most`,
        'leave data out by .gitignore, and give it to the hosts by gcsfuse, files or jobctl cp',
      );
    const files = new Map<string, Read>();
    const problems: string[] = [];
    for (const path of entries.paths) {
      const file = await this.#readAt(path, problems);
      if (file !== undefined) files.set(path, file);
    }
    if (files.size === 0 && this.#read.size > 0)
      throw new CliError(
        ExitCode.Refused,
        `${this.path}: has no file any more; nothing is removed from hosts for that`,
      );
    const isOther = ({ stamp, source }: Read, path: string): boolean => {
      const before = this.#read.get(path);
      return before?.stamp !== stamp || before.source.sha256 !== source.sha256;
    };
    if (files.size !== this.#read.size || [...files].some(([path, file]) => isOther(file, path))) this.#version += 1;
    this.#read = files;
    return { files, problems, version: this.#version };
  }

  /** Undefined for a folder, a file that went meanwhile, and one that cannot be kept in step. */
  async #readAt(path: string, problems: string[]): Promise<Read | undefined> {
    const place = join(this.#root, path);
    try {
      const itself = await lstat(place);
      if (itself.isDirectory()) return undefined;
      if (itself.isSymbolicLink()) {
        const end = await realpath(place).catch(() => undefined);
        if (end === undefined) return void problems.push(`${quotedName(path)}: leads nowhere`);
        // The folder may be somebody's clone, with a link to a key of this computer's user.
        if (end !== this.#root && !end.startsWith(`${this.#root}/`))
          return void problems.push(`${quotedName(path)}: leads out of the folder`);
      }
      const found = await stat(place, { bigint: true });
      if (found.isDirectory()) return void problems.push(`${quotedName(path)}: leads to a folder`);
      if (!found.isFile()) return void problems.push(`${quotedName(path)}: is neither a file nor a folder`);
      if (/[\n\r]/.test(path)) return void problems.push(`${quotedName(path)}: has a line break in its name`);
      const stamp = `${found.dev} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs} ${found.mode}`;
      const before = this.#read.get(path);
      if (before?.stamp === stamp && !before.isFresh) return before;
      const isFresh = Date.now() - Number(found.mtimeMs) < STEP_MS;
      return { source: await fileSource(place), mode: Number(found.mode) & 0o777, stamp, isFresh };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR')
        problems.push(`${quotedName(path)}: cannot be read: ${code ?? String(error)}`);
      return undefined;
    }
  }
}

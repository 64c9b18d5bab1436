import { fileErrorWords } from '../../../domain/error-words.js';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/** One file to send. */
export interface LocalFile {
  /** Path on this computer. */
  readonly path: string;
  /** Path below the target: `data/x.txt` for a folder `data`. */
  readonly name: string;
  /** Permission bits. */
  readonly mode: number;
}

/** The named files, and all files in named folders, links followed. @throws CliError if one does not exist */
export async function localFiles(sources: readonly string[]): Promise<readonly LocalFile[]> {
  const found = await Promise.all(sources.map((source) => filesAt(source, basename(join(process.cwd(), source)))));
  const files = found.flat();
  const twin = files.find(({ name }, at) => files.findIndex((other) => other.name === name) < at);
  if (twin !== undefined)
    throw new CliError(ExitCode.Usage, `cp: two of the sources would be ${twin.name}`, 'copy them one after the other');
  return files;
}

async function filesAt(path: string, name: string): Promise<readonly LocalFile[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError(ExitCode.Usage, `${path}: cannot be read: ${fileErrorWords(error)}`);
  });
  if (!found.isDirectory()) {
    if (!found.isFile()) throw new CliError(ExitCode.Usage, `${path}: is neither a file nor a folder`);
    return [{ path, name, mode: found.mode & 0o777 }];
  }
  const entries = (await readdir(path)).toSorted();
  const below: LocalFile[] = [];
  for (const entry of entries) for (const one of await filesAt(join(path, entry), `${name}/${entry}`)) below.push(one);
  return below;
}

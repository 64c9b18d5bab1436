import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { decodedText, filesNamedIn } from '../../../domain/modules/named-files.js';
import { readNamedFile } from '../local-files.js';
import { writtenPaths } from './written-files.js';

/** Files in a folder from which a job file can be made. Names are those of files in the folder itself. */
export interface FoundProgram {
  /** The Python file to run; absent: no file was found, or several that may be meant. */
  readonly program?: string;
  /** Files that may be meant, if it is unclear which. */
  readonly candidates: readonly string[];
  readonly environment?: FoundEnvironment;
  readonly hasDockerfile: boolean;
  /** Folders and files that the program seems to write its results to, as `outputs.paths` names them. */
  readonly outputs: readonly string[];
  /** Its lines that write to a name which cannot be read: `train.py:12`. */
  readonly unread: readonly string[];
}

export type FoundEnvironment =
  | {
      readonly kind: 'requirements' | 'conda';
      readonly file: string;
      /** It names files beside it. */ readonly namesFiles?: true;
    }
  /** A pyproject.toml: the folder itself is installed. */
  | { readonly kind: 'package'; readonly file: string };

/** `if __name__ == '__main__'` at the start of a line. */
const IS_PROGRAM = /^if\s+__name__\s*==\s*['"]__main__['"]/m;
/** Usual names of the folder of results. */
const FOLDER = String.raw`(?:\./)?(out|outputs?|results?|checkpoints?|ckpts?)`;
/** Places in a program's text that create or name such a folder, or start a path with it. The word alone may mean anything. */
const OUTPUT_FOLDERS = [
  new RegExp(
    String.raw`(?:(?:makedirs|mkdir|Path|join)\(|(?:dir|folder|path|default)\s*=)\s*f?['"]${FOLDER}/?['"]`,
    'g',
  ),
  new RegExp(String.raw`['"]${FOLDER}/[^'"\n]+['"]`, 'g'),
];
/** Larger files are data or generated. */
const MAX_BYTES = 1_000_000;

/** @throws CliError if the folder cannot be read */
export function findProgram(folder: string): FoundProgram {
  const files = filesOf(folder);
  const python = files.filter((name) => name.endsWith('.py') && !/^(setup|conftest|test_.*|.*_test)\.py$/.test(name));
  const programs = python.filter((name) => IS_PROGRAM.test(textOf(join(folder, name))));
  const candidates = programs.length > 0 ? programs : python;
  const program = python.includes('train.py') ? 'train.py' : candidates.length === 1 ? candidates[0] : undefined;
  const environment = environmentOf(files, folder);
  return {
    ...(program === undefined ? {} : { program }),
    candidates: program === undefined ? candidates : [],
    ...(environment === undefined ? {} : { environment }),
    hasDockerfile: files.includes('Dockerfile'),
    ...(program === undefined ? { outputs: [], unread: [] } : writtenBy(program, folder)),
  };
}

function filesOf(folder: string): readonly string[] {
  try {
    const entries: readonly Dirent[] = readdirSync(folder, { withFileTypes: true });
    const isFile = (entry: Dirent): boolean =>
      entry.isFile() ||
      (entry.isSymbolicLink() && statSync(join(folder, entry.name), { throwIfNoEntry: false })?.isFile() === true);
    return entries
      .filter(isFile)
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is no folder' : 'cannot be read';
    throw new CliError(ExitCode.Usage, `${folder}: ${why}`, 'jobctl init takes a folder, the current one without it');
  }
}

function writtenBy(program: string, folder: string): Pick<FoundProgram, 'outputs' | 'unread'> {
  const text = textOf(join(folder, program));
  const { paths, unread } = writtenPaths(text);
  const named = OUTPUT_FOLDERS.flatMap((pattern) => [...text.matchAll(pattern)].flatMap(([, name]) => name ?? []));
  return {
    outputs: [...new Set([...named, ...paths.filter((path) => !isSource(join(folder, path)))])],
    unread: unread.map((line) => `${program}:${line}`),
  };
}

/** Returns whether a path is a source, which goes to the hosts with the program and would be restored unchanged. */
function isSource(path: string): boolean {
  if (SOURCE.test(path)) return true;
  try {
    return readdirSync(path).some((name) => SOURCE.test(name));
  } catch {
    return false;
  }
}
const SOURCE =
  /\.(py|sh|ya?ml|toml|ini|cfg|ipynb|md|rst|c|cc|cpp|h|cu|rs|go|js|ts)$|(^|\/)(src|configs?|conf|scripts|lib|tests?|docs|node_modules|\.git)$/;

function textOf(path: string): string {
  try {
    return statSync(path).size > MAX_BYTES ? '' : readFileSync(path, 'utf8');
  } catch {
    // A file that cannot be read cannot be run.
    return '';
  }
}

/** Finds the environment file; the most exact list of packages comes first. */
function environmentOf(files: readonly string[], folder: string): FoundEnvironment | undefined {
  const known: readonly FoundEnvironment[] = [
    { kind: 'requirements', file: 'requirements.txt' },
    { kind: 'conda', file: 'environment.yml' },
    { kind: 'conda', file: 'environment.yaml' },
    { kind: 'package', file: 'pyproject.toml' },
  ];
  const found = known.find(({ file }) => files.includes(file));
  if (found === undefined || found.kind === 'package') return found;
  const content = readNamedFile(join(folder, found.file));
  const isAlone = typeof content === 'string' || filesNamedIn(decodedText(content), found.kind).length === 0;
  return isAlone ? found : { ...found, namesFiles: true };
}

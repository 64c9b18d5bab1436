import { type Generation, GENERATION_FACTS } from '../../../domain/accelerators.js';
import { stringify } from 'yaml';
import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { decodedText, filesNamedIn } from '../../../domain/modules/named-files.js';
import { readNamedFile } from '../local-files.js';
import { writtenPaths } from './written-files.js';

/** Answers to the questions of `jobctl init`. */
export interface Answers {
  readonly run: string;
  readonly place: { readonly tpu: string; readonly zone: string } | AskedMachines;
}

/** The pool's own machines that a job asks for: `h100:16:2` is 16 h100 on 2 machines. */
export interface AskedMachines {
  readonly accelerator: string;
  /** Accelerators on all machines together. */
  readonly count: number;
  readonly hosts: number;
}

/** A type with one host, so that a program without support for several hosts runs once. */
export const DEFAULT_TPU = 'v5litepod-8';

/** A zone for each generation that has it (cloud.google.com/tpu/docs/regions-zones, 2026-11). */
const ZONES: Readonly<Record<Generation, string>> = {
  v2: 'us-central1-b',
  v3: 'europe-west4-a',
  v4: 'us-central2-b',
  v5litepod: 'us-central1-a',
  v5p: 'us-east5-a',
  v6e: 'us-east5-b',
};

/** A zone for a type. An unknown type gets any zone: the check of the file then reports the type's problem. */
export function defaultZone(tpu: string): string {
  const generation = (Object.keys(GENERATION_FACTS) as Generation[]).find((name) => tpu.startsWith(`${name}-`));
  return ZONES[generation ?? 'v5litepod'];
}

/**
 * The job file, with comments. It has no setup.modules: its sections determine the set-up.
 * @param name a valid name of the job
 */
export function writtenJob(name: string, { run, place }: Answers, found: FoundProgram): string {
  const { section, install } = environmentOf(name, found);
  return [
    '# Written by `jobctl init`. Check a change with `jobctl validate job.yaml`; docs/job-file.md has every key.',
    `name: ${scalar(name)} # job ids are made from it: ${name}-7f3k`,
    '',
    ...placeLines(place),
    '',
    '# This folder goes to every host, without what .gitignore leaves out, and the command starts in it.',
    'bundle:',
    '  dir: .',
    ...(install === undefined ? [] : [`  install: ${install}`]),
    '',
    ...(section === undefined ? [] : [...section, '']),
    ...outputsOf(found),
    'env:',
    '  PYTHONUNBUFFERED: "1" # what is printed is seen at once',
    '',
    ...(found.hasDockerfile
      ? ['# The image of your Dockerfile is built at submit by: build: {image: ghcr.io/team/train}', '']
      : []),
    '# Runs on every host of the slice. JOBCTL_HOST_INDEX and JOBCTL_NUM_HOSTS tell them apart.',
    'command:',
    `  run: ${scalar(run)}`,
    '',
  ].join('\n');
}

function placeLines(place: Answers['place']): readonly string[] {
  if ('tpu' in place)
    return [
      'tpu:',
      `  accelerator: ${scalar(place.tpu)}`,
      `  zone: ${scalar(place.zone)}`,
      '  pricing: spot # the least expensive; a preempted job gets another slice, and its command starts again. ondemand is not preempted',
    ];
  return [
    'machines: # of the pool, by its pool file; docs/own-machines.md',
    `  accelerator: ${scalar(place.accelerator)}`,
    `  count: ${place.count} # on all machines of the job`,
    ...(place.hosts === 1 ? [] : [`  hosts: ${place.hosts} # machines`]),
  ];
}

/** The `outputs` section. Without it, results are lost with the hosts; if no written files are known, it is a comment. */
function outputsOf({ outputs, unread }: FoundProgram): readonly string[] {
  const folders = outputs.length === 0 ? ['out'] : outputs;
  const section = [
    'outputs:',
    `  paths: [${folders.map(scalar).join(', ')}]`,
    '  every: 5m # and at a notice of preemption, and when the command ends',
    '  restore: true # put back before the next attempt starts: a program that goes on from its checkpoint loses 5 minutes at most',
  ];
  return [
    '# Stored in the bucket while the command runs: what is named here, and $JOBCTL_OUTPUT_DIR. `jobctl download JOB` brings it.',
    ...(unread.length === 0
      ? []
      : [`# Writes to a name that init cannot read: ${placesText(unread)}. Add it to the paths.`]),
    ...section.map((line) => `${outputs.length === 0 ? '# ' : ''}${line}`),
    '',
  ];
}

const MOST_PLACES = 5;

/** `train.py:12, train.py:40`. */
export const placesText = (places: readonly string[]): string =>
  [
    ...places.slice(0, MOST_PLACES),
    ...(places.length > MOST_PLACES ? [`and ${places.length - MOST_PLACES} more`] : []),
  ].join(', ');

const FROM_BUNDLE = 'it names files beside it, which the bundle has';

/** The section of the environment, and the part of the bundle that installs the package. */
function environmentOf(
  name: string,
  { environment }: FoundProgram,
): { readonly section?: readonly string[]; readonly install?: string } {
  const named = `  name: ${scalar(name)}`;
  switch (environment?.kind) {
    case undefined:
      return {};
    case 'requirements':
      if (environment.namesFiles)
        return { section: ['venv:', named], install: `pip install -r ${environment.file} # ${FROM_BUNDLE}` };
      return { section: ['venv:', named, `  requirements_file: ${environment.file}`] };
    case 'conda':
      if (environment.namesFiles)
        return {
          section: ['conda:', named],
          install: `conda env update -n ${scalar(name)} -f ${environment.file} # ${FROM_BUNDLE}`,
        };
      return { section: ['conda:', named, `  config_file: ${environment.file}`] };
    case 'package':
      return { section: ['venv:', named], install: `pip install -e . # ${environment.file}` };
  }
}

/** Formats a single-line value, quoted if YAML would read it differently. */
const scalar = (text: string): string =>
  text.includes('\n') ? JSON.stringify(text) : stringify(text, { lineWidth: 0, blockQuote: false }).trimEnd();

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
  /** The program's lines that write to a name that cannot be determined, such as `train.py:12`. */
  readonly unread: readonly string[];
}

type FoundEnvironment =
  | {
      readonly kind: 'requirements' | 'conda';
      readonly file: string;
      /** The list names files beside it. */ readonly namesFiles?: true;
    }
  /** The folder has a pyproject.toml and is installed as a package. */
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
/** Limit of files that are read. Larger ones are data or generated. */
const MAX_BYTES = 1_000_000;

/** @throws CliError if the folder cannot be read */
export function findProgram(folder: string): FoundProgram {
  const files = filesOf(folder);
  const python = files.filter((name) => name.endsWith('.py') && !/^(setup|conftest|test_.*|.*_test)\.py$/.test(name));
  const programs = python.filter((name) => IS_PROGRAM.test(textOf(join(folder, name))));
  const candidates = programs.length > 0 ? programs : python;
  const program = python.includes('train.py') ? 'train.py' : candidates.length === 1 ? candidates[0] : undefined;
  const environment = foundEnvironment(files, folder);
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

/** Returns whether a path is a source. Sources go to the hosts with the program, so storing them as outputs is useless. */
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
function foundEnvironment(files: readonly string[], folder: string): FoundEnvironment | undefined {
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

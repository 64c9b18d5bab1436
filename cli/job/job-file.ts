import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { given } from '../../domain/job-file/fields.js';
import { isMapping, type Mapping } from '../../domain/job-file/plain-tree.js';
import { inputSizeProblem } from '../../domain/bounds.js';
import { localFilesOf } from '../../domain/modules/set-up.js';
import { stringify } from 'yaml';
import { parseJobFile, parseJobFlags } from '../../domain/job-file/parse.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import type { JobOverrides } from '../../domain/job-file/set-option.js';
import { YamlSource } from '../../domain/job-file/yaml-source.js';
import { type FileSource, bundleOf, type LocalFile, baseName } from '../../domain/local-files.js';
import { formatPath, formatProblems, showValue, type Path, type Problem } from '../../domain/problem.js';
import type { LocalContents } from '../../client/uploads.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { readLocalFile, readNamedFile, type NamedPath, outsideFiles, outsideText } from './local-files.js';
import { packedBundle } from './packing/bundle.js';
import { tellLine, asTyped } from '../terminal/print.js';
import { TransferLine } from '../terminal/render/transfer-line.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { decodedText, filesNamedBy, filesNamedIn, type NamedFile } from '../../domain/modules/named-files.js';

export type GoodJob = Extract<ResolvedJob, { ok: true }> & {
  readonly source: string;
  /** Contents of the local files that the job names, keyed by their paths in the job. */
  readonly files: LocalContents;
  /** Named paths that lie outside the folder to which the job file belongs. */
  readonly outside: readonly NamedPath[];
};

interface JobFileOptions {
  readonly set: readonly string[];
  readonly overrides?: JobOverrides;
  /** For a job without a file: its content before `set` and `overrides`. */
  readonly tree?: Mapping;
  /** Defaults of the job's pool, if known. */
  readonly pool?: PoolDefaults;
  /** See `ResolveOptions`. */
  readonly mayBeArray?: true;
  /** See `RequestContext`. */
  readonly isZoneStrict?: true;
  /** True checks files and folders to copy without reading them, and leaves them out of `files`. */
  readonly isDry?: true;
}

/** Reads and checks a job file and the files it names. @throws CliError with every problem; nothing was done then. */
export async function readJobFile(file: string, options: JobFileOptions): Promise<GoodJob> {
  return readJobText(file, readJobSource(file), options);
}

/** The text of a job file. @throws CliError */
export const readJobSource = (file: string): string =>
  readText(file, 'the path of a job file (YAML) is wanted; `jobctl init` writes one');

/** Reads one of the jobs of a file, like `readJobFile`. */
export async function readJobText(
  file: string,
  source: string,
  { set, isDry, ...known }: JobFileOptions,
): Promise<GoodJob> {
  const parsed = parseJobFile(source, { file, env: process.env, set, ...known });
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  refuseTooLarge(file, parsed.raw, source);
  const { files, doubts } = await readLocalFiles({ file, source, set, ...known }, parsed, isDry);
  const outside = outsideFiles(file, namedPaths({ file, source, set, ...known }, parsed));
  const warnings = [...parsed.warnings, ...doubts, ...twoPlaces(file, parsed), ...outside.map(outsideText)];
  return { ...parsed, source, files, outside, warnings };
}

/**
 * Refuses a job that is too large to submit. A job carries its source text in addition to its content, so both count.
 * @throws CliError
 */
function refuseTooLarge(file: string, job: unknown, source: string): void {
  const problem = inputSizeProblem({ v: 1, job, source });
  if (problem !== undefined) throw new CliError(ExitCode.Usage, `${file}: ${problem}`);
}

/** The name in messages in place of a job file, if flags alone describe the job. */
export const BY_FLAGS = 'jobctl submit';

/**
 * Like `readJobFile`, for a job described by flags alone. Its source is an equivalent file; paths start at the current folder.
 */
export async function readJobFlags({ set, isDry, ...known }: JobFileOptions): Promise<GoodJob> {
  const parsed = parseJobFlags({ file: BY_FLAGS, env: process.env, set, ...known });
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  const source = jobFileText(parsed.raw);
  refuseTooLarge(BY_FLAGS, parsed.raw, source);
  const { files, doubts } = await readLocalFiles({ file: BY_FLAGS, source, set, ...known }, parsed, isDry);
  return { ...parsed, source, files, outside: [], warnings: [...parsed.warnings, ...doubts] };
}

/** The job file for `raw`. Lines are not folded, because a folded shell line is another line. */
export const jobFileText = (raw: unknown): string => stringify(raw, { lineWidth: 0 });

/** Prints warnings, which concern valid content that may be a mistake, for the person who submits. */
export function tellWarnings(file: string, warnings: readonly string[]): void {
  for (const warning of warnings) tellLine(asTyped(`${file}: warning: ${warning}`));
}

export interface WrittenJob {
  readonly file: string;
  readonly source: string;
  readonly set: readonly string[];
  readonly overrides?: JobOverrides;
}

type ParsedJob = Extract<ResolvedJob, { ok: true }>;

interface ReadFiles {
  readonly files: LocalContents;
  /** Warnings about the files' contents. */
  readonly doubts: readonly string[];
}

async function readLocalFiles(written: WrittenJob, job: ParsedJob, isDry = false): Promise<ReadFiles> {
  const reading = new TransferLine('reading');
  const problems: Problem[] = [];
  const contents = new Map<string, Uint8Array | FileSource>();
  for (const local of localFilesOf(job.spec)) {
    const where = localPlaceOf(written.file, local.path, job.raw);
    const { place } = where;
    // The path of --bundle starts at the current folder.
    const isByFlag = local.kind === 'bundle' && written.overrides?.bundle !== undefined;
    const whence = isByFlag ? BY_FLAGS : written.file;
    const onRead = (sent: number, size: number): void => reading.show({ path: local.path, sent, size });
    const content =
      local.kind === 'bundle'
        ? await bundleContent(place, local, isDry)
        : await readLocalFile(local, place, { isDry, onRead });
    if (typeof content === 'string') problems.push(placed(written, unreadable(whence, local, { ...where, content })));
    else if (content !== undefined) contents.set(...content);
  }
  reading.end();
  for (const one of await buildProblems(written, job)) problems.push(one);
  const named = namedFileProblems(job, contents);
  for (const { isSure, ...one } of named) if (isSure) problems.push(placed(written, one));
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
  const doubts = named.map(({ path, message, hint = '' }) => `${formatPath(path)}: ${message}; ${hint}`);
  return { files: Object.fromEntries(contents), doubts };
}

/** Paths whose content leaves this computer with the job, except those that a flag names: the user chose them. */
function namedPaths(written: WrittenJob, { spec, build, raw }: ParsedJob): readonly NamedPath[] {
  const isBuilt = build !== undefined && build.digest === undefined && build.remote.commit === undefined;
  const named: readonly { readonly at: Path; readonly path: string }[] = [
    ...localFilesOf(spec),
    ...(isBuilt ? [{ at: ['build', 'context'], path: build.context }] : []),
  ];
  return named.flatMap(({ at: section, path }) => {
    const at = section[0] === 'files' ? [...section, 'from'] : section;
    const { file = '' } = placed(written, { path: at, value: path, message: '' });
    return file.startsWith('--') ? [] : [{ at, path, place: localPlaceOf(written.file, path, raw).place }];
  });
}

/** Problems of an image that must be built. */
async function buildProblems(written: WrittenJob, { build, raw }: ParsedJob): Promise<readonly Problem[]> {
  if (build === undefined || build.digest !== undefined || build.remote.commit !== undefined) return [];
  const { placeProblems } = await import('./building/sources.js');
  const { place } = localPlaceOf(written.file, build.context, raw);
  return placeProblems(build, place).map((problem) => placed(written, problem));
}

async function bundleContent(
  place: string,
  { path, packing }: Extract<LocalFile, { kind: 'bundle' }>,
  isDry: boolean,
): Promise<[string, FileSource] | string | undefined> {
  const content = await packedBundle(place, { ...packing, dir: path }, { isDry });
  return typeof content === 'object' ? [bundleOf(path), content] : content;
}

/** Reads a text file. @throws CliError if it cannot be read; `wanted` says which file is expected */
export function readText(file: string, wanted: string): string {
  const content = readNamedFile(file);
  if (!(content instanceof Uint8Array)) {
    throw new CliError(ExitCode.Usage, `${file}: ${content}`, wanted);
  }
  const foreign = foreignText(content);
  if (foreign !== undefined) throw new CliError(ExitCode.Usage, `${file}: ${foreign}`, wanted);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw new CliError(ExitCode.Usage, `${file}: is not UTF-8 text`, wanted);
  }
}

/** Detects UTF-16 (Windows editors' "Unicode") and binary files, otherwise reported as control characters in a value. */
function foreignText(content: Uint8Array): string | undefined {
  const [first, second] = content;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isUtf16) return 'is UTF-16 text, and UTF-8 is wanted: save it as UTF-8';
  return content.includes(0) ? 'is no text file: it holds a byte 0' : undefined;
}

interface LocalPlace {
  /** An absolute path. */
  readonly place: string;
  /** The other place for a path of a JobMan file: in the current folder, if that differs. */
  readonly instead?: string;
}

/**
 * Resolves a path relative to the job file, as a reader of the file would. JobMan resolves paths from the folder in which it
 * runs, so a path of a JobMan file that is not beside the file is looked up there (docs/adr/0064).
 * @param raw the job file as plain JSON
 */
export function localPlaceOf(jobFile: string, path: string, raw: unknown): LocalPlace {
  if (path.startsWith('~/')) return { place: join(homedir(), path.slice(2)) };
  const beside = isAbsolute(path) ? path : resolve(dirname(jobFile), path);
  const here = resolve(path);
  if (here === beside || jobFile === BY_FLAGS || !isJobmanFile(raw)) return { place: beside };
  return !existsSync(beside) && existsSync(here) ? { place: here } : { place: beside, instead: here };
}

/** Whether a job file is JobMan's: its files have the section `job` or `ssh`, and few others do. */
const isJobmanFile = (raw: unknown): boolean =>
  isMapping(raw) && (given(raw['job']) !== undefined || given(raw['ssh']) !== undefined);

/** Warns of a path of a JobMan file that exists in both places with different content: JobMan would have taken the other one. */
function twoPlaces(file: string, { spec, raw }: ParsedJob): readonly string[] {
  return localFilesOf(spec).flatMap(({ path, at }) => {
    const { place, instead } = localPlaceOf(file, path, raw);
    if (instead === undefined || !existsSync(place) || !existsSync(instead) || isSame(place, instead)) return [];
    return [
      `${formatPath(at)}: ${showValue(path)} is there twice: ${place}, beside the job file, is taken, ` +
        `and not ${instead}, which JobMan would take from the current folder`,
    ];
  });
}

/** Whether two paths have the same content. Folders do only if they are the same folder. */
function isSame(one: string, other: string): boolean {
  if (realpathSync(one) === realpathSync(other)) return true;
  const [left, right] = [readNamedFile(one), readNamedFile(other)];
  return left instanceof Uint8Array && right instanceof Uint8Array && Buffer.compare(left, right) === 0;
}

function unreadable(
  file: string,
  { path, at }: LocalFile,
  { content, place, instead }: LocalPlace & { readonly content: string },
): Problem {
  const rule =
    instead === undefined
      ? `a relative path starts at the ${file === BY_FLAGS ? 'current' : "job file's"} folder`
      : `and at ${instead}; JobMan's paths start at the job file's folder, or else at the current one`;
  return {
    path: at,
    value: path,
    message: `${showValue(path)} ${content}`,
    hint: `looked for at ${place}${instead === undefined ? ';' : ''} ${rule}`,
  };
}

/** A problem of a job file's content, with its place in the file or the flag that gave the value. */
export function placed({ file, source, set, overrides }: WrittenJob, problem: Problem): Problem {
  if (problem.path[0] === 'bundle' && overrides?.bundle !== undefined) return { file: '--bundle', ...problem };
  const flag = set.findLast((option) => isAbove(option.slice(0, option.indexOf('=')), formatPath(problem.path)));
  if (flag !== undefined) return { file: overrides?.saidAs?.get(flag) ?? `--set ${flag}`, ...problem };
  return file === BY_FLAGS ? { file, ...problem } : { file, ...new YamlSource(source).locate(problem) };
}

/** Returns whether the key of a flag is `place` or a section that contains it. */
const isAbove = (key: string, place: string): boolean =>
  key === place || (/^[.[]/.test(place.slice(key.length)) && place.startsWith(key));

/**
 * Problems of package lists that name files beside them. Such files are on no host: pip would look for them there, on a slice
 * that is paid for.
 * @param contents contents of local files, by their paths in the job
 */
function namedFileProblems(
  { spec, raw }: ParsedJob,
  contents: ReadonlyMap<string, unknown>,
): readonly (Problem & { readonly isSure: boolean })[] {
  const isSure = !mayBeThere(raw);
  const { requirements } = spec.conda ?? {};
  const inline = filesNamedBy(requirements && 'packages' in requirements ? requirements.packages : []);
  const isMissing = ({ path }: NamedFile): boolean => !isCopied(path, spec.files ?? []);
  const ofPackages = inline.filter(isMissing).map(({ text, path }) => ({
    path: ['conda', 'requirements'],
    value: text,
    message: `'${text}' names ${path}, which is not on the hosts`,
    hint: `write bundle: {dir: ., install: pip install ${shellQuote(text)}}, and leave it out here; the bundle has all files of its folder`,
    isSure,
  }));
  const ofLists = localFilesOf(spec).flatMap(({ path: list, at, kind }) => {
    const content = contents.get(list);
    if (kind !== 'text' || !(content instanceof Uint8Array)) return [];
    const isConda = at[0] === 'conda' && at[1] !== 'requirements';
    const named = filesNamedIn(decodedText(content), isConda ? 'conda' : 'requirements');
    return named.filter(isMissing).map((file) => ({ path: at, value: list, ...words(list, file, isConda), isSure }));
  });
  return [...ofPackages, ...ofLists];
}

function words(list: string, { line, text, path }: NamedFile, isConda: boolean): Pick<Problem, 'message' | 'hint'> {
  const name = baseName(list);
  const install = isConda ? `conda env update -n NAME -f ${name}` : `pip install -r ${name}`;
  return {
    message: `${list}:${line}: '${text}' names ${path}, which is not on the hosts: ${name} alone goes there`,
    hint: `write bundle: {dir: ., install: ${install}} and leave out ${isConda ? 'config_file' : 'this key'}; the bundle has all files of its folder`,
  };
}

/** Whether `files` copies a file to the place where pip looks: beside the list, in the login user's home. */
const isCopied = (path: string, copies: readonly { readonly to: string }[]): boolean => {
  const wanted = path.replace(/^(?:\.\/)+/, '');
  return copies.some(({ to }) => `${wanted}/`.startsWith(`${to.replace(/^~\//, '').replace(/(?<!\/)\/+$/, '')}/`));
};

/** Whether another part of the job may bring such files: a mount, a script at the system's start, the job's own modules. */
function mayBeThere(raw: unknown): boolean {
  if (!isMapping(raw)) return false;
  const machine = ['tpu', 'compute_engine'].map((key) => raw[key]).find(isMapping);
  const metadata = machine && (given(machine['startup_script']) ?? given(machine['metadata']));
  return [raw['gcsfuse'], raw['modules'], raw['setup'], metadata].some((each) => given(each) !== undefined);
}

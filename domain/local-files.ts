import type { JobSpec } from './job-spec.js';
import type { Path } from './problem.js';
import { bundleObject, fileObject } from './store-layout.js';

/** A file, or folder, of the submitter's that a job names. */
export interface LocalFile {
  /** As the job has it. */
  readonly path: string;
  /** Where in the job file. */
  readonly at: Path;
  /** `text`: a small file that is read. `copy`: a file or a folder that is copied. `bundle`: a folder that is packed. */
  readonly kind: 'text' | 'copy' | 'bundle';
}

type Naming = Pick<JobSpec, 'venv' | 'conda' | 'files' | 'bundle' | 'ownModules'>;

/** All files of the submitter's but keys, each once per place. Sections that no module names have none. */
export function localFilesOf({ venv, conda, files = [], bundle, ownModules = {} }: Naming): readonly LocalFile[] {
  const single = (path: string | undefined, ...at: string[]): LocalFile[] =>
    path === undefined ? [] : [{ path, at, kind: 'text' }];
  const requirements = conda?.requirements && 'file' in conda.requirements ? conda.requirements.file : undefined;
  const copies = (list: readonly { readonly from: string }[], ...at: Path): LocalFile[] =>
    list.map(({ from }, index) => ({ path: from, at: [...at, index], kind: 'copy' }));
  return [
    ...single(venv?.requirementsFile, 'venv', 'requirements_file'),
    ...single(conda?.configFile, 'conda', 'config_file'),
    ...single(requirements, 'conda', 'requirements'),
    ...copies(files, 'files'),
    ...(bundle === undefined ? [] : [{ path: bundle.dir, at: ['bundle', 'dir'], kind: 'bundle' } as const]),
    ...Object.entries(ownModules).flatMap(([name, own]) => copies(own.files, 'modules', name, 'files')),
  ];
}

/** Under which name the archive (tar) of a folder stands among a job's files. */
export const archiveOf = (folder: string): string => `tar:${folder}`;
/** The same of a bundle (tar.gz). */
export const bundleOf = (folder: string): string => `bundle:${folder}`;

/** The names under which a file's content may stand among those of a job. */
export function namesOf({ path, kind }: LocalFile): readonly string[] {
  if (kind === 'bundle') return [bundleOf(path)];
  return kind === 'text' ? [path] : [path, archiveOf(path)];
}

/** Those whose content is not among a job's files. @param files names -> anything */
export function filesNotGiven(spec: Naming, files: Readonly<Record<string, unknown>>): readonly LocalFile[] {
  return localFilesOf(spec).filter((local) => !namesOf(local).some((name) => name in files));
}

/**
 * A job's files with others put over them: what was a folder and is a file now, or the other way round, stands once.
 * @param present names -> SHA-256
 */
export function withFiles(
  present: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const twins = Object.keys(given).map((name) =>
    name.startsWith('tar:') ? name.slice('tar:'.length) : archiveOf(name),
  );
  const kept = Object.entries(present).filter(([name]) => !twins.includes(name));
  return { ...Object.fromEntries(kept), ...given };
}

/** The object in which the content of a job's file is. @param name as it stands among the job's files */
export function objectOfFile(name: string, sha256: string): string {
  return name.startsWith(bundleOf('')) ? bundleObject(sha256) : fileObject(sha256);
}

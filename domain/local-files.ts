import type { JobSpec } from './job-spec.js';
import type { Path } from './problem.js';

/** A file, or folder, of the submitter's that a job names. */
export interface LocalFile {
  /** As the job has it. */
  readonly path: string;
  /** Where in the job file. */
  readonly at: Path;
  readonly mayBeFolder: boolean;
}

type Naming = Pick<JobSpec, 'venv' | 'conda' | 'files' | 'ownModules'>;

/** All files of the submitter's but keys, each once per place. Sections that no module names have none. */
export function localFilesOf({ venv, conda, files = [], ownModules = {} }: Naming): readonly LocalFile[] {
  const single = (path: string | undefined, ...at: string[]): LocalFile[] =>
    path === undefined ? [] : [{ path, at, mayBeFolder: false }];
  const requirements = conda?.requirements && 'file' in conda.requirements ? conda.requirements.file : undefined;
  const copies = (list: readonly { readonly from: string }[], ...at: Path): LocalFile[] =>
    list.map(({ from }, index) => ({ path: from, at: [...at, index], mayBeFolder: true }));
  return [
    ...single(venv?.requirementsFile, 'venv', 'requirements_file'),
    ...single(conda?.configFile, 'conda', 'config_file'),
    ...single(requirements, 'conda', 'requirements'),
    ...copies(files, 'files'),
    ...Object.entries(ownModules).flatMap(([name, own]) => copies(own.files, 'modules', name, 'files')),
  ];
}

/** Under which name the archive (tar) of a folder stands among a job's files. */
export const archiveOf = (folder: string): string => `tar:${folder}`;

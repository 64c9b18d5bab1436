import { given } from '../../domain/job-file/fields.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import { baseName } from '../../domain/local-files.js';
import { decodedText, filesNamedIn, type NamedFile } from '../../domain/modules/named-files.js';
import { localFilesOf } from '../../domain/modules/set-up.js';
import type { Problem } from '../../domain/problem.js';

type ParsedJob = Extract<ResolvedJob, { ok: true }>;

/**
 * Problems of lists of packages that name files beside them, which are on no host: pip would look for them there, on a slice that
 * is paid for.
 * @param contents contents of local files, by their paths in the job
 */
export function namedFileProblems(
  { spec, raw }: ParsedJob,
  contents: ReadonlyMap<string, unknown>,
): readonly (Problem & { readonly isSure: boolean })[] {
  const isSure = !mayBeThere(raw);
  return localFilesOf(spec).flatMap(({ path: list, at, kind }) => {
    const content = contents.get(list);
    if (kind !== 'text' || !(content instanceof Uint8Array)) return [];
    const isConda = at[0] === 'conda' && at[1] !== 'requirements';
    const named = filesNamedIn(decodedText(content), isConda ? 'conda' : 'requirements');
    const missing = named.filter(({ path }) => !isCopied(path, spec.files ?? []));
    return missing.map((file) => ({ path: at, value: list, ...words(list, file, isConda), isSure }));
  });
}

function words(list: string, { line, text, path }: NamedFile, isConda: boolean): Pick<Problem, 'message' | 'hint'> {
  const name = baseName(list);
  const install = isConda ? `conda env update -n NAME -f ${name}` : `pip install -r ${name}`;
  return {
    message: `${list}:${line}: '${text}' names ${path}, which is not on the hosts: ${name} alone goes there`,
    hint: `write bundle: {dir: ., install: ${install}} and leave out ${isConda ? 'config_file' : 'this key'}; the bundle has all files of its folder`,
  };
}

/** Whether `files` brings it to where pip looks: beside the list, in the login user's home. */
const isCopied = (path: string, copies: readonly { readonly to: string }[]): boolean => {
  const wanted = path.replace(/^(?:\.\/)+/, '');
  return copies.some(({ to }) => `${wanted}/`.startsWith(`${to.replace(/^~\//, '').replace(/(?<!\/)\/+$/, '')}/`));
};

/** Whether something else of the job may bring it: a mount, a script of the system's start, a module of the job's own. */
function mayBeThere(raw: unknown): boolean {
  if (!isMapping(raw)) return false;
  const machine = ['tpu', 'compute_engine'].map((key) => raw[key]).find(isMapping);
  const metadata = machine && (given(machine['startup_script']) ?? given(machine['metadata']));
  return [raw['gcsfuse'], raw['modules'], raw['setup'], metadata].some((each) => given(each) !== undefined);
}

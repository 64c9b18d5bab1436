import { resolve } from 'node:path';
import { type Assignment, assign } from '../../domain/job-file/edit.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { parseSetOption } from '../../domain/job-file/set-option.js';
import type { Asker } from '../../domain/job-state.js';
import { formatProblems } from '../../domain/problem.js';
import { SECRET_NAME, secretNamed } from '../../domain/secrets.js';
import type { JobEdit } from '../../client/job-calls.js';
import type { JobClient } from '../../client/job-client.js';
import { type AskFlags, askJob } from './ask-job.js';
import { builtJob, refuseOtherBuild } from './building/built-job.js';
import type { GitLeave } from './building/sources.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { contextToChange, type CliContext } from '../place/context.js';
import { readJobFile, tellWarnings } from './job-file.js';
import { checkJobKeys } from './job-keys.js';
import { storeForFiles } from '../place/connect.js';
import { makeRehearsedBuckets } from '../place/buckets.js';
import { agreeToOutside } from './local-files.js';
import { type Packing, bundleOf } from '../../domain/local-files.js';
import { packedBundle } from './packing/bundle.js';

export interface EditFlags extends AskFlags, GitLeave {
  readonly file?: string;
  readonly set?: readonly string[];
  readonly bundle?: string;
  readonly allowOutside?: true;
}

interface ReadEdit {
  readonly edit: JobEdit;
  /** `ssh.private_key` of the file, if that is a local file. */
  readonly key?: { readonly path: string; readonly fingerprint: string };
}

/**
 * Asks an open job to continue with the changes of `--file`, `--set` and `--bundle`. Keys and secrets are checked, and the store
 * for local files is opened, before any request to the job.
 */
export async function askWithEdit(
  job: string,
  flags: EditFlags,
  call: (client: JobClient, by: string, edit: JobEdit) => Promise<string>,
): Promise<number> {
  const context = contextToChange(flags);
  const { edit, key } = await readEdit(flags, context);
  // Without a job file, the folder is packed after the job has returned its exclusions.
  const folder = flags.file === undefined ? flags.bundle : undefined;
  const store = await storeForFiles(folder === undefined ? (edit.files ?? {}) : { [folder]: true }, context);
  const ask = async (client: JobClient, { by, from }: Asker): Promise<string> => {
    if (key !== undefined) await refuseOtherKey(client, job, key);
    const whole = folder === undefined ? edit : await withBundle(client, job, folder, edit);
    await makeRehearsedBuckets(context, [whole.job, (whole.set ?? []).map(asTree)], whole.files);
    return call(client, by, from === undefined ? whole : { ...whole, from });
  };
  return askJob(job, flags, ask, { context, store });
}

const asTree = ({ path, value }: Assignment): unknown => ({ [String(path.at(-1))]: value });

/**
 * Reads the edit. With a file, `--set` changes the file, as at submit; without one, it changes the file in force.
 * @throws CliError with every problem
 */
async function readEdit(
  { file, set = [], bundle, allowOutside, ...leave }: EditFlags,
  context: CliContext,
): Promise<ReadEdit> {
  if (file === undefined) return { edit: await readAssignments(set, bundle !== undefined, context) };
  const overrides = bundle === undefined ? {} : { bundle: resolve(bundle) };
  const read = await readJobFile(file, { set, overrides });
  const { source, files, warnings } = read;
  tellWarnings(file, warnings);
  await agreeToOutside(read.outside, { allowOutside });
  // Its warnings were given at submit: the worker has found the key.
  const { sshKey, identityKeys } = await checkJobKeys({ file, set, source }, read.spec, context);
  const { raw, spec } = await builtJob(read, file, { ...leave, build: 'local' });
  const edit = { job: raw, source, files, ...(identityKeys && { identityKeys }) };
  return sshKey === undefined ? { edit } : { edit, key: { path: spec.ssh?.privateKey ?? '', fingerprint: sshKey } };
}

async function readAssignments(set: readonly string[], isPacked: boolean, context: CliContext): Promise<JobEdit> {
  const options = set.map((option) => parseSetOption(option));
  const problems = options.flatMap((option) => ('message' in option ? [option] : []));
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
  const values = options.flatMap((option) => ('message' in option ? [] : [{ path: option.path, value: option.value }]));
  if (!isPacked) refuseUnpacked(values);
  refuseOtherBuild(values);
  await checkJobKeys({ file: '--set', set, source: '' }, { secrets: secretsIn(values) }, context);
  return values.length === 0 ? {} : { set: values };
}

/**
 * Secrets that the edit names, to be looked up here: a missing secret would end a running job. An invalid name is left to the job
 * to refuse, and is not repeated.
 */
function secretsIn(values: readonly Assignment[]): Readonly<Record<string, string>> {
  const named = values.flatMap(({ path: [section, variable], value }) => {
    if (section !== 'secrets') return [];
    return variable === undefined ? Object.entries(isMapping(value) ? value : {}) : [[variable, value] as const];
  });
  return Object.fromEntries(
    named.flatMap(([variable, value]) => {
      const name = secretNamed(String(value)) ?? String(value);
      return SECRET_NAME.test(name) ? [[variable, name]] : [];
    }),
  );
}

/**
 * Checks the key as at submit: the same path on two computers is two files, and the hosts accept one key.
 * @throws CliError with both fingerprints
 */
export async function refuseOtherKey(
  client: Pick<JobClient, 'describe'>,
  job: string,
  { path, fingerprint }: NonNullable<ReadEdit['key']>,
): Promise<void> {
  const { login } = await client.describe(job);
  const { publicLineFingerprint } = await import('../../cloud/hosts/private-key.js');
  const accepted = login && publicLineFingerprint(login.publicKey);
  if (accepted === undefined || accepted === fingerprint) return;
  throw new CliError(
    ExitCode.Usage,
    `ssh.private_key: '${path}' is ${fingerprint} here, and the hosts of ${job} accept ${accepted}`,
    'put that key back in its place, or submit another job',
  );
}

/** Keys that decide what is packed. Packing happens here and the job keeps the archive, so setting only these has no effect. */
const DECIDE_WHAT_IS_PACKED: readonly unknown[] = ['exclude', 'gitignore'];

/** @throws CliError for `--set bundle.exclude=..` without the folder to pack */
function refuseUnpacked(set: readonly Assignment[]): void {
  const key = set.find(({ path: [section, key] }) => section === 'bundle' && DECIDE_WHAT_IS_PACKED.includes(key));
  if (key === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `--set ${key.path.join('.')}: the bundle is not packed again by itself`,
    'give the folder too (--bundle DIR), or the job file that names it (--file FILE)',
  );
}

/** Packs the folder again for a job whose file is not given, by the settings of its bundle in the job and in `set`. */
async function withBundle(
  client: Pick<JobClient, 'describe'>,
  job: string,
  folder: string,
  edit: JobEdit,
): Promise<JobEdit> {
  const { spec } = await client.describe(job);
  const set = edit.set ?? [];
  const dir = resolve(folder);
  const content = await packedBundle(dir, { ...settingsAfter(spec.bundle, set), dir });
  if (typeof content === 'string') throw new CliError(ExitCode.Usage, `--bundle: ${dir} ${content}`);
  return {
    ...edit,
    set: [...set, { path: ['bundle', 'dir'], value: dir }],
    files: { ...edit.files, ...(content && { [bundleOf(dir)]: content }) },
  };
}

/** The bundle's settings after `set`; the job checks their values. */
function settingsAfter(bundle: Packing | undefined, set: readonly Assignment[]): Packing {
  let tree: unknown = {
    bundle: { exclude: bundle?.exclude, gitignore: bundle?.withIgnored === true ? false : undefined },
  };
  for (const assignment of set.filter(({ path: [section] }) => section === 'bundle')) {
    const assigned = assign(tree, assignment);
    if ('tree' in assigned) tree = assigned.tree;
  }
  const after = isMapping(tree) && isMapping(tree['bundle']) ? tree['bundle'] : {};
  const { exclude, gitignore } = after;
  return {
    ...(Array.isArray(exclude) ? { exclude: exclude.map(String) } : {}),
    ...(gitignore === false ? { withIgnored: true } : {}),
  };
}

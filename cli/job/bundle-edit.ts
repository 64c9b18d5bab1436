import { resolve } from 'node:path';
import type { Packing } from '../../domain/local-files.js';
import { assign, type Assignment } from '../../domain/job-file/assignment.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { bundleOf } from '../../domain/local-files.js';
import type { JobEdit } from '../../client/job-calls.js';
import type { JobClient } from '../../client/job-client.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { packedBundle } from './packing/named-bundle.js';

/** Keys that decide what is packed. Packing happens here and the job keeps the archive, so setting only these has no effect. */
const DECIDE_WHAT_IS_PACKED: readonly unknown[] = ['exclude', 'gitignore'];

/** @throws CliError for `--set bundle.exclude=..` without the folder to pack */
export function refuseUnpacked(set: readonly Assignment[]): void {
  const key = set.find(({ path: [section, key] }) => section === 'bundle' && DECIDE_WHAT_IS_PACKED.includes(key));
  if (key === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `--set ${key.path.join('.')}: the bundle is not packed again by itself`,
    'give the folder too (--bundle DIR), or the job file that names it (--file FILE)',
  );
}

/** Packs the folder again for a job whose file is not given, by the settings of its bundle in the job and in `set`. */
export async function withBundle(
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

import type { JobSpec } from '../job-spec.js';
import { machineRequestOf } from '../machines.js';
import { formatPath, formatProblems, showValue, type Path, type Problem } from '../problem.js';
import { assignAll, type Assignment } from './assignment.js';
import { valueAt } from './plain-tree.js';
import { bindJobName, resolveJob } from './resolve.js';

/** A person's edit of an open job: a whole file, or single values that change in the file in force. */
export interface EditRequest {
  readonly job?: unknown;
  readonly set?: readonly Assignment[];
}

/** The present job: its id, the file in force as plain JSON, and the spec that it had when it was accepted. */
export interface JobInForce {
  readonly id: string;
  readonly job: unknown;
  readonly spec: JobSpec;
}

export type CheckedEdit =
  | { readonly ok: true; readonly job: unknown; readonly spec: JobSpec }
  /** `isWrong`: the file itself is wrong. Absent: it is right, but does not fit the job's present slices. */
  | { readonly ok: false; readonly message: string; readonly isWrong?: true };

/**
 * Applies another job file to the slices that the job has. The whole file is checked as at submit. Values that determined the
 * slices, the lease or the place in line may not change. `name` and `priority` of the file are ignored: a job keeps its name,
 * and `jobctl quota set-priority` changes its priority. Pure; runs in a workflow.
 */
export function checkEdit(present: JobInForce, { job, set = [] }: EditRequest): CheckedEdit {
  const assigned = set.length === 0 ? { tree: job ?? present.job } : assignAll(job ?? present.job, set);
  if ('blocked' in assigned) return wrong([notASection(assigned.by.path, assigned.value)]);
  const edited = assigned.tree;
  const [before, after] = [resolveJob(present.job), resolveJob(edited)];
  if (!after.ok) return wrong(after.problems);
  const problems = before.ok ? changesOfSlices(before.spec, after.spec) : [];
  if (problems.length > 0) return refused(problems);
  const { namedPricing: _, ...rest } = after.spec;
  const { name, priority, namedPricing } = present.spec;
  const kept = {
    name,
    priority,
    ...machineRequestOf(present.spec),
    ...(namedPricing === undefined ? {} : { namedPricing }),
  };
  return { ok: true, job: edited, spec: bindJobName({ ...rest, ...kept }, present.id) };
}

const wrong = (problems: readonly Problem[]): CheckedEdit => ({ ...refused(problems), isWrong: true });

const refused = (problems: readonly Problem[]) => ({ ok: false, message: formatProblems(problems) }) as const;

const notASection = (path: Path, value: unknown): Problem => ({
  path,
  value,
  message: `${showValue(value)} stands where this key would need a section`,
});

/** Fixed paths: these, and the whole section of machines. */
const FIXED: readonly Path[] = [
  ['slices'],
  ['atomic'],
  ['pool'],
  ['project'],
  ['user'],
  ['remoteUser'],
  ['ssh', 'privateKey'],
  ['ssh', 'publicKey'],
];

function changesOfSlices(before: JobSpec, after: JobSpec): Problem[] {
  const ofMachines = new Map([...machinePaths(before), ...machinePaths(after)].map((path) => [path.join('.'), path]));
  const paths = [...ofMachines.values(), ...FIXED];
  return paths.flatMap((path) => {
    const [was, is] = [valueAt(before, path), valueAt(after, path)];
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [changed(path, was, is)];
  });
}

/** Paths such as `tpu.accelerator`. */
const machinePaths = (spec: JobSpec): Path[] =>
  Object.entries<object>({ ...machineRequestOf(spec) }).flatMap(([section, request]) =>
    Object.keys(request).map((key): Path => [section, key]),
  );

function changed(path: Path, was: unknown, is: unknown): Problem {
  const file = path.map((key) => IN_FILE[key] ?? key);
  const shown = (value: unknown): string => (value === undefined ? 'nothing' : showValue(value));
  return {
    path: file,
    value: is,
    message: `${shown(is)} cannot take the place of ${shown(was)} in a job that is open`,
    hint: `its slices, lease and key were made with ${formatPath(file)}: leave it as it was, or submit another job`,
  };
}

/** Names in the file of keys that a spec names otherwise. */
const IN_FILE: Readonly<Record<string, string>> = {
  remoteUser: 'job.remote_user',
  privateKey: 'private_key',
  publicKey: 'public_key',
  allocationMode: 'allocation_mode',
  runtimeVersion: 'version',
  startupScript: 'startup_script',
  externalIps: 'external_ips',
  serviceAccount: 'service_account',
  dataDisks: 'data_disks',
};

import type { NotifyTarget } from '../job-spec.js';
import { isOwnSignal, isOwnWorkflowId } from '../own-workflows.js';
import type { Path } from '../problem.js';
import { isMapping, valueAt } from './plain-tree.js';
import { Report } from './report.js';
import { type JobFile, jobFileSchema } from './sections.js';

/**
 * Longest id or signal name that Temporal's server stores on PostgreSQL, in characters. A longer one would fail the job's
 * workflow task again and again.
 */
const MAX_ID = 255;
/** Each target is an event in the job's history. */
const MAX_TARGETS = 10;
/** Temporal's SDKs reserve these names. */
const RESERVED_SIGNAL = /^__temporal/;

type NotifySection = NonNullable<JobFile['notify']>;
type TargetSection = Exclude<NotifySection, readonly unknown[]>;

/** The workflows that get a notice when the job has ended, each once. */
export function resolveNotify(section: JobFile['notify'], report: Report): readonly NotifyTarget[] {
  if (!section) return [];
  if (!Array.isArray(section)) return resolveTarget(section, ['notify'], report);
  if (section.length > MAX_TARGETS) {
    report.problem(['notify'], section, `has ${section.length} targets`, `${MAX_TARGETS} at most`);
    return [];
  }
  const targets = section.flatMap((one, index) => resolveTarget(one, ['notify', index], report));
  return targets.filter((one, index) => targets.findIndex((other) => isSame(one, other)) === index);
}

function resolveTarget({ workflow }: TargetSection, path: Path, report: Report): NotifyTarget[] {
  const keys = ['id', 'signal'] as const;
  for (const key of keys) {
    const place = [...path, 'workflow', key];
    const value = workflow?.[key];
    if (!value) report.missing(place, 'such as notify: {workflow: {id: my-workflow, signal: jobEnded}}');
    else if (value.length > MAX_ID)
      report.wrong(place, value, `too long: ${value.length} characters`, `${MAX_ID} at most`);
    else if (key === 'signal' && RESERVED_SIGNAL.test(value))
      report.wrong(place, value, 'a name that Temporal keeps for itself', 'take another name');
    else if (key === 'signal' && isOwnSignal(value))
      report.wrong(place, value, 'a signal between the workflows of jobctl', 'take another name, such as jobEnded');
    else if (key === 'id' && isOwnWorkflowId(value))
      report.wrong(place, value, 'a workflow of jobctl itself', 'name a workflow of yours');
  }
  const { id, signal } = workflow ?? {};
  return id && signal ? [{ workflow: { id, signal } }] : [];
}

const isSame = (a: NotifyTarget, b: NotifyTarget): boolean =>
  a.workflow.id === b.workflow.id && a.workflow.signal === b.workflow.signal;

/**
 * The targets for a job that is refused. Empty if `notify` itself is wrong or refers to another value (`${..}`), because that
 * value may be the wrong one.
 */
export function readableNotify(job: unknown): readonly NotifyTarget[] {
  if (!isMapping(job)) return [];
  const form = jobFileSchema().shape.notify.safeParse(valueAt(job, ['notify']));
  if (!form.success) return [];
  const report = new Report([]);
  const targets = resolveNotify(form.data, report);
  if (report.problems.length > 0) return [];
  return targets.filter(({ workflow: { id, signal } }) => !`${id} ${signal}`.includes('${'));
}

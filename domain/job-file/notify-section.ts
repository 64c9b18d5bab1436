import type { NotifyTarget } from '../job-spec.js';
import type { Path } from '../problem.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

/** What the server refuses would fail the job's workflow task for ever: 255 is what it keeps of an id on PostgreSQL. */
const MAX_ID = 255;
/** Each is an event in the job's history; whoever has more fans out himself. */
const MAX_TARGETS = 10;
/** Names that Temporal's SDKs keep for themselves. */
const RESERVED_SIGNAL = /^__temporal/;

type NotifyForm = NonNullable<JobFile['notify']>;
type TargetForm = Exclude<NotifyForm, readonly unknown[]>;

/** Who is told when the job has ended. A target that is named twice is told once. */
export function resolveNotify(form: JobFile['notify'], report: Report): readonly NotifyTarget[] {
  if (!form) return [];
  if (!Array.isArray(form)) return resolveTarget(form, ['notify'], report);
  if (form.length > MAX_TARGETS)
    report.problem(['notify'], form, `has ${form.length} targets`, `${MAX_TARGETS} at most`);
  const targets = form.flatMap((one, index) => resolveTarget(one, ['notify', index], report));
  return targets.filter((one, index) => targets.findIndex((other) => isSame(one, other)) === index);
}

function resolveTarget({ workflow }: TargetForm, path: Path, report: Report): NotifyTarget[] {
  const keys = ['id', 'signal'] as const;
  for (const key of keys) {
    const place = [...path, 'workflow', key];
    const value = workflow?.[key];
    if (!value) report.missing(place, 'such as notify: {workflow: {id: my-workflow, signal: jobEnded}}');
    else if (value.length > MAX_ID)
      report.wrong(place, value, `too long: ${value.length} characters`, `${MAX_ID} at most`);
    else if (key === 'signal' && RESERVED_SIGNAL.test(value))
      report.wrong(place, value, 'a name that Temporal keeps for itself', 'take another name');
  }
  const { id, signal } = workflow ?? {};
  return id && signal ? [{ workflow: { id, signal } }] : [];
}

const isSame = (a: NotifyTarget, b: NotifyTarget): boolean =>
  a.workflow.id === b.workflow.id && a.workflow.signal === b.workflow.signal;

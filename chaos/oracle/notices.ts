import { createHmac } from 'node:crypto';
import type { Evidence, GotNotice, SeenJob, StoredEvent } from './evidence.js';
import type { Count, Finding } from './verdict.js';

/** Kinds of events of which each job of chaos tells its receiver, each by its own name (docs/notify.md, docs/contract.md). */
export const TOLD_KINDS = [
  ...['queued', 'awaiting-others', 'running', 'preempted', 'preempted-by-quota', 'refused', 'slice-lost'],
  ...['stopped', 'requeued', 'restarted', 'paused', 'released', 'resumed', 'finishing'],
  ...['succeeded', 'failed', 'cancelled'],
] as const;
const TOLD: ReadonlySet<string> = new Set(TOLD_KINDS);

/** The 32 bytes by which the notices of chaos are signed, as a secret of Standard Webhooks. */
const KEY = Buffer.alloc(32, 7);
export const HOOK_KEY = `whsec_${KEY.toString('base64')}`;

/** Event ids that a job cannot have told yet are no loss: its workflow was ended from outside, or began anew without its memory. */
const FORGETS: ReadonlySet<string> = new Set(['terminate', 'reset']);

interface Notice {
  readonly id: string;
  readonly job: string;
  readonly at: number;
  readonly kind: string;
}

/** Judges what the receiver of all jobs got, by its own record, against the events of each job that ended. */
export function noticeFindings(evidence: Evidence): readonly Finding[] {
  const { notices, results, deeds, jobs } = evidence;
  // Those of the second installation tell nobody.
  const telling = new Set(jobs.flatMap(({ id, isTheirs }) => (isTheirs ? [] : [id])));
  if (notices === undefined) return [];
  const got = notices.map((each) => ({ ...each, ...read(each) }));
  const isAlone = (job: string): boolean => !deeds.some((deed) => deed.job === job && FORGETS.has(deed.kind));
  return [
    ...got.flatMap(untrue),
    ...results
      .filter(({ id, events }) => events !== undefined && telling.has(id))
      .flatMap((job) => toldOf(job, taken(got, job.id), isAlone(job.id))),
  ];
}

/** Distinct events that were taken of a job, in the order in which each came first. */
function taken(got: readonly (GotNotice & Notice)[], job: string): readonly Notice[] {
  const first = new Map<string, Notice>();
  for (const each of got) if (each.isTaken && each.job === job && !first.has(each.id)) first.set(each.id, each);
  return [...first.values()];
}

const keyOf = ({ at, kind }: Pick<Notice, 'at' | 'kind'>): string => `${kind} at ${at}`;

const isTold = ({ kind, facts }: StoredEvent): boolean => {
  if ('isOver' in facts) return false;
  const after = facts['after'] as { readonly kind?: string } | undefined;
  return TOLD.has(kind) || TOLD.has(after?.kind ?? '');
};

/** @param isAlone its workflow kept its memory, so that its list of events is whole */
function toldOf({ id, events = [] }: SeenJob, got: readonly Notice[], isAlone: boolean): readonly Finding[] {
  const finding = (count: Count, text: string): Finding => ({ count, subject: id, text });
  const wanted = events.filter(isTold).map(keyOf);
  const had = got.map(keyOf);
  const missing = without(wanted, had);
  if (missing.length > 0) return [finding('events not told', `its receiver never took ${missing.join(', ')}`)];
  const more = without(had, wanted);
  if (isAlone && more.length > 0)
    return [
      finding('events told twice or untruly', `its receiver took ${more.join(', ')}, which it does not have so often`),
    ];
  const late = got.find((each, index) => index > 0 && each.at < (got[index - 1]?.at ?? 0));
  if (late === undefined) return [];
  return [finding('events told twice or untruly', `${keyOf(late)} was told after a later event`)];
}

/** The items that are in the first list more often than in the second. */
function without(all: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return all.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function read({ body }: GotNotice): Omit<Notice, 'id'> {
  try {
    const { type, data } = JSON.parse(body) as {
      type: string;
      data: { job: string; event: { at: number; kind: string } };
    };
    return { job: data.job, at: data.event.at, kind: type === `job.${data.event.kind}` ? data.event.kind : type };
  } catch {
    return { job: '', at: 0, kind: 'something that cannot be read' };
  }
}

/** One with another signature, or whose id was that of another event before. */
function untrue(each: GotNotice & Notice, index: number, all: readonly (GotNotice & Notice)[]): readonly Finding[] {
  const { id, timestamp, signature, body, job } = each;
  const finding = (text: string): Finding[] => [{ count: 'events told twice or untruly', subject: job, text }];
  const right = `v1,${createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  if (signature !== right)
    return finding(`the notice ${id} of ${keyOf(each)} is not signed by the key of its receiver`);
  const before = all.findIndex((other) => other.id === id);
  return before < index && all[before]?.body !== body
    ? finding(`${id} was two events: ${keyOf(each)} is the second`)
    : [];
}

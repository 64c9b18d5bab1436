import { z } from 'zod';
import { isValidJobId, JOB_ID_RULE } from './identity.js';
import { given, section, text } from './job-file/fields.js';
import type { Report } from './job-file/report.js';
import type { Path } from './problem.js';

/**
 * The state of a job or group for another that waits for it. `missing`: Temporal knows no such job or group. `unbegun`: a group of
 * which no member began, because others ended otherwise than its file requires.
 */
export type PastState =
  | 'open'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  | 'terminated'
  | 'refused'
  | 'unbegun'
  | 'missing';

/**
 * Jobs and groups that must have ended before a job asks for its lease (docs/adr/0158): in success, in any way, or without
 * success. Ids; each stands once.
 */
export interface AfterSpec {
  readonly ok?: readonly string[];
  readonly any?: readonly string[];
  readonly notOk?: readonly string[];
}

/** The conditions, by the key of a job file. */
const CONDITIONS = [
  { key: 'ok', field: 'ok', is: (state: PastState) => state === 'succeeded' },
  { key: 'any', field: 'any', is: (state: PastState) => state !== 'missing' },
  { key: 'not_ok', field: 'notOk', is: (state: PastState) => state !== 'succeeded' && state !== 'missing' },
] as const;

/** Most ids of one job. Each id costs a look of its own. */
export const MOST_AFTER = 100;

const ids = () => z.array(text(), { error: 'a list of ids' });
const oneOrMore = () => z.union([text(), ids()], { error: 'the id of a job or group, or a list of ids' });

export const afterForm = () =>
  z.union(
    [
      text(),
      ids(),
      section({
        ok: oneOrMore().nullish().describe('Ids of jobs and groups that must have succeeded.'),
        any: oneOrMore().nullish().describe('Ids of jobs and groups that must have ended, in any way.'),
        not_ok: oneOrMore().nullish().describe('Ids of jobs and groups that must have ended without success.'),
      }),
    ],
    { error: 'an id, a list of ids, or a section {ok, any, not_ok}' },
  );

type AfterSection = z.infer<ReturnType<typeof afterForm>>;

/** @returns undefined for a job that waits for no other */
export function resolveAfter(value: AfterSection | null | undefined, report: Report): AfterSpec | undefined {
  if (value === null || value === undefined) return undefined;
  const isShort = typeof value === 'string' || Array.isArray(value);
  const form = isShort ? { ok: value } : value;
  const places = new Map<string, string>();
  const lists = CONDITIONS.flatMap(({ key, field }) => {
    const written = given(form[key]);
    if (written === undefined) return [];
    const at: Path = isShort ? ['after'] : ['after', key];
    const list = typeof written === 'string' ? [written] : written;
    list.forEach((id, index) => {
      const path = typeof written === 'string' ? at : [...at, index];
      const before = places.get(id);
      if (!isValidJobId(id)) report.wrong(path, id, 'the id of no job or group', JOB_ID_RULE);
      else if (before !== undefined)
        report.problem(path, id, `names '${id}', as ${before} does`, 'one condition for each: leave one of them out');
      places.set(id, isShort ? 'after' : `after.${key}`);
    });
    return list.length === 0 ? [] : [[field, list] as const];
  });
  if (places.size > MOST_AFTER)
    report.problem(
      ['after'],
      undefined,
      `names ${places.size} jobs`,
      `${MOST_AFTER} are the most: submit an array and name its group`,
    );
  if (lists.length > 0) return Object.fromEntries(lists);
  if (!report.hasDroppedIn(['after'])) report.wrong(['after'], value, 'empty', 'name a job or group, or leave it out');
  return undefined;
}

/** All ids of a spec, in the order of the file's keys. */
export const idsAfter = (after: AfterSpec): readonly string[] => CONDITIONS.flatMap(({ field }) => after[field] ?? []);

/** The next step of a job that waits for others. */
export type AfterDue =
  | { readonly do: 'go' }
  | { readonly do: 'wait' }
  /** One of them ended in a way that does not meet its condition, so the job can never begin. */
  | { readonly do: 'give up'; readonly why: string };

/** @param states of ids that were looked at; an id without one is open */
export function afterDue(after: AfterSpec, states: ReadonlyMap<string, PastState>): AfterDue {
  let isOpen = false;
  for (const { key, field, is } of CONDITIONS)
    for (const id of after[field] ?? []) {
      const state = states.get(id) ?? 'open';
      if (state === 'open') isOpen = true;
      else if (!is(state)) return { do: 'give up', why: neverText(id, key, state) };
    }
  return { do: isOpen ? 'wait' : 'go' };
}

const neverText = (id: string, key: string, state: PastState): string =>
  state === 'missing'
    ? `Temporal knows no job or group '${id}' (any more), after which it was to run (after.${key})`
    : `${id} ${PAST_WORDS[state]}, and it was to run only if that ${key === 'ok' ? 'succeeded' : 'did not succeed'} (after.${key})`;

const PAST_WORDS: Readonly<Record<Exclude<PastState, 'missing'>, string>> = {
  open: 'is open',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  terminated: 'was terminated',
  refused: 'was refused',
  unbegun: 'never began',
};

/** Most ids that a sentence names. */
const MOST_NAMED = 5;

/** The jobs that are still open, and how they are to end: `prep-7f3k to succeed`. Completes "waits for". */
export function awaitedText(after: AfterSpec, open: ReadonlySet<string>): string {
  const parts = CONDITIONS.flatMap(({ field, key }) => {
    const waited = (after[field] ?? []).filter((id) => open.has(id));
    if (waited.length === 0) return [];
    const more = waited.length > MOST_NAMED ? ` and ${waited.length - MOST_NAMED} more` : '';
    return [`${waited.slice(0, MOST_NAMED).join(', ')}${more} ${wantedText(key, waited.length)}`];
  });
  return parts.join('; ');
}

const wantedText = (key: (typeof CONDITIONS)[number]['key'], count: number): string => {
  switch (key) {
    case 'ok':
      return 'to succeed';
    case 'any':
      return 'to end';
    case 'not_ok':
      return count === 1 ? 'to end without success' : 'to end, each without success';
  }
};

/** Whether a queued job waits for others, read from the sentence of `awaitedText`: a row does not have the event's kind. */
export const isAwaitedText = (why: string): boolean =>
  / to (succeed|end|end without success|end, each without success)(;|$)/.test(why) && why.startsWith('waits for ');

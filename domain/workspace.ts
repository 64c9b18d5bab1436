/**
 * A job whose slices are for people, in place of a command: they are given back once nobody has used them for a time
 * (docs/workspace.md). A watcher on each host reports its use; here is what follows from the reports of all hosts. Only a report
 * that a host was idle counts towards the end. A host that cannot tell keeps the workspace, and the job says so (docs/adr/0166).
 */

import { z } from 'zod';
import { section } from './job-file/fields.js';
import { count, durationText, type EpochMs, utc } from './units.js';

export interface WorkspaceSpec {
  /** Seconds without use after which it is given back. Absent: never; `timeouts.run` then ends it. */
  readonly idleSeconds?: number;
}

/** A number alone is refused: SkyPilot's `-i 30` counts minutes, and elsewhere in a job file 30 is 30 seconds. */
export const workspaceForm = () =>
  section({
    idle: z
      .string({ error: 'a duration with its unit, such as 30m, or never' })
      .regex(/^(?:\d+(?:\.\d+)?[smh]|never)$/, { error: 'a duration with its unit, such as 30m, or never' })
      .nullish()
      .describe('Given back after so long without use; 1h without it. never only with timeouts.run.'),
  });

// Reports of hosts -----------------------------------------------------------------------------------------------------

/** The use of one host, as its watcher saw it last. */
export type HostUse =
  /** Its watcher does not look, cannot see, or was not heard. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** `idleMs`: time since the last use, up to the watcher's last look. `last`: that use, in words. */
  | { readonly kind: 'known'; readonly idleMs: number; readonly last: string };

export interface UseOfHost {
  readonly slice: number;
  readonly host: number;
  readonly use: HostUse;
}

/** The end of an attempt of a workspace that nobody uses. Its watchers still run. */
export interface IdleEnd {
  readonly kind: 'idle';
  readonly since: EpochMs;
  /** The last use, and the host that saw it. */
  readonly last: { readonly slice: number; readonly host: number; readonly what: string };
}

interface Idle {
  readonly since: EpochMs;
  readonly isEnding: boolean;
}

/** The knowledge between two looks. */
export interface UseWatch {
  /** Looks in a row at which some host could not tell. */
  readonly misses: number;
  /** Absent: it is in use, or was so lately. */
  readonly idle?: Idle;
  /** The last sentence for the job. Absent: nothing is to be told. */
  readonly told?: string;
}

export const UNWATCHED: UseWatch = { misses: 0 };

/** Number of looks without an answer from a host after which the job says so. */
export const MISSES_TOLD = 5;
const MOST_WARNING_MS = 10 * 60_000;

/** The announcement comes so long before the end: 10 minutes, or half of a short limit. */
export const warningMs = (limitMs: number): number => Math.min(MOST_WARNING_MS, limitMs / 2);
/** Idle time, in ms, that the job tells of. A shorter one is not worth a line. */
const noteMs = (limitMs: number): number => Math.min(MOST_WARNING_MS / 2, limitMs / 4);

export interface AfterLook {
  readonly watch: UseWatch;
  readonly end?: IdleEnd;
}

/**
 * Folds the reports of all hosts at one look. The end comes only if every host says, at this look, that it has been idle for the
 * limit. The sentence in `watch.told` changes when idleness begins, when the end is near, and when hosts cannot tell; it is absent
 * while the workspace is in use.
 */
export function afterLook(
  before: UseWatch,
  hosts: readonly UseOfHost[],
  { limitMs, now, slices }: { readonly limitMs: number; readonly now: EpochMs; readonly slices: number },
): AfterLook {
  const unknown = hosts.filter(({ use }) => use.kind === 'unknown');
  const known = hosts.flatMap(({ use, ...at }) => (use.kind === 'known' ? [{ ...at, ...use }] : []));
  const [latest] = known.toSorted((a, b) => a.idleMs - b.idleMs || a.slice - b.slice || a.host - b.host);
  const misses = unknown.length === 0 && latest !== undefined ? 0 : before.misses + 1;
  const idle = latest && idleOf(before.idle, latest.idleMs, { limitMs, now });
  const kept = { misses, ...(idle && { idle }) };
  if (misses > 0 || latest === undefined) {
    const told = misses === MISSES_TOLD ? unseenText(unknown, slices) : before.told;
    return { watch: { ...kept, ...(told !== undefined && { told }) } };
  }
  if (latest.idleMs >= limitMs) {
    const { slice, host, last: what, idleMs } = latest;
    return { watch: kept, end: { kind: 'idle', since: Math.round(now - idleMs), last: { slice, host, what } } };
  }
  return { watch: { ...kept, ...(idle && { told: idleText(idle, limitMs) }) } };
}

/** Reports come up to a look late, so a beginning that is known stays as it is: a sentence that changes is an event each time. */
function idleOf(
  before: Idle | undefined,
  idleMs: number,
  { limitMs, now }: { readonly limitMs: number; readonly now: EpochMs },
): Idle | undefined {
  if (idleMs < noteMs(limitMs)) return undefined;
  const isEnding = limitMs - idleMs <= warningMs(limitMs);
  const since = Math.round(now - idleMs);
  if (before === undefined || Math.abs(before.since - since) > noteMs(limitMs)) return { since, isEnding };
  return { since: isEnding === before.isEnding ? before.since : since, isEnding };
}

function idleText({ since, isEnding }: Idle, limitMs: number): string {
  const end = utc(since + limitMs);
  return isEnding
    ? `idle since ${utc(since)}, and given back at ${end} unless somebody uses it: log in to keep it`
    : `idle since ${utc(since)}; it is given back at ${end} unless somebody uses it`;
}

function unseenText(unknown: readonly UseOfHost[], slices: number): string {
  const named = unknown.flatMap(({ slice, host, use }) =>
    use.kind === 'unknown' ? [`host ${host}${slices > 1 ? ` of slice ${slice}` : ''}: ${use.why}`] : [],
  );
  const others = named.length > 1 ? ` (and ${count(named.length - 1, 'other host')})` : '';
  return `nobody can tell whether it is used, so it is not given back: ${named[0] ?? 'it has no host'}${others}`;
}

/** `given back after 1 h without use, or 8 h after its first start`. @param runSeconds `timeouts.run` */
export function workspaceText({ idleSeconds }: WorkspaceSpec, runSeconds: number | undefined): string {
  const ends = [
    ...(idleSeconds === undefined ? [] : [`after ${durationText(idleSeconds)} without use`]),
    ...(runSeconds === undefined ? [] : [`${durationText(runSeconds)} after its first start`]),
  ];
  return `given back ${ends.join(', or ')}`;
}

/** Why a workspace ended. */
export interface GivenBack {
  /** `run`: `timeouts.run`, counted since its first start. */
  readonly by: 'idle' | 'run';
  readonly seconds: number;
  /** The last use, and when it ended. Only of an idle one. */
  readonly last?: { readonly slice?: number; readonly host: number; readonly what: string; readonly until: EpochMs };
}

/** `given back: idle for 1 h; last use: login from 10.0.0.3 on host 0, until 2026-11-30 15:10:00 UTC`. */
export function givenBackText({ by, seconds, last }: GivenBack): string {
  if (by === 'run') return `given back: its ${durationText(seconds)} are over (timeouts.run)`;
  const use =
    last === undefined
      ? ''
      : `; last use: ${last.what} on host ${last.host}${last.slice === undefined ? '' : ` of slice ${last.slice}`}, until ${utc(last.until)}`;
  return `given back: idle for ${durationText(seconds)}${use}`;
}

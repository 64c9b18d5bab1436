import type { Board } from '../../client/job-board.js';
import { gatherBoard } from '../../client/job-board.js';
import type { JobFilter } from '../../client/job-query.js';
import { MOST_USE_MS, type PoolUse, readPoolState, readPoolUse, readWaitingLine } from '../../client/pool-state.js';
import { assignmentAt, memberIndexes } from '../../domain/array/array.js';
import { memberId, retriedIndexes, roundAt, wordOfMark } from '../../domain/array/group-state.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { chipHolders, userShares } from '../../quota/chip-holders.js';
import { poolAccounts } from '../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { DEFAULT_RULES, type TierRule } from '../../quota/quota-config.js';
import { placesInLine } from '../../quota/waiting-line.js';
import { rowTo } from '../access/gate.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { objectOf } from './groups.js';
import type { Serve } from './serve.js';

/** Most rows of a list of a pool's jobs. */
const MOST_ROWS = 1_000;
/** Time for which viewers of the same board share Temporal's answer. */
const SHARED_MS = 1_500;
const DAY_MS = 86_400_000;
/** Stretches of a pool's history: of five minutes, over a day. */
const STRETCHES = 288;
/** All who ask for a history within this time share one reading of the store. */
const HISTORY_MS = 30_000;
const MOST_CALLS = 200;

/** Routes that answer a whole screen with one call: a board, who uses a pool, the members of a group. */
export function registerBoard(serve: Serve, { client, gate, store }: Services): void {
  const linesOf = async (pools: readonly string[]): Promise<Board['lines']> => {
    // A pool whose line cannot be read leaves its jobs without places, and the board is still answered.
    const lines = pools.map((pool) => readWaitingLine(store, pool).catch(() => undefined));
    return (await Promise.all(lines)).flatMap((line) => line ?? []);
  };
  const boards = new SharedLooks<Board>(SHARED_MS);

  serve('board', async ({ call, query: { limit, ...given } }) => {
    const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JobFilter;
    const board = await boards.of(JSON.stringify([filter, limit]), () =>
      gatherBoard(client, filter, { limit, linesOf }),
    );
    const ids = board.rows.map(({ id }) => id);
    const places = new Map(board.lines.flatMap((line) => [...placesInLine(line, ids, isoTime)]));
    const rows = await Promise.all(board.rows.map((row) => rowTo(gate, call.caller, row)));
    return {
      rows: rows.map((row) => {
        const place = row.phase === 'queued' ? places.get(row.id) : undefined;
        return { ...row, ...(place && { place: { ...place } }) } as never;
      }),
      ...{ total: board.total, open: board.open },
      phases: [...board.phases].map(([phase, total]) => ({ phase, ...total })),
    };
  });

  serve('poolUse', async ({ params: { pool } }) => {
    const state = await readPoolState(store, pool);
    if (state === undefined) throw notPublished(pool);
    const { at, admission, admissionReason, admissionSet, problem, source, view } = state;
    const { tiers, projects } = poolAccounts(view);
    const rules = view.config.kind === 'limited' ? (view.config.rules ?? DEFAULT_RULES) : DEFAULT_RULES;
    return {
      ...{ pool, at, admission },
      ...(admissionReason !== undefined && { admissionReason }),
      ...(admissionSet !== undefined && { admissionSet: { ...admissionSet } }),
      ...(problem !== undefined && { problem }),
      ...(source !== undefined && { source }),
      tiers: tiers.map((tier) => ({ ...tier, ...boughtAs(rules.tiers[tier.tier]) })),
      projects: projects.map((project) => ({ ...project })),
      users: userShares(view).map((share) => ({ ...share })),
      jobs: chipHolders(view)
        .slice(0, MOST_ROWS)
        .map((holder) => ({ ...holder, units: { ...holder.units } })),
      waiting: view.requests
        .slice(0, MOST_ROWS)
        .map(({ id, user, project, units, priority, waitingSince, submittedAt }) => ({
          ...{ job: jobOfLeaseKey(id), user, project, priority, since: waitingSince ?? submittedAt },
          units: { ...units },
        })),
      reservations: reservationsOf(view, rules.maxGuaranteeDelayMs),
    };
  });

  const histories = new SharedLooks<PoolUse | undefined>(HISTORY_MS);
  serve('poolHistory', async ({ params: { pool }, query: { since } }) => {
    const to = Math.floor(Date.now() / HISTORY_MS) * HISTORY_MS;
    const from = since ?? to - DAY_MS;
    if (from >= to || from < to - MOST_USE_MS)
      throw new ApiError('invalid', `since: ${isoTime(from)} is not within the last week`, 'leave it out for a day');
    const asked = { window: { from, to }, stretches: STRETCHES };
    const use = await histories.of(JSON.stringify([pool, asked]), () => readPoolUse(store, pool, asked));
    if (use === undefined) throw notPublished(pool);
    const { series, gaps, calls } = use;
    return {
      ...{ pool, from, to, everyMs: (to - from) / STRETCHES },
      series: series.map(({ held, waiting, ...of }) => ({ ...of, held: [...held], waiting: [...waiting] })),
      gaps: gaps.map((gap) => ({ ...gap })),
      calls: calls.slice(-MOST_CALLS).map(({ at, kind, by, reason }) => ({
        ...{ at, kind, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) },
      })),
    };
  });

  serve(
    'groupMembers',
    async ({ call, params: { id } }) => {
      await gate.about(call, 'describe', objectOf(await client.group(id)));
      const { array, state, isFromLists } = await client.describeGroup(id);
      const members = memberIndexes(array).map((index) => ({
        index,
        id: memberId({ group: id, index, round: roundAt(state, index) }),
        state: wordOfMark(state.marks[index]) ?? 'unknown',
        values: { ...assignmentAt(array, index) },
      }));
      const axes = array.axes.map(({ name }) => name);
      return { group: id, axes, members, failed: retriedIndexes(state).length, ...(isFromLists && { isFromLists }) };
    },
    { asksItself: true },
  );
}

const notPublished = (pool: string): ApiError =>
  new ApiError('not-found', `nothing was published of pool '${pool}'`, 'a worker publishes it from its first job on');

/** Pricing and reservation of a tier, by the pool file. */
const boughtAs = ({ pricing, reservation }: TierRule = {}) => ({
  ...(pricing !== undefined && { pricing }),
  ...(reservation !== undefined && { reservation }),
});

function reservationsOf({ memory, requests }: PoolSnapshot['view'], mostMs: number) {
  const byId = new Map(requests.map((request) => [request.id, request]));
  return (memory?.reservations ?? []).flatMap(({ id, tier, madeAt }) => {
    const request = byId.get(id);
    if (request === undefined) return [];
    const { project, units } = request;
    return [{ job: jobOfLeaseKey(id), project, units: { ...units }, tier, since: madeAt, until: madeAt + mostMs }];
  });
}

const isoTime = (at: number): string => new Date(at).toISOString();

/** Shares a look among callers with the same question, while it runs and for a while after. Failures are not kept. */
class SharedLooks<T> {
  readonly #keptMs: number;
  readonly #looks = new Map<string, Promise<T>>();

  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  of(key: string, look: () => Promise<T>): Promise<T> {
    const known = this.#looks.get(key);
    if (known !== undefined) return known;
    const found = look();
    this.#looks.set(key, found);
    const forget = (): void => void (this.#looks.get(key) === found && this.#looks.delete(key));
    found.then(() => setTimeout(forget, this.#keptMs).unref(), forget);
    return found;
  }
}

import type { Board } from '../../client/job-board.js';
import { gatherBoard } from '../../client/job-board.js';
import type { JobFilter } from '../../client/job-query.js';
import { readPoolState, readWaitingLine } from '../../client/pool-state.js';
import { assignmentAt, memberIndexes } from '../../domain/array/array.js';
import { memberId, retriedIndexes, roundAt, wordOfMark } from '../../domain/array/group-state.js';
import { jobOfLeaseKey } from '../../domain/lease.js';
import { chipHolders, userShares } from '../../quota/chip-holders.js';
import { poolAccounts } from '../../quota/pool-accounts.js';
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
    if (state === undefined)
      throw new ApiError(
        'not-found',
        `nothing was published of pool '${pool}'`,
        'a worker publishes it from its first job on',
      );
    const { at, admission, admissionReason, admissionSet, problem, source, view } = state;
    const { tiers, projects } = poolAccounts(view);
    return {
      ...{ pool, at, admission },
      ...(admissionReason !== undefined && { admissionReason }),
      ...(admissionSet !== undefined && { admissionSet: { ...admissionSet } }),
      ...(problem !== undefined && { problem }),
      ...(source !== undefined && { source }),
      tiers: tiers.map((tier) => ({ ...tier })),
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

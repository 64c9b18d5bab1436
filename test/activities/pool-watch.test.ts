import assert from 'node:assert/strict';
import { WorkflowNotFoundError } from '@temporalio/common';
import { PoolWatch } from '../../activities/pool-watch.js';
import { quotaWorkflowId, sliceWorkflowId } from '../../contract/workflow-ids.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { until } from '../until.js';

const LOOK_MS = 5;
/** So many looks would show what happens at each. */
const SOME = 8;

interface Row {
  readonly job: string;
  readonly state?: string;
  readonly slices?: readonly string[];
}

/** A pool as its watch sees it: files, a published state, a book that answers a query, and workflows that are open or not. */
class Scene {
  mark = 'files 1';
  generation: string | undefined = '1';
  rows: readonly Row[] = [];
  readonly closed = new Set<string>();
  /** Looks that have asked for the files. */
  looks = 0;
  queries = 0;
  wakes = 0;
  readonly woken: string[] = [];
  /** Workflows that cannot be woken. */
  readonly unknown = new Set<string>();
  readonly warned: string[] = [];
  problem: Error | undefined;
  storeProblem: Error | undefined;
  /** The pool publishes another state at each look. */
  isBusy = false;
  /** Refused wakes that are still to come. */
  refusals = 0;
  readonly #watch: PoolWatch;

  /** Of the workflows that Temporal lists; an error as often as it has refusals. */
  pools = ['vision'];
  listRefusals = 0;

  constructor(reconcileMs = 600_000) {
    this.#watch = new PoolWatch({
      timings: { reconcileMs, poolLookMs: LOOK_MS },
      markOf: async () => {
        this.looks++;
        if (this.problem) throw this.problem;
        return this.mark;
      },
      store: {
        stat: async (name) => {
          if (name !== poolStateObject('vision')) return undefined;
          if (this.storeProblem) throw this.storeProblem;
          if (this.isBusy) this.generation = String(this.looks);
          return this.generation === undefined
            ? undefined
            : { name, size: 1, generation: this.generation, updatedAt: 0 };
        },
      },
    });
  }

  hasRead(mark = this.mark): void {
    this.#watch.hasRead(this.#access, 'vision', mark);
  }

  watchAll(): Promise<void> {
    return this.#watch.watchAll(this.#access, 'q');
  }

  get #access(): never {
    return { client: this.#client(), log: { warn: (text: string) => this.warned.push(text) } } as never;
  }

  async looksAgain(times = SOME): Promise<void> {
    const enough = this.looks + times;
    await until(`${times} looks`, () => this.looks >= enough);
  }

  #client() {
    return {
      workflow: {
        list: ({ query }: { query: string }) => {
          if (!query.includes("'quota'")) return [];
          if (this.listRefusals-- > 0) throw new Error('visibility is away');
          return this.pools.map((pool) => ({ workflowId: quotaWorkflowId(pool) }));
        },
        getHandle: (id: string) => ({
          query: async () => {
            this.queries++;
            const holders = this.rows.map(({ job, state = 'held', slices = [] }) => ({
              state,
              lease: { job, run: `run-of-${job}`, number: 1, pool: 'vision' },
              slices: slices.map((name) => ({ name })),
            }));
            return { text: JSON.stringify(holders), pages: 1 };
          },
          signal: async () => {
            if (this.unknown.has(id)) throw new WorkflowNotFoundError('closed', id, undefined);
            if (this.refusals-- > 0) throw new Error('Temporal is away');
            this.wakes++;
            this.woken.push(id);
          },
          describe: async () => {
            if (this.closed.has(id)) throw new WorkflowNotFoundError('closed', id, undefined);
            return { status: { name: 'RUNNING' }, startTime: new Date(), raw: {} };
          },
        }),
      },
    };
  }
}

describe('the watch of a pool', () => {
  it('asks a quiet pool once who holds, and wakes it never', async () => {
    const scene = new Scene();
    scene.rows = [{ job: 'a', slices: ['a-1'] }, { job: 'b' }];
    scene.hasRead();
    await scene.looksAgain();
    assert.deepEqual([scene.queries, scene.wakes], [1, 0]);
  });

  it('asks again once the pool has published another state', async () => {
    const scene = new Scene();
    scene.generation = undefined;
    scene.hasRead();
    await scene.looksAgain();
    scene.rows = [{ job: 'a' }];
    scene.closed.add('a');
    await scene.looksAgain();
    assert.equal(scene.wakes, 0);
    scene.generation = '2';
    await until('a wake', () => scene.wakes > 0);
    assert.equal(scene.queries, 2);
  });

  for (const [what, row, closed] of [
    ['a holder whose job was ended without a word', { job: 'a' }, 'a'],
    ['a lease whose slice has no workflow any more', { job: 'a', slices: ['a-1'] }, sliceWorkflowId('a-1')],
  ] as const)
    it(`wakes the pool once for ${what}`, async () => {
      const scene = new Scene();
      scene.rows = [row, { job: 'b' }];
      scene.hasRead();
      await scene.looksAgain();
      assert.equal(scene.wakes, 0);
      scene.closed.add(closed);
      await until('a wake', () => scene.wakes > 0);
      await scene.looksAgain();
      assert.equal(scene.wakes, 1);
      scene.closed.add('b');
      await until('a wake for the next', () => scene.wakes > 1);
    });

  it('wakes the pool once when its files have changed, and not for files that its workflow has read meanwhile', async () => {
    const scene = new Scene();
    scene.hasRead();
    await scene.looksAgain();
    scene.mark = 'files 2';
    await until('a wake', () => scene.wakes > 0);
    await scene.looksAgain();
    assert.equal(scene.wakes, 1);
    scene.hasRead((scene.mark = 'files 3'));
    await scene.looksAgain();
    assert.equal(scene.wakes, 1);
  });

  it('wakes the pool at a later look if it could not be woken, for files and for holders', async () => {
    const scene = new Scene();
    scene.rows = [{ job: 'a' }];
    scene.hasRead();
    scene.refusals = 2;
    scene.mark = 'files 2';
    await until('a wake for the files', () => scene.wakes > 0);
    scene.refusals = 2;
    scene.closed.add('a');
    await until('a wake for the holder', () => scene.wakes > 1);
    await scene.looksAgain();
    assert.equal(scene.wakes, 2);
  });

  it('wakes the pool if the workflow has other files than those that are there now', async () => {
    const scene = new Scene();
    scene.hasRead('files 0');
    await until('a wake', () => scene.wakes > 0);
  });

  it('wakes the pool for its files while who holds cannot be looked at', async () => {
    const scene = new Scene();
    scene.storeProblem = new Error('the bucket is away');
    scene.hasRead();
    await scene.looksAgain();
    scene.mark = 'files 2';
    await until('a wake', () => scene.wakes > 0);
    await scene.looksAgain();
    assert.equal(scene.wakes, 1);
  });

  it('asks nothing of a pool that publishes at each look, which compares by itself', async () => {
    const scene = new Scene();
    scene.rows = [{ job: 'a' }];
    scene.isBusy = true;
    scene.hasRead();
    await scene.looksAgain();
    scene.closed.add('a');
    await scene.looksAgain();
    assert.deepEqual([scene.queries, scene.wakes], [0, 0]);
    scene.isBusy = false;
    await until('a wake', () => scene.wakes > 0);
    assert.equal(scene.queries, 1);
  });

  it('lets a job that has ended as usual give its lease back', async () => {
    const scene = new Scene();
    scene.rows = [{ job: 'a', state: 'draining', slices: ['a-1'] }, { job: 'b' }];
    scene.closed.add('a');
    scene.hasRead();
    await scene.looksAgain();
    assert.deepEqual([scene.queries, scene.wakes], [1, 0]);
  });

  for (const generation of ['1', undefined])
    it(`asks from time to time while the state cannot be written, and is ${generation ?? 'missing'}`, async () => {
      const scene = new Scene(400);
      scene.generation = generation;
      scene.rows = [{ job: 'a' }];
      scene.hasRead();
      await scene.looksAgain(3);
      scene.rows = [{ job: 'a' }, { job: 'b' }];
      scene.closed.add('b');
      await until('a wake', () => {
        scene.hasRead();
        return scene.wakes > 0;
      });
    });

  it('begins with its worker, for each pool that can be woken, and wakes the others later', async () => {
    const scene = new Scene();
    scene.pools = ['a', 'vision', 'z'];
    scene.unknown.add(quotaWorkflowId('a'));
    await scene.watchAll();
    assert.deepEqual(scene.woken, [quotaWorkflowId('vision'), quotaWorkflowId('z')]);
    scene.unknown.clear();
    await until('the other is woken', () => scene.woken.includes(quotaWorkflowId('a')));
    await scene.looksAgain(3 * SOME);
    assert.equal(scene.wakes, 3);
    scene.mark = 'files 2';
    await until('all are woken for their files', () => scene.wakes === 6);
  });

  it('begins later if pools could not be listed, which it tells once', async () => {
    const scene = new Scene();
    scene.listRefusals = 3;
    await scene.watchAll();
    await until('a wake', () => scene.wakes > 0);
    assert.deepEqual(scene.warned, ['pools were not listed, and are not watched yet: visibility is away']);
  });

  it('goes on after a problem, which it tells once', async () => {
    const scene = new Scene();
    scene.problem = new Error('the bucket is away');
    scene.hasRead();
    await scene.looksAgain();
    assert.deepEqual(scene.warned, ['pool vision could not be looked at: the bucket is away']);
    scene.problem = undefined;
    scene.mark = 'files 2';
    await until('a wake', () => scene.wakes > 0);
  });

  it('ends once the workflow has read no files here for two comparisons', async () => {
    const scene = new Scene(10 * LOOK_MS);
    scene.hasRead();
    let before = -1;
    await until('no look any more', async () => {
      const isOver = before === scene.looks && scene.looks > 0;
      before = scene.looks;
      await new Promise((resolve) => setTimeout(resolve, 30 * LOOK_MS));
      return isOver;
    });
  });
});

import assert from 'node:assert/strict';
import { WorkflowNotFoundError } from '@temporalio/common';
import { changesPool } from '../../activities/quota.js';
import { PoolPublisher } from '../../activities/quota-publisher.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import { emptyDelivery } from '../../workflows/quota/deliveries.js';
import { lease, pool, project } from '../quota/builders.js';
import { until } from '../until.js';

const STATE = packState({
  ...{ pool: 'default', at: 1_795_000_000_000, epoch: 1, admission: 'open' },
  view: {
    config: pool({ v4: 64 }, project('a', { v4: 32 })),
    requests: [],
    leases: [lease('a1', { v4: 8 }, { project: 'a', state: 'held' })],
  },
});

/** A store that refuses its next writes, and a pool's workflow that answers the query for its state. */
class Scene {
  refusals = 0;
  refused = 0;
  writes = 0;
  isGone = false;
  readonly warned: string[] = [];
  readonly publisher: PoolPublisher;

  constructor(tryAgainMs: number) {
    const none = (): undefined => undefined;
    const store = {
      write: async (name: string) => {
        if (this.refusals > 0) {
          this.refusals--;
          this.refused++;
          throw new Error('the store is away');
        }
        if (name === poolStateObject('default')) this.writes++;
        return { kind: 'written', generation: '1' };
      },
    };
    const meter = { waitingJobs: none, stuckDeletions: none, leasedUnits: none };
    this.publisher = new PoolPublisher(store as never, meter, { keepMs: 1_000, tryAgainMs });
  }

  async #query(id: string) {
    if (this.isGone) throw new WorkflowNotFoundError('closed', id, undefined);
    return { text: JSON.stringify(STATE), pages: 1 };
  }

  changed(): void {
    const client = {
      withDeadline: (_at: number, call: () => Promise<unknown>) => call(),
      workflow: { getHandle: (id: string) => ({ query: () => this.#query(id) }) },
    };
    const log = { warn: (text: string) => this.warned.push(text) };
    this.publisher.changed({ client, log } as never, 'default');
  }
}

describe('the publisher of a pool', () => {
  it('hears of news that change the published state: of a priority too, not of an answer to a slice', () => {
    const none = emptyDelivery('default', 1);
    assert.ok(!changesPool(none));
    assert.ok(!changesPool({ ...none, answers: [{ slice: 'a-1', isHeld: true }] }));
    assert.ok(changesPool({ ...none, priorities: [{ job: { id: 'a', run: 'r' }, priority: 2 }] }));
  });

  it('tries again by itself what could not be stored, since a quiet pool may not change for long', async () => {
    const scene = new Scene(1);
    scene.refusals = 2;
    scene.changed();
    await until('the state is stored', () => scene.writes > 0);
    assert.equal(scene.refused, 2);
    assert.deepEqual(scene.warned, ['pool default could not be published: the store is away']);
  });

  it('goes on after an outage of any length, since an idle pool publishes nothing else', async () => {
    const scene = new Scene(1);
    scene.refusals = 25;
    scene.changed();
    await until('the state is stored', () => scene.writes > 0);
    assert.equal(scene.refused, 25);
  });

  it('ends with the workflow of the pool', async () => {
    const scene = new Scene(1);
    scene.isGone = true;
    scene.changed();
    await until('a query', () => scene.warned.length > 0);
    scene.isGone = false;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(scene.writes, 0);
  });

  it('publishes a change without waiting for the next try', async () => {
    const scene = new Scene(86_400_000);
    scene.refusals = 1;
    scene.changed();
    await until('a try', () => scene.warned.length > 0);
    scene.changed();
    await until('the state is stored', () => scene.writes > 0);
  });
});

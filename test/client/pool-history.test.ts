import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeHistory } from '../../activities/quota.js';
import { readPoolHistory } from '../../client/pool-state.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import { jobOfLeaseKey, leaseKey, type LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { leaseStories, type LeaseStory } from '../../quota/pool-history.js';
import { packState, unpackState } from '../../quota/published-state.js';
import { emptyCarry, PoolRecords } from '../../workflows/quota/pool-records.js';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 21, 12);
const LEASE = { pool: 'p', job: 'qa', run: 'r', number: 1 };
const SLICE: MachineRef = { kind: 'cloud-tpu', googleProject: 'g', zone: 'us-east1-d', name: 's', mode: 'tpu-vm' };
const DEMAND = { project: 'vision', user: 'alice', priority: 3, submittedAt: START, units: { v5litepod: 8 } };

describe('a pool’s history, read while its newest lines are not in the store yet', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'jobctl-pool-history-'));
  const bucket = pathToFileURL(join(scratch, 'bucket')).href;
  const records = new PoolRecords('p', emptyCarry(1), START);
  let store!: StorePort;
  let sequence = 0;

  before(async () => {
    await ensureStore({ bucket });
    store = openStore({ bucket });
    records.takeFiles({ config: { kind: 'unlimited' }, timings: DEFAULT_TIMINGS, googleProject: 'g' }, START);
    records.book.endRebuild();
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  function tell(sender: string, body: LeaseMessageBody, minute: number): void {
    const now = START + minute * MINUTE;
    records.apply([{ lease: LEASE, sender, sequence: ++sequence, body }], now);
    if (body.kind === 'request') records.book.grant({ id: leaseKey(LEASE), tier: 0 }, now);
    records.takeDeliveries(100, now);
  }

  async function writePart(): Promise<void> {
    const part = records.history.nextPart(START);
    assert.ok(part);
    await writeHistory(store, part);
    records.history.written();
  }

  /** As `jobctl quota history` puts it together, from what is published and what is stored. */
  async function stories(minute: number): Promise<readonly LeaseStory[]> {
    const { unstored, view } = unpackState(packState(records.snapshot()));
    const { lines } = await readPoolHistory(store, 'p', 0, unstored);
    const open = view.leases.map(({ id, ...lease }) => ({ ...lease, job: jobOfLeaseKey(id), number: 1 }));
    return leaseStories(lines, { from: 0, to: START + minute * MINUTE }, open);
  }

  it('a job that has just ended keeps its held time and has its end, before and after its last lines are stored', async () => {
    tell('job', { kind: 'request', demand: DEMAND, slices: [] }, 0);
    tell(SLICE.name, { kind: 'slice', ref: SLICE, asks: { accelerator: 'v5litepod-8', pricing: 'spot' } }, 0);
    tell('job', { kind: 'chips', zone: SLICE.zone }, 1);
    await writePart();
    assert.equal((await stories(8))[0]?.heldMs, 7 * MINUTE, 'while it runs');
    tell(SLICE.name, { kind: 'gone' }, 8);
    tell('job', { kind: 'release', slices: [] }, 8);
    const ended = await stories(9);
    assert.deepEqual(
      ended.map(({ heldMs, freedAt, isEndUnknown }) => ({ heldMs, freedAt, isEndUnknown })),
      [{ heldMs: 7 * MINUTE, freedAt: START + 8 * MINUTE, isEndUnknown: undefined }],
    );
    const published = records.snapshot().unstored;
    await writePart();
    assert.deepEqual(await stories(9), ended, 'stored');
    const { lines } = await readPoolHistory(store, 'p', 0, published);
    assert.equal(lines.filter(({ kind }) => kind === 'freed').length, 1, 'stored, and in an older published state');
  });
});

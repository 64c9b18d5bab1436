import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import type { DevContext } from '../../cli/place/stack/context.js';
import { openReservations } from '../../cli/local/dev/addresses.js';
import type { DevStatus } from '../../cli/local/dev/status.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { until } from '../until.js';
import { listenSomewhere, ownerOf, Stack } from './stack.js';

describe('two local stacks, brought up at the same time, one on a Temporal server that is configured', function () {
  this.timeout(TEMPORAL_START_MS);
  let first: Stack;
  let second: Stack;
  let context: DevContext;
  let other: DevContext;

  before(async () => {
    first = new Stack();
    second = new Stack();
    const { address } = await testServer();
    const ups = [first.up(), second.up({ temporalAddress: address })];
    // All to their end, also when one fails: what comes up later would be left behind.
    await Promise.allSettled(ups);
    [context, other] = (await Promise.all(ups)) as [DevContext, DevContext];
  });
  after(async () => {
    await first.remove();
    await second.remove();
  });

  it('each has all of its parts ready, and starts no Temporal server where one is configured', async () => {
    const states = (status: DevStatus): unknown => [
      status.up,
      status.parts.map(({ name, state }) => `${name} ${state}`),
    ];
    assert.deepEqual(states(await first.status()), [true, ['server ready', 'rehearsal ready', 'worker ready']]);
    assert.deepEqual(states(await second.status()), [true, ['rehearsal ready', 'worker ready']]);
    assert.equal(other.temporal.address, (await testServer()).address);
  });

  it('share no port and no address of a TPU VM', () => {
    const [a, b] = [first.record().addresses, second.record().addresses];
    assert.notEqual(a.subnetOctet, b.subnetOctet);
    for (const name of ['tpu', 'tpuRest', 'store', 'admin', 'health'] as const) assert.notEqual(a[name], b[name], name);
  });

  it('have an owner id each, 12 hexadecimal digits in the store', async () => {
    const owners = await Promise.all([context, other].map(ownerOf));
    for (const owner of owners) assert.match(owner, /^[0-9a-f]{12}$/);
    assert.notEqual(owners[0], owners[1]);
  });

  it('after kill -9 of one part `up` starts that one alone', async () => {
    const pids = [first.pid('server'), first.pid('rehearsal')];
    const worker = first.pid('worker');
    first.kill('worker');
    const workerState = async (): Promise<unknown> =>
      (await first.status()).parts.find(({ name }) => name === 'worker')?.state;
    await until('the worker is shown as dead', async () => (await workerState()) === 'dead');
    await first.up();
    assert.deepEqual([first.pid('server'), first.pid('rehearsal')], pids);
    assert.notEqual(first.pid('worker'), worker);
  });

  it('a port that a stranger has taken since is replaced, and the worker learns of it', async () => {
    const { store } = second.record().addresses;
    second.kill('rehearsal');
    const stranger = await strangerOn(store);
    try {
      const moved = await second.up();
      assert.notEqual(second.record().addresses.store, store);
      const { store: chosen } = second.record().addresses;
      const isTold = second.said.some(
        (line) =>
          line.startsWith('Ports that are in use, and those chosen instead: ') &&
          line.includes(`store ${store} -> ${chosen}`),
      );
      assert.ok(isTold, second.said.join('\n'));
      assert.equal(moved.store.endpoint, `http://127.0.0.1:${chosen}`);
      assert.equal((await second.status()).up, true);
      assert.ok(stranger?.listening ?? true);
    } finally {
      stranger?.close();
    }
  });

  it('`down` leaves nothing of it, also TPU VMs of a rehearsal that was killed, and does not touch the other', async () => {
    await createSlice(second, other);
    assert.notEqual(second.processes().length, 0);
    second.kill('rehearsal', 'worker');
    await second.down();
    assert.deepEqual(second.processes(), []);
    assert.equal((await first.status()).up, true);
    assert.deepEqual(
      (await second.status()).parts.map(({ state }) => state),
      ['stopped', 'stopped'],
    );
  });

  it('`down --purge` removes the data, and nothing that is not its own', async () => {
    writeFileSync(second.file('notes.txt'), 'of the user');
    await second.down(true);
    assert.deepEqual(readdirSync(second.file('.')), ['notes.txt']);
  });
});

/**
 * Listens there as soon as the killed process has let go of the port: as a program that knows nothing of jobctl would, save that
 * it leaves alone what a stack of another test file, in a process beside this one, has just chosen. Undefined where such a stack
 * has the port already: it is stranger enough.
 */
async function strangerOn(port: number): Promise<Server | undefined> {
  const reservations = openReservations();
  try {
    const isOurs = await until(
      'a moment for the port of a process that was killed',
      () => reservations.exactPort(port),
      5_000,
    ).catch(() => false);
    return isOurs ? (await listenSomewhere(port)).server : undefined;
  } finally {
    reservations.release();
  }
}

/** A slice with its TPU VMs running, made past the worker. */
async function createSlice(stack: Stack, { cloud }: DevContext): Promise<void> {
  const { addresses } = stack.record();
  const { insecure, accessTokenFile = '' } = cloud;
  const tpu = createCloudTpu({ endpoint: { host: '127.0.0.1', port: addresses.tpu, insecure, accessTokenFile } });
  const plan = slicePlan('left-behind', 'tpu-vm');
  const answer = await tpu.create(plan);
  assert.equal(answer.kind, 'accepted');
  await until('the slice is ready', async () => (await tpu.observe(plan)).kind === 'ready');
  await tpu.close();
}

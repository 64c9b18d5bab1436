import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { targetOf } from '../../cloud/hosts/port.js';
import { OwnMachinesOperator } from '../../cloud/machines/own/operator.js';
import type { OwnMachines } from '../../cloud/machines/own/own-machines.js';
import { PoolRecords } from '../../cloud/machines/own/pool-record.js';
import { ensureFolder, FolderStore } from '../../cloud/store/folder.js';
import { refIn } from '../../domain/machine-kinds/machines/index.js';
import type { MachinesPlan, OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { fleetOf, lookAfter, visitsOf } from '../hosts/rack.js';
import { type SlottedBox, startSlottedBox } from '../hosts/slotted-box.js';
import { never } from '../hosts/session.js';
import { type KeyPair, makeKeyPair } from '../hosts/ssh-host.js';
import { until } from '../until.js';
import { ownership } from './cloud-tpu-plan.js';
import { makeGone, makeReady, observed } from './machines-conformance.js';

const POOL = 'lab';
const GPUS = 4;
/** By which a process of this test is known: users of other tests' boxes have the same numbers. */
const SECONDS = 1047;

const planOf = (name: string, perHost: number, owner = 'own-1', hosts = 1): MachinesPlan => ({
  ref: refIn(POOL, `jc-${name}-g1`),
  ownership: ownership({ owner, job: name }),
  machines: { hosts, labels: {}, accelerator: { type: 'h100', perHost } },
});

/** docs/adr/0170: one box of four GPUs behind OpenSSH, with a login user for each. */
describe('a machine whose GPUs jobs of different sizes share', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'shared-gpus-'));
  const key: KeyPair = makeKeyPair();
  const open: OwnMachines[] = [];
  let box: SlottedBox;
  let inventory: readonly OwnMachine[];
  let store: FolderStore;
  let port: OwnMachines;
  let stores = 0;
  before(async () => {
    box = await startSlottedBox(key, GPUS, GPUS);
    const file = parsePoolFile(
      `[[machines]]
name = "box"
address = "${box.address}"
user = "gpu-{slot}"
share = true
accelerators = { h100 = ${GPUS} }
host_key = "${box.hostKey}"
`,
      'p.toml',
      POOL,
    );
    assert.ok(file.ok);
    inventory = file.machines;
  });
  after(async () => {
    await box.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    box.computes('');
    [store, port] = await installation();
  });
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
    assert.deepEqual(claims(), ['', '', '', ''], 'a test gives back what it has claimed');
  });

  /** Which knows nothing of the others, as if its store had been lost. */
  async function installation(): Promise<[FolderStore, OwnMachines]> {
    const at = join(folder, `store-${stores++}`);
    await ensureFolder(at);
    const own = new FolderStore(at);
    const machines = lookAfter({ inventory, key }, own);
    open.push(machines);
    return [own, machines];
  }
  const claims = (): readonly string[] =>
    box.homes.map((home) => {
      const file = join(home, '.jobctl/machine/claim');
      return existsSync(file) ? (readFileSync(file, 'utf8').split('\n')[0] ?? '') : '';
    });
  const ready = (plan: MachinesPlan, own = port) => makeReady({ port: own, deadlineMs: 15_000 }, plan);
  const gone = (plan: MachinesPlan, own = port) => makeGone({ port: own, deadlineMs: 15_000 }, plan);
  const operatorOf = (own: FolderStore, owner = 'own-1') =>
    new OwnMachinesOperator({ records: new PoolRecords(own), visits: visitsOf({ key }, own), owner });

  /** Starts a command as the slice's runner does, and waits until it runs. */
  async function run(plan: MachinesPlan, script = `trap "" TERM; sleep ${SECONDS} & wait`) {
    const { hosts, uid } = await ready(plan);
    const [host] = hosts;
    assert.ok(host);
    const target = targetOf(host, { ref: plan.ref, uid, slice: 0, user: 'nobody' });
    assert.ok(target.reach === 'ssh');
    const connection = await fleetOf({ key }, store).connect(target, { privateKey: key.private }, never);
    await connection.startRun({ runId: `${plan.ownership.job}-a1`, epoch: 1, script, env: {} });
    await until(
      'the command runs',
      async () => (await connection.runStatus(`${plan.ownership.job}-a1`)).kind === 'running',
    );
    return { uid, host, close: () => connection.close() };
  }

  it('serves them side by side, each with its own GPUs and user, and gives each back alone', async () => {
    const [two, one] = [planOf('two', 2), planOf('one', 1)];
    const first = await ready(two);
    const second = await ready(one);
    const own = [first, second].map(
      ({ hosts: [host] }) => host?.reach === 'ssh' && [host.own?.user, host.own?.slot?.gpus],
    );
    assert.deepEqual(own, [
      ['gpu-0', [0, 1]],
      ['gpu-2', [2]],
    ]);
    assert.deepEqual(claims(), [first.uid, first.uid, second.uid, '']);
    const rows = await operatorOf(store).look(POOL, inventory);
    assert.deepEqual(
      rows.map(({ slice, seen }) => [slice?.job, seen.kind]),
      [
        ['two', 'held'],
        ['two', 'held'],
        ['one', 'held'],
        [undefined, 'free'],
      ],
    );
    const answer = await port.create(planOf('big', 4));
    assert.ok(answer.kind === 'refused' && answer.isPlaceKept, JSON.stringify(answer));
    assert.match(answer.message, /box\.0, box\.1, box\.2, box\.3 are kept for it: box\.0 is held by slice jc-two-g1/);
    const late = await port.create(planOf('late', 1));
    assert.ok(late.kind === 'refused' && late.isPlaceKept === undefined, JSON.stringify(late));
    assert.match(late.message, /box\.3 is kept for job big, which waits for 4 GPUs/);
    await gone(two);
    assert.deepEqual(claims(), ['', '', second.uid, '']);
    assert.equal((await observed({ port }, one)).kind, 'ready', 'its neighbour is not touched');
    await gone(one);
    await ready(planOf('big', 4));
    await gone(planOf('big', 4));
  });

  it('is never claimed twice by claimers that come at once, of one installation or of two', async () => {
    const [, other] = await installation();
    const asked = [
      ...['a', 'b', 'c'].map((name, index) => [port, planOf(name, index + 1)] as const),
      ...['d', 'e', 'f'].map((name, index) => [other, planOf(name, index + 1, 'own-2')] as const),
    ];
    const answers = await Promise.all(asked.map(([own, plan]) => own.create(plan)));
    const held = new Map<string, number>();
    for (const uid of claims()) if (uid !== '') held.set(uid, (held.get(uid) ?? 0) + 1);
    const taken: number[] = [];
    for (const [index, [own, plan]] of asked.entries()) {
      const seen = await observed({ port: own }, plan);
      if (answers[index]?.kind !== 'accepted') continue;
      assert.ok(seen.kind === 'ready', JSON.stringify(seen));
      const gpus = seen.hosts.flatMap((host) => (host.reach === 'ssh' ? (host.own?.slot?.gpus ?? []) : []));
      assert.equal(gpus.length, held.get(seen.uid), 'a claim for each of its GPUs');
      taken.push(...gpus);
    }
    assert.ok(taken.length > 0, JSON.stringify(answers));
    assert.equal(new Set(taken).size, taken.length, `no GPU twice: ${taken.join()}`);
    for (const [own, plan] of asked) await gone(plan, own);
  });

  it('whose claimer died between the record and the claims, or after some of them, is given back whole', async () => {
    const plan = planOf('dead', 3);
    const { uid } = await ready(plan);
    const records = new PoolRecords(store);
    // As it is until the last claim is inspected.
    await records.update(POOL, (before) => {
      const slice = before.slices[plan.ref.name];
      return slice && { ...before, slices: { ...before.slices, [plan.ref.name]: { ...slice, isWhole: false, at: 0 } } };
    });
    await visitsOf({ key }, store).visit(POOL, inventory[1] as never, 10_000, (verbs) => verbs.vacate(uid, 0));
    const seen = await observed({ port }, plan);
    assert.ok(seen.kind === 'lost' && /2 of 3 machines are claimed/.test(seen.message), JSON.stringify(seen));
    assert.equal((await port.create(plan)).kind, 'exists', 'the next create call of the slice');
    await gone(plan);
  });

  it('has claims that no record knows: what runs under them ends first, whichever of them is found', async () => {
    const plan = planOf('lost', 2);
    const { uid, close } = await run(plan);
    await new PoolRecords(store).update(POOL, ({ slices: _, ...rest }) => ({ ...rest, slices: {} }));
    close();
    // Only the claim beside the run is met.
    await operatorOf(store).drain(POOL, inventory.slice(0, 1), 'ann');
    const next = planOf('next', 3);
    const { uid: own } = await ready(next);
    assert.notEqual(own, uid);
    assert.deepEqual(claims(), ['', own, own, own]);
    assert.equal(processesOf(0), '', 'the run of slot 0 had the GPU of slot 1');
    const { machines } = await new PoolRecords(store).read(POOL);
    assert.equal(machines['box.0']?.ended?.job, 'lost');
    assert.match(machines['box.0']?.ended?.text ?? '', /process \d+ \(.*sleep 1047.*\) of user gpu-0/);
    assert.equal(machines['box.1']?.ended, undefined);
    await gone(next);
  });

  it('is released from a lost installation by the claim beside a run, with the run', async () => {
    const plan = planOf('foreign', 2, 'own-lost');
    const { uid, close } = await run(plan);
    close();
    const [, beside] = inventory;
    assert.ok(beside);
    const [next] = await installation();
    const [look] = await operatorOf(next).look(POOL, [beside]);
    assert.ok(look?.seen.kind === 'foreign');
    assert.match(look.seen.message, /of job foreign .*, which runs on box\.0: /);
    assert.match((await operatorOf(store).release(POOL, beside, uid)) ?? '', /jobctl cancel foreign/);
    assert.equal(await operatorOf(next).release(POOL, beside, uid), undefined);
    assert.deepEqual(claims(), ['', '', '', '']);
    assert.equal(processesOf(0), '');
    await gone(plan);
  });

  it('of which somebody else uses one GPU gives a job the others, and says which it is', async () => {
    box.computes('GPU-10ff, 4242, colleague\\n');
    const plan = planOf('three', 3);
    const { hosts } = await ready(plan);
    assert.deepEqual(
      hosts.map((host) => host.reach === 'ssh' && host.own?.slot?.gpus),
      [[0, 2, 3]],
    );
    const { machines } = await new PoolRecords(store).read(POOL);
    assert.match(machines['box.1']?.lastProblem?.text ?? '', /4242 \(colleague\)/);
    assert.equal(machines['box.0']?.lastProblem, undefined);
    await gone(plan);
  });

  /** Of the slot's user, beside the server's own for its logins. */
  const processesOf = (slot: number): string =>
    execFileSync('bash', ['-c', `pgrep -a -u ${5000 + slot} -f '^sleep ${SECONDS}$' || true`], { encoding: 'utf8' });
});

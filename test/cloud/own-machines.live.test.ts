import assert from 'node:assert/strict';
import { linkSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { claimText, PoolRecords } from '../../cloud/machines/own/pool-record.js';
import { HostUnreachable, targetOf } from '../../cloud/hosts/port.js';
import { OwnMachinesOperator } from '../../cloud/machines/own/operator.js';
import type { OwnMachines } from '../../cloud/machines/own/own-machines.js';
import type { StorePort } from '../../cloud/store/port.js';
import { refIn } from '../../domain/machine-kinds/machines/index.js';
import type { MachinesPlan } from '../../domain/machine-kinds/machines/words.js';
import { makeKeyPair } from '../hosts/ssh-host.js';
import { never } from '../hosts/session.js';
import { until } from '../until.js';
import { fleetOf, lookAfter, type Rack, rackStore, startRack, visitsOf } from '../hosts/rack.js';
import { ownership } from './cloud-tpu-plan.js';
import { exerciseMachines, makeGone, makeReady, type MachinesUnderTest, observed } from './machines-conformance.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';

const POOL = 'lab';
/** Process numbers that are given until a claim's own, on a computer that does other things beside. */
const PIDS = 20_000;

/** That carry the mark of a run below this home. */
function processesBelow(home: string): number {
  const environments = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return environments.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`JOBCTL_RUN_DIR=${home}/`);
    } catch {
      return false;
    }
  }).length;
}

const planOf = (name: string, hosts = 2, owner = 'own-1'): MachinesPlan => ({
  ref: refIn(POOL, name),
  ownership: ownership({ owner }),
  machines: { hosts, labels: {} },
});

describe('machines of our own', () => {
  exerciseMachines('three hosts behind sshd', ['no accelerator'], async (): Promise<MachinesUnderTest<'machines'>> => {
    const [cloud, rack] = await Promise.all([startRehearsedCloud(), startRack(3)]);
    const port = lookAfter(rack, await rackStore(cloud.storeEndpoint, 'rack'));
    return {
      port,
      ...{ account: POOL, owner: 'own-1', hosts: 2, uid: /^[0-9a-f-]{36}$/, deadlineMs: 15_000 },
      plan: (name) => planOf(name),
      badPlan: (name) => ({
        ...planOf(name),
        machines: { hosts: 2, labels: {}, accelerator: { type: 'v99', perHost: 8 } },
      }),
      close: async () => {
        await port.close();
        await rack.stop();
        await cloud.stop();
      },
    };
  });

  describe('that several slices want', () => {
    let cloud: RehearsedCloud;
    let rack: Rack;
    let store: StorePort;
    let port: OwnMachines;
    let under: Pick<MachinesUnderTest, 'port' | 'deadlineMs'>;
    let pools = 0;
    before(async () => {
      cloud = await startRehearsedCloud();
    });
    after(() => cloud.stop());
    beforeEach(async () => {
      rack = await startRack(3);
      store = await rackStore(cloud.storeEndpoint, `rack-${pools++}`);
      port = lookAfter(rack, store);
      under = { port, deadlineMs: 15_000 };
    });
    afterEach(async () => {
      await port.close();
      await rack.stop();
    });

    const claimOn = (index: number): Promise<string> =>
      readFile(join(rack.hosts[index]?.home ?? '', '.jobctl/machine/claim'), 'utf8').then(
        (text) => text.split('\n')[0] ?? '',
        () => '',
      );

    const lateClaim = (uid: string, { ownership: whose, ref }: MachinesPlan) => {
      const [first] = rack.inventory;
      assert.ok(first);
      const visits = visitsOf(rack, store);
      return visits.visit(POOL, first, 5_000, (verbs) =>
        verbs.claim(uid, claimText({ uid, slice: ref.name, pool: POOL, ownership: whose }), whose.job),
      );
    };

    it('serve one slice each: of two that want two of three, one has them and the other is told why', async () => {
      const plans = [planOf('first'), planOf('second')];
      const answers = await Promise.all(plans.map((plan) => port.create(plan)));
      const kinds = answers.map(({ kind }) => kind).toSorted();
      assert.deepEqual(kinds, ['accepted', 'refused'], JSON.stringify(answers));
      const refused = answers.find((answer) => answer.kind === 'refused');
      assert.equal(refused?.scope, 'moment');
      assert.match(
        refused?.message ?? '',
        /2 machines without an accelerator cannot be had now: .*is held by slice (first|second)/,
      );
      for (const plan of plans) await makeGone(under, plan);
      assert.deepEqual(await Promise.all([0, 1, 2].map(claimOn)), ['', '', '']);
    });

    it('are not claimed twice by two workers that do not know of each other', async () => {
      const other = lookAfter(rack, await rackStore(cloud.storeEndpoint, `other-${pools}`));
      const mine = await makeReady(under, planOf('mine'));
      const answer = await other.create(planOf('theirs', 2, 'own-2'));
      assert.ok(answer.kind === 'refused' && answer.scope === 'moment', JSON.stringify(answer));
      assert.match(answer.message, /rack-0 is held by slice mine of job train-x1 \(pool lab, installation own-1\)/);
      assert.deepEqual(await observed(under, planOf('mine')), mine);
      const claims = await Promise.all([0, 1, 2].map(claimOn));
      assert.deepEqual(claims, [mine.uid, mine.uid, '']);
      await other.close();
    });

    it('that two pools name by mistake serve one of them at a time', async () => {
      const mine = await makeReady(under, planOf('mine', 3));
      const plan = planOf('theirs', 1);
      const answer = await port.create({ ...plan, ref: refIn('other', 'theirs') });
      assert.ok(answer.kind === 'refused' && answer.scope === 'moment', JSON.stringify(answer));
      assert.match(answer.message, /rack-0 is held by slice mine of job train-x1 \(pool lab, installation own-1\)/);
      const operator = new OwnMachinesOperator({
        records: new PoolRecords(store),
        visits: visitsOf(rack, store),
        owner: 'own-1',
      });
      await operator.check('other', rack.inventory);
      const [look] = await operator.look('other', rack.inventory);
      assert.equal(look?.seen.kind, 'foreign');
      assert.deepEqual(await observed(under, planOf('mine', 3)), mine);
      assert.deepEqual(await Promise.all([0, 1, 2].map(claimOn)), [mine.uid, mine.uid, mine.uid]);
      await makeGone(under, planOf('mine', 3));
    });

    it('that lost its power as it was claimed keeps that claim, whoever comes with the same process number', async () => {
      const mine = await makeReady(under, planOf('mine', 3));
      const folder = join(rack.hosts[0]?.home ?? '', '.jobctl/machine');
      // What is left between the link that makes a claim and the removal of its first name.
      const last = Number(readFileSync('/proc/loadavg', 'utf8').split(' ').at(-1));
      for (let number = last; number < last + PIDS; number++)
        linkSync(join(folder, 'claim'), join(folder, `new.${number}`));
      const answer = await lateClaim('another', { ...planOf('theirs', 1), ownership: ownership({ owner: 'own-2' }) });
      assert.ok(answer.kind === 'done' && answer.value.kind === 'taken', JSON.stringify(answer));
      assert.equal(await claimOn(0), mine.uid);
      const left = readdirSync(folder).filter((name) => name.startsWith('new.')).length;
      assert.equal(left, PIDS - 1, 'the number of its process is one of those');
    });

    it('that does not answer is passed over, and put aside when it happens twice', async () => {
      rack.ways[0]?.leave(true);
      for (const name of ['once', 'twice']) {
        await makeReady(under, planOf(name));
        await makeGone(under, planOf(name));
      }
      const { machines } = await new PoolRecords(store).read(POOL);
      assert.equal(machines['rack-0']?.failures, 2);
      assert.match(machines['rack-0']?.aside?.reason ?? '', /cannot be reached: .*127\.0\.0\.1/);
      const answer = await port.create(planOf('thrice', 3));
      assert.ok(answer.kind === 'refused');
      assert.match(answer.message, /rack-0 is put aside: cannot be reached/);
    });

    it('that refuses the key is passed over, and the message says which key and where it belongs', async () => {
      const stranger = { ...rack, key: makeKeyPair() };
      const other = lookAfter(stranger, store);
      const answer = await other.create(planOf('locked', 3));
      assert.ok(answer.kind === 'refused' && answer.scope === 'moment', JSON.stringify(answer));
      assert.match(
        answer.message,
        /rack-0 cannot be reached: .* refused the key SHA256:\S+ for user \w+; look whether ~\/\.ssh\/authorized_keys of \w+ on it has this key/,
      );
      await other.close();
    });

    it('whose own check fails is given back and passed over', async () => {
      rack.inventory = rack.inventory.map((machine, index) =>
        index === 1 ? { ...machine, check: 'echo fan 3 is broken; exit 4' } : machine,
      );
      const { hosts } = await makeReady(under, planOf('well'));
      assert.deepEqual(
        hosts.map((host) => host.reach === 'ssh' && host.own?.name),
        ['rack-0', 'rack-2'],
      );
      assert.equal(await claimOn(1), '');
      const { machines } = await new PoolRecords(store).read(POOL);
      assert.match(machines['rack-1']?.lastProblem?.text ?? '', /its check ended with code 4: fan 3 is broken/);
    });

    it('that says it has GPUs and has none is sick', async () => {
      rack.inventory = rack.inventory.map((machine) => ({ ...machine, accelerators: { h100: 8 } }));
      const plan = planOf('gpus', 1);
      const answer = await port.create({
        ...plan,
        machines: { hosts: 1, labels: {}, accelerator: { type: 'h100', perHost: 8 } },
      });
      assert.ok(answer.kind === 'refused' && answer.scope === 'moment', JSON.stringify(answer));
      assert.match(
        answer.message,
        /rack-0 it has 0 NVIDIA devices \(\/dev\/nvidia\[0-9\]\*\), and the pool file says 8/,
      );
    });

    it('that another installation has left behind is released by the name of its claim, with what runs there', async () => {
      const lost = planOf('lost', 1, 'own-lost');
      const { uid, hosts } = await makeReady(under, lost);
      const [host] = hosts;
      assert.ok(host);
      const target = targetOf(host, { ref: lost.ref, uid, slice: 0, user: 'nobody' });
      assert.ok(target.reach === 'ssh');
      const connection = await fleetOf(rack, store).connect(target, { privateKey: rack.key.private }, never);
      await connection.startRun({ runId: 'lost-a1', epoch: 1, script: 'sleep 1000', env: {} });
      const next = await rackStore(cloud.storeEndpoint, `rack-${pools++}`);
      const operator = new OwnMachinesOperator({
        ...{ records: new PoolRecords(next), visits: visitsOf(rack, next), owner: 'own-1' },
      });
      const [machine] = rack.inventory;
      assert.ok(machine);
      const [look] = await operator.look(POOL, [machine]);
      assert.ok(look?.seen.kind === 'foreign');
      assert.match(look.seen.message, new RegExp(`machines release NAME --claim ${uid}$`));
      assert.match((await operator.release(POOL, machine, 'another')) ?? '', /^is held by slice lost of job /);
      assert.equal(await claimOn(0), uid);
      assert.ok(processesBelow(rack.hosts[0]?.home ?? '') > 0);
      assert.equal(await operator.release(POOL, machine, uid), undefined);
      assert.deepEqual([await claimOn(0), processesBelow(rack.hosts[0]?.home ?? '')], ['', 0]);
      assert.equal(await operator.release(POOL, machine, uid), 'has no claim');
    });

    it('that a job of this pool has is not released', async () => {
      const { uid } = await makeReady(under, planOf('mine', 1));
      const operator = new OwnMachinesOperator({
        ...{ records: new PoolRecords(store), visits: visitsOf(rack, store), owner: 'own-1' },
      });
      const [machine] = rack.inventory;
      assert.match((await operator.release(POOL, machine!, uid)) ?? '', /^is held by slice mine .*jobctl cancel/);
      assert.equal(await claimOn(0), uid);
      await makeGone(under, planOf('mine', 1));
    });

    it('run nothing more of a slice that was given back, whoever still sends it, and nothing of it is left', async () => {
      const plan = planOf('fenced', 1);
      const { hosts, uid } = await makeReady(under, plan);
      const [host] = hosts;
      assert.ok(host);
      const target = targetOf(host, { ref: plan.ref, uid, slice: 0, user: 'nobody' });
      assert.ok(target.reach === 'ssh');
      const connection = await fleetOf(rack, store).connect(target, { privateKey: rack.key.private }, never);
      const said: string[] = [];
      const exec = (command: string) =>
        connection.exec(command, {
          onStdout: (chunk) => void said.push(chunk.toString()),
          onStderr: () => undefined,
          signal: never,
        });
      assert.deepEqual(await exec('echo begun; exit 97'), { code: 97 });
      const run = { runId: 'fenced-a1', epoch: 1, script: 'trap "" TERM; sleep 1000 & wait', env: {} };
      await connection.startRun({ ...run, accelerator: { devices: [], lockFiles: [], waitMs: 0 } });
      await until('the command runs', async () => (await connection.runStatus('fenced-a1')).kind === 'running');
      await makeGone(under, plan);
      await assert.rejects(exec('echo too late'), /is not held by its slice any more: claim .* was given back/);
      await assert.rejects(connection.startRun({ ...run, runId: 'fenced-a2', epoch: 2 }), HostUnreachable);
      assert.equal(said.join(''), 'begun\n');
      assert.equal(processesBelow(rack.hosts[0]?.home ?? ''), 0);
      await makeReady(under, planOf('next', 1));
      await assert.rejects(exec('echo into the next slice'), HostUnreachable);
      await makeGone(under, planOf('next', 1));
      connection.close();
    });

    it('that falls silent keeps its slice from being gone until it answers, and a claim of it that comes late is refused', async () => {
      const plan = planOf('held');
      const seen = await makeReady(under, plan);
      rack.ways[1]?.leave(true);
      assert.deepEqual(await observed(under, plan), seen);
      const { owner, job, run } = plan.ownership;
      const answer = await port.remove(plan.ref, { owner, job, run });
      assert.ok(answer.kind === 'unanswered', JSON.stringify(answer));
      assert.match(
        answer.message,
        /machine rack-1 does not answer, so what runs on it may go on: .*jobctl machines forget rack-1 --pool lab/,
      );
      assert.equal((await observed(under, plan)).kind, 'lost');
      assert.equal(await claimOn(0), '');
      assert.equal(await claimOn(1), seen.uid);
      rack.ways[1]?.leave(false);
      await makeGone(under, plan);
      assert.equal(await claimOn(1), '');
      const late = await lateClaim(seen.uid, plan);
      assert.deepEqual(late, { kind: 'done', value: { kind: 'ended' } });
    });
  });
});

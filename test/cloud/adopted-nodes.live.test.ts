import assert from 'node:assert/strict';
import type { AdoptedHosts } from '../../cloud/machines/cloud-tpu/adopted-nodes.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { HostUnreachable, type SshTarget, targetOf } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { CloudTpuPlan, CloudTpuRef } from '../../domain/machine-kinds/cloud-tpu/words.js';
import type { CreateAnswer, ReadyCondition, SliceHost } from '../../domain/slice.js';
import { sayWord } from '../../cli/jobs/submitting/owners-word.js';
import type { JobView } from '../../contract/job.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { makeKeyPair } from '../hosts/ssh-host.js';
import { NOTICE } from '../hosts/run.js';
import { until } from '../until.js';
import { GOOGLE_PROJECT, ownership, slicePlan, ZONE } from './cloud-tpu-plan.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';

const PARENT = `projects/${GOOGLE_PROJECT}/locations/${ZONE}`;
const OWNERS_KEY = `ann:${makeKeyPair().public}`;
const OWN = { labels: { team: 'vision' }, metadata: { 'ssh-keys': OWNERS_KEY, note: 'mine' } };
const never = new AbortController().signal;

interface Node {
  readonly state: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

describe('a TPU VM that somebody made by hand', function () {
  this.timeout(120_000);
  let cloud: RehearsedCloud;
  let port: ReturnType<RehearsedCloud['tpuPort']>;
  let fleet: ReturnType<typeof createSshHosts>;
  const keys = new Map(['train-x1', 'other-x2'].map((job) => [job, makeKeyPair()] as const));
  const hosts = (): AdoptedHosts => ({
    fleet,
    keyOf: ({ id }, publicKey) => {
      const key = keys.get(id);
      return key?.public === publicKey ? { privateKey: key.private } : undefined;
    },
  });

  before(async () => {
    cloud = await startRehearsedCloud();
    fleet = createSshHosts({ port: 2222, hostKeys: memoryHostKeyPins() });
    port = cloud.tpuPort({ adoptedHosts: hosts });
  });
  after(async () => {
    fleet.release();
    await cloud.stop();
  });

  const rest = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${cloud.restEndpoint}/v2/${path}`, { method, headers, ...content });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as T;
  };
  const read = (node: string): Promise<Node> => rest('GET', `${PARENT}/nodes/${node}`);

  async function makeByHand(node: string, over: object = {}): Promise<void> {
    await rest('POST', `${PARENT}/nodes?nodeId=${node}`, {
      acceleratorType: 'v5litepod-16',
      runtimeVersion: 'v2-alpha-tpuv5-lite',
      schedulingConfig: { spot: true },
      ...OWN,
      ...over,
    });
    await until(`${node} is READY`, async () => ((await read(node)).state === 'READY' ? true : undefined));
  }

  /** As its owner's gcloud does. */
  async function say(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const all = { ...(await read(node)).labels, ...labels };
    await rest('PATCH', `${PARENT}/nodes/${node}?updateMask=labels`, { labels: all });
  }

  function planFor(node: string, job = 'train-x1', generation = 1): CloudTpuPlan {
    const ref: CloudTpuRef = {
      ...{ kind: 'cloud-tpu', googleProject: GOOGLE_PROJECT, zone: ZONE, mode: 'tpu-vm' },
      ...{ name: `jc-${job}-${node}-g${generation}`, adopts: node },
    };
    const metadata = { 'ssh-keys': `jobctl:${keys.get(job)?.public}` };
    return slicePlan(ref.name, 'tpu-vm', {
      ref,
      metadata,
      ownership: ownership({ job, run: `run-of-${job}`, generation }),
    });
  }

  /** As the slice workflow calls it. */
  const taken = (plan: CloudTpuPlan, by = port): Promise<CreateAnswer> =>
    until(`${plan.ref.adopts} is adopted`, async () => {
      const answer = await by.create(plan);
      return answer.kind === 'not-yet' && answer.isUntouched !== true ? undefined : answer;
    });

  async function readyOf(plan: CloudTpuPlan): Promise<ReadyCondition> {
    const seen = await port.observe(plan);
    assert.ok(seen.kind === 'ready', JSON.stringify(seen));
    return seen;
  }

  const targetIn = (plan: CloudTpuPlan, uid: string, host: SliceHost): SshTarget =>
    targetOf(host, { ref: plan.ref, uid, slice: 0, user: 'jobctl' }) as SshTarget;

  const keyOf = (job: string) => ({ privateKey: keys.get(job)?.private ?? '' });

  async function givenBack({ ref, ownership: { owner, job, run } }: CloudTpuPlan): Promise<void> {
    await until(`${ref.adopts} is given back`, async () =>
      (await port.remove(ref, { owner, job, run })).kind === 'gone' ? true : undefined,
    );
  }

  const deletions = async (): Promise<number> =>
    (await cloud.journal()).filter(({ kind, details }) => /delete/i.test(`${kind} ${JSON.stringify(details)}`)).length;

  it('is adopted by the job that its owner names, runs its commands, and is given back as it was', async () => {
    await makeByHand('hand-1');
    const plan = planFor('hand-1');
    const asked = await port.create(plan);
    assert.ok(asked.kind === 'not-yet' && asked.isUntouched, JSON.stringify(asked));
    assert.match(asked.message, /tpu-vm update hand-1 .*--update-labels=jobctl-adopt=run-of-train-x1$/);
    assert.deepEqual((await read('hand-1')).labels, OWN.labels);

    await say('hand-1', { 'jobctl-adopt': 'run-of-train-x1' });
    assert.deepEqual(await taken(plan), { kind: 'accepted' });
    const { uid, hosts: found } = await readyOf(plan);
    assert.equal(found.length, 4);
    const marked = await read('hand-1');
    assert.equal(marked.labels?.['jobctl-owner'], undefined, 'what deletes by the owner label must not see it');
    assert.equal(marked.labels?.['jobctl-adopt'], undefined);
    assert.equal(marked.metadata?.['note'], 'mine');

    const target = targetIn(plan, uid, found[0]!);
    const connection = await fleet.connect(target, keyOf('train-x1'), never);
    await connection.startRun({ runId: 'train-x1-a1', epoch: 1, env: {}, script: 'echo here; exec sleep 300' });
    const deletedBefore = await deletions();
    await givenBack(plan);
    assert.deepEqual((await read('hand-1')).labels, OWN.labels);
    assert.deepEqual((await read('hand-1')).metadata, OWN.metadata);
    assert.equal((await read('hand-1')).state, 'READY');
    assert.equal(await deletions(), deletedBefore);
    // The connection of a worker that was cut off stays, and what it sends has no effect.
    await assert.rejects(connection.stopRun('train-x1-a1', 100, NOTICE), HostUnreachable);
    connection.close();
    assert.deepEqual(await port.observe(plan), { kind: 'missing' });
    assert.deepEqual(await port.listOwned(GOOGLE_PROJECT, 'own-1'), []);
  });

  it('is given by its owner’s own login, from the command line', async () => {
    await makeByHand('hand-10');
    const plan = planFor('hand-10');
    const spec = { tpu: { adopt: { node: 'hand-10', zone: ZONE } } } as unknown as JobSpec;
    const client = { describe: async () => ({ run: plan.ownership.run }) as JobView };
    const context = { tpuRestEndpoint: cloud.restEndpoint, googleProject: GOOGLE_PROJECT };
    await sayWord({ client, context, isDeleted: true }, { id: 'train-x1', spec, isNew: true });
    const word = { 'jobctl-adopt': 'run-of-train-x1', 'jobctl-adopt-delete': 'run-of-train-x1' };
    assert.deepEqual((await read('hand-10')).labels, { ...OWN.labels, ...word });
  });

  it('is adopted by one of two jobs that ask at once', async () => {
    await makeByHand('hand-2');
    await say('hand-2', { 'jobctl-adopt': 'run-of-other-x2' });
    const plans = ['train-x1', 'other-x2'].map((job) => planFor('hand-2', job));
    const second = cloud.tpuPort({ adoptedHosts: hosts });
    const answers = await Promise.all([taken(plans[0]!), taken(plans[1]!, second)]);
    assert.equal(answers[1].kind, 'accepted');
    assert.ok(answers[0].kind === 'not-yet' && answers[0].isUntouched, JSON.stringify(answers[0]));
    // Its owner cannot change their mind while the other has it.
    await say('hand-2', { 'jobctl-adopt': 'run-of-train-x1' });
    assert.match(JSON.stringify(await port.create(plans[0]!)), /refused.*was adopted by job other-x2/);
    // The one that lost has nothing of the node, and its end takes nothing from the other.
    await givenBack(plans[0]!);
    await readyOf(plans[1]!);
    await givenBack(plans[1]!);
    // The word for the next job stays.
    assert.deepEqual((await read('hand-2')).labels, { ...OWN.labels, 'jobctl-adopt': 'run-of-train-x1' });
  });

  it('is found again by another worker after one that died between its marks and its claims', async () => {
    await makeByHand('hand-3');
    await say('hand-3', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-3');
    assert.equal((await port.create(plan)).kind, 'not-yet');
    assert.deepEqual(await port.observe(plan), { kind: 'missing', isRequestLeft: true });
    // A janitor sees it as well, by the name of the slice's workflow.
    const [owned] = await port.listOwned(GOOGLE_PROJECT, 'own-1');
    assert.deepEqual(owned, { ref: plan.ref, ownership: plan.ownership });
    const another = cloud.tpuPort({ adoptedHosts: hosts });
    assert.deepEqual(await taken(plan, another), { kind: 'accepted' });
    assert.deepEqual(await another.create(plan), { kind: 'accepted' });
    // What a janitor deletes by is the listing's own ref.
    const [again] = await port.listOwned(GOOGLE_PROJECT, 'own-1');
    await givenBack({ ...plan, ref: again!.ref });
    assert.deepEqual((await read('hand-3')).metadata, OWN.metadata);
    assert.equal((await read('hand-3')).state, 'READY');
  });

  it('is refused to a job while another claim is on a host, and then it has nothing of the job', async () => {
    await makeByHand('hand-4');
    await say('hand-4', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-4');
    assert.equal((await port.create(plan)).kind, 'not-yet');
    const node = await read('hand-4');
    assert.match(node.metadata?.['ssh-keys'] ?? '', /^ann:.*\njobctl:/);
    assert.equal((await port.create(plan)).kind, 'accepted');
    const { uid, hosts: found } = await readyOf(plan);
    const { claim: _, ...free } = targetIn(plan, uid, found[1]!);
    const connection = await fleet.connect(free, keyOf('train-x1'), never);
    await connection.machine.vacate(found[1]!.reach === 'ssh' ? (found[1]!.claim ?? '') : '', 0);
    assert.equal((await connection.machine.claim('rack-7', 'rack-7\nslice jc-rack-g1\n', 'rack')).kind, 'claimed');
    await givenBack(plan);
    const refusedPlan = planFor('hand-4', 'train-x1', 2);
    await say('hand-4', { 'jobctl-adopt': 'run-of-train-x1' });
    const answer = await taken(refusedPlan);
    assert.ok(answer.kind === 'refused' && answer.scope === 'request', JSON.stringify(answer));
    assert.match(answer.message, /cannot be used as it is: host 1 is claimed by rack-7/);
    await givenBack(refusedPlan);
    assert.deepEqual((await read('hand-4')).labels, OWN.labels);
    connection.close();
  });

  it('is left by the processes of a job whose labels a person has removed', async () => {
    await makeByHand('hand-8');
    await say('hand-8', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-8');
    assert.equal((await taken(plan)).kind, 'accepted');
    const { uid, hosts: found } = await readyOf(plan);
    const connection = await fleet.connect(targetIn(plan, uid, found[2]!), keyOf('train-x1'), never);
    await connection.startRun({ runId: 'train-x1-a1', epoch: 1, env: {}, script: 'exec sleep 300' });
    await rest('PATCH', `${PARENT}/nodes/hand-8?updateMask=labels`, { labels: OWN.labels });
    assert.deepEqual(await port.observe(plan), { kind: 'missing' });
    await givenBack(plan);
    assert.deepEqual((await read('hand-8')).metadata, OWN.metadata);
    await assert.rejects(connection.runStatus('train-x1-a1'), HostUnreachable);
    connection.close();
  });

  it('is unmarked if its hosts let nobody in for ten minutes', async () => {
    await makeByHand('hand-9');
    await say('hand-9', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-9');
    const walled = createSshHosts({ port: 9, hostKeys: memoryHostKeyPins() });
    const outside = cloud.tpuPort({ adoptedHosts: () => ({ ...hosts(), fleet: walled }) });
    assert.equal((await outside.create(plan)).kind, 'not-yet');
    const waits = await outside.create(plan);
    assert.ok(waits.kind === 'not-yet' && waits.isUntouched === undefined, JSON.stringify(waits));
    assert.match(waits.message, /does not let jobctl in yet: host 0: /);
    const { owner, job, run } = plan.ownership;
    assert.equal((await outside.remove(plan.ref, { owner, job, run })).kind, 'unanswered');
    await say('hand-9', { 'jobctl-adopted': `taking-${Math.floor(Date.now() / 1000) - 601}` });
    const refused = await outside.create(plan);
    assert.ok(refused.kind === 'refused' && refused.scope === 'request', JSON.stringify(refused));
    assert.match(refused.message, /^jobctl cannot enter node hand-9: host 0: /);
    await until('it is unmarked', async () =>
      (await outside.remove(plan.ref, { owner, job, run })).kind === 'gone' ? true : undefined,
    );
    assert.deepEqual((await read('hand-9')).labels, OWN.labels);
    assert.deepEqual((await read('hand-9')).metadata, OWN.metadata);
    walled.release();
  });

  it('is its owner’s business when Google has taken it', async () => {
    await makeByHand('hand-5');
    await say('hand-5', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-5');
    assert.equal((await taken(plan)).kind, 'accepted');
    await cloud.admin('preempt', { name: 'hand-5' });
    const lost = await until('it is lost', async () => {
      const seen = await port.observe(plan);
      return seen.kind === 'lost' ? seen : undefined;
    });
    assert.equal(lost.cause, 'preempted');
    await givenBack(plan);
    assert.deepEqual(await port.listOwned(GOOGLE_PROJECT, 'own-1'), []);
    assert.equal((await read('hand-5')).state, 'PREEMPTED');
  });

  it('is deleted at the end by its owner’s word alone', async () => {
    await makeByHand('hand-6');
    await say('hand-6', { 'jobctl-adopt': 'run-of-train-x1', 'jobctl-adopt-delete': 'run-of-train-x1' });
    const plan = planFor('hand-6');
    assert.equal((await taken(plan)).kind, 'accepted');
    await givenBack(plan);
    assert.equal((await fetch(`${cloud.restEndpoint}/v2/${PARENT}/nodes/hand-6`)).status, 404);
    assert.deepEqual(await port.observe(plan), { kind: 'missing' });
  });

  it('never goes with a deletion of its name, or of a request whose node it is', async () => {
    await rest('POST', `${PARENT}/queuedResources?queuedResourceId=hand-7`, {
      spot: {},
      tpu: {
        nodeSpec: [
          {
            ...{ parent: PARENT, nodeId: 'hand-7' },
            node: { acceleratorType: 'v5litepod-16', runtimeVersion: 'v2-alpha-tpuv5-lite', ...OWN },
          },
        ],
      },
    });
    await until('hand-7 is there', async () => {
      const response = await fetch(`${cloud.restEndpoint}/v2/${PARENT}/nodes/hand-7`);
      return response.ok && ((await response.json()) as Node).state === 'READY' ? true : undefined;
    });
    await say('hand-7', { 'jobctl-adopt': 'run-of-train-x1' });
    const plan = planFor('hand-7');
    const answer = await taken(plan);
    assert.equal(answer.kind, 'accepted', JSON.stringify(answer));
    const { owner, job, run } = plan.ownership;
    for (const mode of ['tpu-vm', 'queued-resources'] as const) {
      const made: CloudTpuRef = { kind: 'cloud-tpu', googleProject: GOOGLE_PROJECT, zone: ZONE, name: 'hand-7', mode };
      assert.equal((await port.remove(made, { owner, job, run })).kind, 'refused');
    }
    await readyOf(plan);
    await givenBack(plan);
    assert.equal((await read('hand-7')).state, 'READY');
  });
});

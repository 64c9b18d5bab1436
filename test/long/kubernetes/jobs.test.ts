import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome } from '../../../domain/job-state.js';
import type { JobctlUser } from '../../end-to-end/jobctl-process.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { until } from '../../until.js';
import { killPart } from './kill-part.js';
import { debianImage } from './pod-images.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';
import type { RealCluster } from './real-cluster.js';

/** Of its outage, at most. */
const KUBELET_MS = 55_000;

/** Ends when the test says so, by a file in the pod. */
const AWAIT_GO = 'until [ -e ~/go ]; do sleep 0.2; done';
/** Tells why it ends. */
const SAVES = `trap 'echo "saved for $(cat "$JOBCTL_NOTICE_FILE")"; exit 0' TERM; echo "began after \${JOBCTL_PREVIOUS_ATTEMPT_END:-nothing}"; [ -e ~/go ] && exit 0; while :; do sleep 1 & wait $!; [ ! -e ~/go ] || exit 0; done`;
/** The first host prints what the three others have sent it. */
const LISTEN = `perl -MIO::Socket::INET -e '$|=1; my $l=IO::Socket::INET->new(LocalPort=>$ENV{MASTER_PORT},Listen=>8,ReuseAddr=>1) or die "$!"; my @heard; while (@heard<3) { my $c=$l->accept; push @heard, scalar <$c> } print sort @heard'`;
const GREET = `until (echo "$RANK of $WORLD_SIZE" > "/dev/tcp/$MASTER_ADDR/$MASTER_PORT") 2> /dev/null; do sleep 0.2; done`;
const LINES = 20_000;

describe('jobs on a real Kubernetes', function () {
  this.timeout(2 * STEP_MS);
  let pods: PodJobs;
  let real: RealCluster;
  let image: string;
  let stack: TestStack;
  let user: JobctlUser;
  before(async function () {
    this.timeout(POD_JOBS_START_MS);
    pods = await PodJobs.start('jobs');
    ({ real, stack, user } = pods);
    image = await debianImage(real.cluster);
  });
  after(() => pods?.stop());

  const fileOf = (run: string, section: object = {}, more: object = {}): object => ({
    name: 'pods',
    kubernetes: { namespace: real.namespace, image, ...section },
    pool: 'kube',
    grace: 20,
    command: { run },
    ...more,
  });
  const submit = async (run: string, section: object = {}, more: object = {}): Promise<string> =>
    (await stack.jobs.submit({ job: fileOf(run, section, more) })).id;
  const log = (id: string, attempt?: number, host?: number): Promise<string> => pods.log(id, attempt, host);
  const prints = (id: string, text: string, attempt = 1): Promise<boolean> =>
    pods.told(`attempt ${attempt} of ${id} prints ${text}`, id, async () => (await log(id, attempt)).includes(text));
  const podOf = async (id: string): Promise<string> =>
    (await pods.podsOf(id))[0]?.pod ?? assert.fail(`${id} has no pod`);
  const go = async (id: string): Promise<unknown> =>
    real.kubectl('exec', await podOf(id), '--', 'bash', '-c', 'touch ~/go');
  const endsAs = async (id: string, wanted: Partial<Outcome>): Promise<Outcome> => {
    const outcome = await stack.jobs.wait(id);
    const keys = Object.keys(wanted) as (keyof Outcome)[];
    const got = Object.fromEntries(keys.map((key) => [key, outcome[key]]));
    assert.deepEqual(got, wanted, `${JSON.stringify(outcome)}\n${stack.tail()}`);
    return outcome;
  };
  afterEach('nothing is left in the namespace', () => pods.untilNothingIsLeft());

  it('a job of one pod succeeds; `jobctl logs` and `kubectl logs` show its output', async () => {
    const id = await submit(`echo "hello from $(hostname)"; ${AWAIT_GO}`);
    await prints(id, 'hello from');
    const pod = await podOf(id);
    await pods.told('kubectl logs shows it', id, async () => real.kubectl('logs', pod).includes('hello from'));
    await go(id);
    await endsAs(id, { result: 'succeeded', exitCode: 0, attempts: 1 });
    const { stdout, stderr } = await user.run('logs', id);
    assert.match(stdout, new RegExp(`hello from ${pod.replace(/-[^-]*$/, '')}\n`), stderr);
  });

  it('4 workers reach the first one by TCP, each with its own rank', async () => {
    const id = await submit(`if [ "$RANK" = 0 ]; then ${LISTEN}; else ${GREET}; fi`, { workers: 4 });
    await endsAs(id, { result: 'succeeded', exitCode: 0, attempts: 1 });
    assert.equal(await log(id), '1 of 4\n2 of 4\n3 of 4\n');
  });

  it('the exit code 7 of one is the job’s, and the others’ logs are whole', async () => {
    const others = `seq ${LINES}; ${GREET}; trap 'echo told; exit 0' TERM; while :; do sleep 1 & wait $!; done`;
    const id = await submit(`if [ "$RANK" = 0 ]; then ${LISTEN}; exit 7; else ${others}; fi`, { workers: 4 });
    const { cause } = await endsAs(id, { result: 'failed', exitCode: 7, attempts: 1 });
    assert.equal(cause?.host, 0, JSON.stringify(cause));
    const all = Array.from({ length: LINES }, (_, at) => `${at + 1}\n`).join('');
    for (const host of [1, 2, 3]) {
      const text = await log(id, 1, host);
      assert.ok(text.startsWith(all), `host ${host}: ${text.length} bytes, ends with ${text.slice(-80)}`);
      assert.match(text.slice(all.length), /^(Terminated\n)?told\n$/);
    }
  });

  it('cancel ends the command with its notice', async () => {
    const id = await submit(SAVES);
    await prints(id, 'began after nothing');
    await stack.jobs.cancel(id);
    await endsAs(id, { result: 'cancelled' });
    assert.match(await log(id), /saved for \{"v":1,"cause":"cancel/);
  });

  it('stop keeps the pods, and resume starts on them again', async () => {
    const id = await submit(SAVES, { workers: 2 });
    await prints(id, 'began after nothing');
    const before = await pods.podsOf(id);
    await stack.jobs.stop(id, 'alice');
    await pods.inPhase(id, 'paused');
    assert.match(await log(id), /saved for \{"v":1,"cause":"stop","reason":"alice stopped it"/);
    await stack.jobs.resume(id, 'alice', { set: [{ path: ['command', 'run'], value: 'echo again' }] });
    await pods.told('it begins again', id, async () => (await log(id, 2)).includes('again'));
    await endsAs(id, { result: 'succeeded', attempts: 2, preemptions: 0 });
    assert.equal(before.length, 2);
    const slices = await stack.jobs.describe(id);
    assert.deepEqual([slices.slices[0]?.generation], [1], 'on the same pods');
  });

  it('exec and cp reach the pods by the user’s kubeconfig', async () => {
    const id = await submit(AWAIT_GO);
    await pods.inPhase(id, 'running');
    const pod = await podOf(id);
    const said = await user.run('exec', id, '--host', '0', '--', 'hostname; exit 3');
    assert.deepEqual([said.code, pod.startsWith(said.stdout.trim())], [3, true], said.stderr);
    const folder = mkdtempSync(join(tmpdir(), 'kube-cp-'));
    try {
      writeFileSync(join(folder, 'there.txt'), 'there and back\n');
      const there = await user.run('cp', join(folder, 'there.txt'), `${id}:work/`);
      assert.equal(there.code, 0, there.stderr);
      const back = await user.run('cp', `${id}:0:work/there.txt`, join(folder, 'back.txt'));
      assert.equal(back.code, 0, back.stderr);
      assert.equal(readFileSync(join(folder, 'back.txt'), 'utf8'), 'there and back\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
    await go(id);
    await endsAs(id, { result: 'succeeded' });
  });

  it('a pod that is evicted is the provider’s preemption: told, and then a new attempt on new pods', async () => {
    const id = await submit(SAVES);
    await prints(id, 'began after nothing');
    const name = await podOf(id);
    await pods.evict(name);
    await prints(id, 'began after slices-lost', 2);
    assert.match(await log(id), /saved for \{"v":1,"cause":"preemption"/);
    assert.notEqual(await podOf(id), name);
    await go(id);
    await endsAs(id, { result: 'succeeded', attempts: 2, preemptions: 1 });
  });

  it('a command that is killed for memory fails, and the outcome says so', async () => {
    const hungry = 'head -c 300M /dev/zero | tail -c 250M | wc -c; exit "${PIPESTATUS[1]}"';
    const { cause } = await endsAs(await submit(hungry, { memory: '96Mi' }), { result: 'failed', exitCode: 137 });
    assert.match(cause?.message ?? '', /the kernel killed .* for want of memory/);
  });

  it('a secret of the namespace is a folder in the pod', async () => {
    real.kubectl('create', 'secret', 'generic', 'token', '--from-literal=key=four words of one');
    try {
      const look = 'stat -L -c %a /secrets/key; wc -w < /secrets/key';
      const id = await submit(look, { secrets: [{ name: 'token', mount_path: '/secrets' }] });
      await endsAs(id, { result: 'succeeded' });
      assert.equal(await log(id), '400\n4\n');
    } finally {
      real.kubectl('delete', 'secret', 'token');
    }
  });

  it('a bundle is where the command starts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-bundle-'));
    try {
      writeFileSync(join(folder, 'train.sh'), 'echo "trained in $PWD"\n');
      writeFileSync(join(folder, 'job.json'), JSON.stringify(fileOf('bash train.sh', {}, { bundle: folder })));
      const { code, stderr } = await user.run('submit', '--wait', '--name', 'bundled', join(folder, 'job.json'));
      assert.equal(code, 0, stderr);
      assert.match(await log('bundled'), /^trained in \/root\/.+\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('an API server that is killed costs nothing', async () => {
    const id = await submit(`echo before; ${AWAIT_GO}; echo after`);
    await prints(id, 'before');
    const start = killPart('kube-apiserver');
    const heard = (): Promise<boolean> =>
      real.cluster.core.listNode().then(
        () => true,
        () => false,
      );
    try {
      await until('nobody answers', async () => !(await heard()), STEP_MS);
    } finally {
      start();
    }
    await until('it answers', heard, STEP_MS);
    await go(id);
    await endsAs(id, { result: 'succeeded', exitCode: 0, attempts: 1, preemptions: 0 });
    assert.equal(await log(id), 'before\nafter\n');
  });

  it('a kubelet that is killed is a host that does not answer: kept, shown, and its command goes on', async () => {
    const ticks = 'n=0; until [ -e ~/go ]; do echo "$((n += 1)) $(date +%s%3N)"; sleep 0.2; done; echo after';
    const id = await submit(ticks);
    await prints(id, '\n');
    const pod = await podOf(id);
    const container = ['get', 'pod', pod, '-o', 'jsonpath={.status.containerStatuses[0].containerID}'] as const;
    const before = real.kubectl(...container);
    const row = async (): Promise<string> => JSON.stringify(await stack.jobs.row(id));
    const killed = Date.now();
    const start = killPart('kubelet');
    let started = 0;
    try {
      // The node has other users: not much longer than the 50 s after which the cluster calls it Unknown.
      const isTold = async (): Promise<boolean> =>
        /host 0 has not answered since .*; a slice is kept/.test(await row());
      await until('the job says it', isTold, KUBELET_MS);
    } finally {
      start();
      started = Date.now();
    }
    assert.equal((await stack.jobs.row(id)).phase, 'running');
    await pods.told('it answers', id, async () => !/not answered/.test(await row()));
    assert.equal(real.kubectl(...container), before, 'in the same container');
    await go(id);
    await endsAs(id, { result: 'succeeded', exitCode: 0, attempts: 1, preemptions: 0 });
    const lines = (await log(id)).trimEnd().split('\n');
    assert.equal(lines.pop(), 'after');
    assert.deepEqual(
      lines.map((line) => Number(line.split(' ')[0])),
      lines.map((_, index) => index + 1),
    );
    const meanwhile = lines.filter(
      (line) => Number(line.split(' ')[1]) > killed && Number(line.split(' ')[1]) < started,
    );
    assert.ok(meanwhile.length > 10, `${meanwhile.length} lines in ${started - killed} ms without a kubelet`);
  });
});

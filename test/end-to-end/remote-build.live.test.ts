import assert from 'node:assert/strict';
import { Gate } from '../building/gate.js';
import { GitServer, type GitTree } from '../building/git-server.js';
import { openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import { JobPhase } from '../../domain/job-state.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import { TestStack } from './test-stack.js';

const namespace = 'default';

describe('images that a cluster builds for jobs', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let server: GitServer;
  let gate: Gate;
  let count = 0;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    needsConfinement(this);
    stack = await TestStack.start({ kubernetes: true, timings: { jobHistoryEvents: 40 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    server = await GitServer.start();
  });
  beforeEach(async () => (gate = await Gate.make()));
  afterEach(() => gate.close());
  after(async () => {
    await server?.stop();
    await stack?.stop();
  });

  const cluster = () => openCluster(library, { kubeconfig: stack.rehearsal.endpoints.kubeconfig ?? '' });
  const tree = (...lines: string[]): GitTree =>
    server.repository({ Dockerfile: ['FROM scratch', ...lines, ''].join('\n') });
  /** Prints, waits for the gate, prints again. */
  const gated = (): GitTree => tree('RUN seq 1 2000', `RUN ${gate.line}`, 'RUN seq 2001 4000');
  const jobOf = ({ url, head }: GitTree): object => ({
    kubernetes: { workers: 1 },
    build: { image: 'registry:5000/train', repository: url, commit: head },
    command: { run: 'echo ran' },
  });
  async function submitted(of: GitTree): Promise<string> {
    return (await stack.jobs.submit({ job: jobOf(of), name: `remote-${(count += 1)}` })).id;
  }
  /** What the pods of a job's first slice were made of. */
  async function imagesOfPods(id: string): Promise<readonly string[]> {
    const { events } = await stack.client.workflow.getHandle(`slice/jc-${id}-g1`).fetchHistory();
    const [input] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const images = Buffer.from(input?.data ?? [])
      .toString()
      .match(/registry:5000\/train[^"]*/g);
    return images ?? assert.fail(`slice of ${id} has no image`);
  }
  const printed = (id: string, host = 0): Promise<string> => storedLog(stack.store, { id, stream: 'build', host });
  async function builds(): Promise<readonly string[]> {
    const { items } = await cluster().batch.listNamespacedJob({ namespace });
    return items.flatMap(({ metadata }) => (metadata?.name?.startsWith('jobctl-build-') ? [metadata.name] : []));
  }
  async function podOf(build: string): Promise<string | undefined> {
    const labelSelector = `batch.kubernetes.io/job-name=${build}`;
    const { items } = await cluster().core.listNamespacedPod({ namespace, labelSelector });
    return items.find(({ status }) => status?.phase === 'Running')?.metadata?.name;
  }
  /** The build of the one job that waits, once it prints. */
  async function runningPod(id: string): Promise<string> {
    await until('it prints', async () => (await printed(id)).includes('\n2000\n'), 60_000);
    const [build = ''] = await builds();
    return until('its pod runs', () => podOf(build));
  }
  const nothingLeft = (): Promise<unknown> =>
    until('no build is left', async () => (await builds()).length === 0, 60_000);
  /** How often activities of this type were begun for the build that a job's story names. */
  async function tries(id: string, type: string): Promise<number> {
    const story = (await stack.jobs.describe(id).catch(() => undefined))?.events ?? [];
    const build = /build\/[0-9a-f]{40}/.exec(story.map(({ text }) => text).join('\n'))?.[0] ?? assert.fail('no build');
    const { events } = await stack.client.workflow.getHandle(build).fetchHistory();
    return (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type)
      .length;
  }
  /** What the lines RUN of `gated` print, each line once. */
  const numbersIn = (log: string): readonly number[] =>
    log.split('\n').flatMap((line) => (/^\d+$/.test(line) ? [Number(line)] : []));
  const ALL = Array.from({ length: 4000 }, (_, at) => at + 1);

  it('jobs that need the same share one build, each has its log, and pods run its digest; a later job takes it as it is', async () => {
    const of = gated();
    const first = await submitted(of);
    await runningPod(first);
    const second = await submitted(of);
    await until('the second has the log from its beginning', async () => (await printed(second)).includes('\n2000\n'));
    for (const id of [first, second]) {
      const { phase, why } = await stack.jobs.row(id);
      assert.equal(phase, JobPhase.Queued);
      assert.match(why ?? '', /^building image registry:5000\/train of commit [0-9a-f]{12} in namespace default/);
    }
    assert.equal((await builds()).length, 1);
    gate.open();
    for (const id of [first, second]) assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const third = await submitted(of);
    assert.equal((await stack.jobs.wait(third)).result, 'succeeded');
    const images = new Set<string>();
    for (const id of [first, second, third]) {
      const { spec } = await stack.jobs.describe(id);
      images.add('kubernetes' in spec ? spec.kubernetes.image : '');
      for (const image of await imagesOfPods(id)) images.add(image);
    }
    assert.equal(images.size, 1, [...images].join());
    assert.match([...images].join(), /^registry:5000\/train@sha256:[0-9a-f]{64}$/);
    for (const id of [first, second]) assert.deepEqual(numbersIn(await printed(id)), ALL);
    assert.equal(await printed(third), '');
    assert.equal(await tries(first, 'createBuild'), 1);
    await nothingLeft();
  });

  it('a build pod that is killed is tried again, and its tries are told apart', async () => {
    const id = await submitted(gated());
    const pod = await runningPod(id);
    await cluster().core.deleteNamespacedPod({ name: pod, namespace });
    await until('another pod prints', async () => (await printed(id, 1)).includes('\n2000\n'), 60_000);
    gate.open();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.deepEqual(numbersIn(await printed(id, 1)), ALL);
    assert.equal(await tries(id, 'awaitBuild'), 2);
    await nothingLeft();
  });

  it("a build that fails is the user's failure, with its last lines; nothing was asked of the pool", async () => {
    const id = await submitted(tree('RUN echo compiling; echo missing header.h; exit 2'));
    const { result, cause, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, cause?.by, attempts], ['failed', 'task', 0]);
    assert.match(cause?.message ?? '', /^its image was not built: BuildKit ended with code 1\n/);
    assert.match(cause?.message ?? '', /\nmissing header\.h\n[^]*error: failed to solve: .*exit code: 2$/);
    const { slices, granted } = await stack.jobs.describe(id);
    assert.deepEqual([slices, granted], [[], undefined]);
    await nothingLeft();
    // Whoever has mended what was not in the commit submits the same again.
    const again = await submitted(tree('RUN exit 3'));
    assert.equal((await stack.jobs.wait(again)).cause?.by, 'task');
  });

  it('a create call without an answer is looked for by its name', async () => {
    await admin.post('refuse', { method: 'kubernetes.create', code: 'UNAVAILABLE', times: 1, afterEffect: true });
    const id = await submitted(gated());
    await runningPod(id);
    gate.open();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.deepEqual([await tries(id, 'createBuild'), await tries(id, 'findBuild')], [1, 1]);
    await nothingLeft();
  });

  it('a cancel of the only job that waits ends the build; another one keeps it', async () => {
    const of = gated();
    const [one, other] = [await submitted(of), await submitted(of)];
    await runningPod(one);
    await until('the other waits too', async () => (await printed(other)).includes('\n2000\n'));
    await stack.jobs.cancel(one);
    assert.equal((await stack.jobs.wait(one)).result, 'cancelled');
    assert.equal((await builds()).length, 1);
    await stack.jobs.cancel(other);
    await stack.jobs.wait(other);
    await nothingLeft();
    // What nobody waited for is no image.
    const third = await submitted(of);
    await until('it is built anew', async () => (await printed(third)).includes('\n2000\n'), 60_000);
    gate.open();
    assert.equal((await stack.jobs.wait(third)).result, 'succeeded', stack.tail());
    await nothingLeft();
  });

  it('a job that is stopped leaves the build, and goes on with it when it is resumed', async () => {
    const id = await submitted(gated());
    await runningPod(id);
    await stack.jobs.stop(id, 'me');
    await nothingLeft();
    await until('it is released', async () => (await stack.jobs.row(id)).phase === JobPhase.Released);
    gate.open();
    await stack.jobs.resume(id, 'me');
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    await nothingLeft();
  });

  it('a worker that is killed in the middle changes nothing: one pod, and a log without a hole or a double', async () => {
    const id = await submitted(gated());
    const pod = await runningPod(id);
    await stack.killWorker();
    await stack.startWorker();
    assert.equal(await runningPod(id), pod);
    gate.open();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.deepEqual(numbersIn(await printed(id)), ALL);
    await nothingLeft();
  });

  it('a cluster that refuses for long is asked again and again, across runs of the workflow, and the job says why', async () => {
    await admin.post('refuse', {
      method: 'kubernetes.create',
      code: 'RESOURCE_EXHAUSTED',
      message: 'slow down',
      times: 4,
    });
    const id = await submitted(gated());
    await until(
      'the job says why',
      async () => /building image.*; slow down/.test((await stack.jobs.row(id)).why ?? ''),
      60_000,
    );
    await runningPod(id);
    gate.open();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    await nothingLeft();
  });
});

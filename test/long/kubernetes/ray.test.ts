import assert from 'node:assert/strict';
import { RAN_ON_BOTH, rayProgram, tokenIsAsked } from '../ray-program.js';
import { rayImage } from './pod-images.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';

const LAST = 4;
/** Processes of Ray's, and files that hold a token or are Ray's. */
const LEFT = `grep -lszF -e JOBCTL_RAY_OF= /proc/[0-9]*/environ; ls -d /tmp/jobctl-ray-* ~/.jobctl/runs/*/ray-token 2> /dev/null; true`;
/** A worker has no process that is called so but Ray's own. */
const KILL_RAYLET = `for each in /proc/[0-9]*; do read -r name < $each/comm && [ "$name" = raylet ] && kill -KILL "\${each#/proc/}"; done; true`;

describe('Ray in two pods of a real Kubernetes', function () {
  // Four starts of Ray on two cores that others use.
  this.timeout(4 * STEP_MS);
  let pods: PodJobs;
  let image: string;
  before(async function () {
    this.timeout(POD_JOBS_START_MS);
    pods = await PodJobs.start('ray');
    image = await rayImage(pods.real.cluster);
  });
  after(() => pods?.stop());

  it('runs tasks in both, asks for its token, is stopped, lost with a raylet and with a pod, and leaves nothing', async () => {
    const { stack, real, user } = pods;
    const volumes = [{ mount_path: '/dev/shm', empty_dir: { medium: 'memory', size: '256Mi' } }];
    const kubernetes = { namespace: real.namespace, image, workers: 2, volumes };
    const { id } = await stack.jobs.submit({ job: { name: 'ray', pool: 'kube', kubernetes, ...rayProgram(LAST) } });
    const bash = (pod: string, script: string): string => real.kubectl('exec', pod, '--', 'bash', '-c', script);
    const ranOnBoth = async (attempt: number): Promise<readonly [string, string]> => {
      await pods.told(`attempt ${attempt} ran in both pods`, id, async () => {
        const printed = await pods.log(id, attempt);
        if (RAN_ON_BOTH.test(printed)) return true;
        throw new Error(`${printed}\n${await pods.log(id, attempt, 1)}`);
      });
      const names = (await pods.podsOf(id)).map(({ pod }) => pod);
      assert.equal(names.length, 2);
      return names as [string, string];
    };

    const first = await ranOnBoth(1);
    for (const pod of first) assert.match(bash(pod, LEFT), /environ\n.*\/ray-token\n\/tmp\/jobctl-ray-.*\n$/);
    for (const host of [0, 1]) await tokenIsAsked(user, id, 1, host);

    await stack.jobs.stop(id, 'alice');
    await pods.inPhase(id, 'paused');
    // A host that could not be reached is named there.
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    for (const pod of first) assert.equal(bash(pod, LEFT), '', `of Ray in ${pod} after a stop\n${events}`);

    await stack.jobs.resume(id, 'alice');
    assert.deepEqual(await ranOnBoth(2), first, 'on the same pods');
    bash(first[1], KILL_RAYLET);
    assert.deepEqual(await ranOnBoth(3), first, 'a raylet that is killed costs no pod');
    assert.match(await pods.log(id, 2, 1), /jobctl: ray: Ray ended on this host/);

    await pods.evict(first[1]);
    const last = await ranOnBoth(LAST);
    assert.deepEqual(
      last.filter((pod) => first.includes(pod)),
      [],
      'a pod that is lost is a new gang',
    );
    const outcome = await stack.jobs.wait(id);
    const { result, exitCode, attempts, preemptions } = outcome;
    assert.deepEqual([result, exitCode, attempts, preemptions], ['failed', 7, LAST, 1], JSON.stringify(outcome));
    assert.match(await pods.log(id, LAST, 1), /joins .*; the command runs on the first host\n$/);
    await pods.untilNothingIsLeft();
  });
});

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Certificate } from '../../../cli/local/rehearse/certificate.js';
import { identify } from '../../../cli/place/stack/process-identity.js';
import { until } from '../../until.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import type { Finished, Started } from '../../end-to-end/jobctl-process.js';

const HEAD = `tpu:
  accelerator: v5litepod-8
  allocation_mode: queued-resources
  pricing: spot
  zone: us-central1-a
command:
  run: |
`;
/** Its checkpoint is an object, which outlives the slice. */
const SAVES = `${HEAD}    object="$STORAGE_EMULATOR_HOST/storage/v1/b/$JOBCTL_BUCKET/o/checkpoints%2Fstep"
    upload="$STORAGE_EMULATOR_HOST/upload/storage/v1/b/$JOBCTL_BUCKET/o?uploadType=media&name=checkpoints/step"
    step=$(curl -sf "$object?alt=media" || echo 0)
    [ "$step" = 0 ] || echo "resumed at step $step"
    while [ $((step += 1)) -le 120 ]; do
      echo "step $step loss 0.$RANDOM"
      [ $((step % 4)) = 0 ] && curl -sf -o /dev/null -H "Content-Type: application/octet-stream" --data-binary "$step" "$upload"
      sleep 0.1
    done
`;
const FORGETS = `${HEAD}    for step in $(seq 90); do echo "step $step"; sleep 0.1; done
`;
/** Nobody listens there: a rehearsal asks its own stack alone. */
const CONTEXTS = `current = "prod"

[contexts.prod]
address = "127.0.0.1:1"
user = "alice"
project = "vision"
`;
/** Two preemptions after 12 or 13 steps each, one of them vanishing. */
const SEED = '98';

/** `jobctl rehearse` as users run it, three at a time: what it does not share with another is part of what is tested. */
describe('jobctl rehearse', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-rehearse-jobs-'));
  const user = new JobctlUser({ XDG_CONFIG_HOME: join(folder, 'config') });
  const started: Started[] = [];
  let saves: Promise<Finished>;
  let forgets: Promise<Finished>;
  let interrupted: Started;
  before(() => {
    mkdirSync(join(folder, 'config/jobctl'), { recursive: true });
    writeFileSync(join(folder, 'config/jobctl/contexts.toml'), CONTEXTS);
    saves = rehearse('saves', SAVES, '--preempt', '2', '--notice', 'none', '--require-resume').finished;
    forgets = rehearse('forgets', FORGETS, '--preempt', '2', '--notice', '1s', '--time-scale', '5').finished;
    interrupted = rehearse('long', FORGETS.replace('90', '9000'), '--preempt', '1', '--after', '1h');
  });
  after(async () => {
    for (const { kill } of started) kill('SIGINT');
    await Promise.all(started.map(({ finished }) => finished));
    await user.leave();
    rmSync(folder, { recursive: true, force: true });
  });

  function rehearse(name: string, text: string, ...flags: string[]): Started {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, text);
    const run = user.start('rehearse', file, '--seed', SEED, '--unconfined', '--output', 'json', ...flags);
    started.push(run);
    return run;
  }

  const homeOf = (stderr: string): string => /^Its own stack, for this rehearsal alone: (.+)$/m.exec(stderr)?.[1] ?? '';

  function certificateOf({ stdout, stderr }: Finished): Certificate {
    assert.ok(stdout.startsWith('{'), stderr);
    return JSON.parse(stdout) as Certificate;
  }

  it('ends and removes all of its stack at Ctrl-C, and exits 130', async () => {
    await until('it runs', () => interrupted.stderr().includes('running: attempt 1'), 120_000);
    const home = homeOf(interrupted.stderr());
    assert.ok(existsSync(join(home, 'context.json')));
    const listed = await user.shell(`JOBCTL_HOME=${home} $JOBCTL list --context local --output json`).finished;
    const { jobs } = JSON.parse(listed.stdout) as { jobs: readonly { user: string; project: string }[] };
    assert.deepEqual(
      jobs.map((job) => [job.user, job.project]),
      [['alice', 'vision']],
      "user and project of the user's own context",
    );
    interrupted.kill('SIGINT');
    const { code, stdout, stderr } = await interrupted.finished;
    assert.deepEqual([code, stdout], [130, ''], stderr);
    const pids = [...stderr.matchAll(/: started \(process (\d+)\)/g)].map(([, pid]) => Number(pid));
    assert.equal(pids.length, 3, stderr);
    assert.deepEqual(
      pids.filter((pid) => identify(pid) !== undefined),
      [],
    );
    assert.equal(existsSync(home), false);
  });

  it('certifies a job that goes on from its checkpoint: what each preemption cost, and that nothing leaked', async () => {
    const finished = await saves;
    const { code, stderr } = finished;
    const { label, outcome, preemptions, verdict, leaks, attempts } = certificateOf(finished);
    assert.deepEqual([code, label, verdict], [0, 'REHEARSAL', 'resumed'], stderr);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 3, 2]);
    assert.deepEqual(
      attempts.map(({ end }) => end),
      ['slices-lost', 'slices-lost', 'exited'],
    );
    assert.deepEqual(leaks, { leaks: [], leases: [] });
    assert.deepEqual(
      preemptions.map(({ attempt, noticeMs }) => [attempt, noticeMs]),
      [
        [1, null],
        [2, null],
      ],
    );
    assert.deepEqual(new Set(preemptions.map(({ mode }) => mode)), new Set(['preempted', 'vanish']));
    for (const { lost, recoveredMs } of preemptions) {
      // It saves every fourth step; one more may have been printed before its number was stored.
      assert.ok(lost.kind === 'counted' && lost.redone <= 4 && lost.made >= 12, JSON.stringify(lost));
      assert.equal(Number(lost.firstAfter) % 4, 1, JSON.stringify(lost));
      assert.ok(recoveredMs !== null && recoveredMs > 0);
    }
    assert.equal(existsSync(homeOf(stderr)), false, 'its stack is gone');
  });

  it('tells a job that does not checkpoint that it lost all of its work twice, with notice and a faster clock too', async () => {
    const finished = await forgets;
    const { verdict, preemptions, timeScale, outcome } = certificateOf(finished);
    assert.deepEqual([finished.code, verdict, timeScale], [0, 'lost-all', 5], finished.stderr);
    assert.equal(outcome.result, 'succeeded');
    assert.deepEqual(
      preemptions.map(({ lostPercent, mode }) => [lostPercent, mode]),
      [
        [100, 'preempted'],
        [100, 'preempted'],
      ],
    );
    for (const { lost, noticeMs } of preemptions) {
      assert.ok(lost.kind === 'counted' && lost.firstAfter === '1', JSON.stringify(lost));
      // The job's processes run in real time, so its notice is a second of theirs whatever the cloud's clock does: by the
      // cloud's it would be 200 ms. The journal has the request some ms after what it announced.
      assert.ok(noticeMs !== null && noticeMs >= 900, String(noticeMs));
    }
  });
});

import assert from 'node:assert/strict';
import { modulePlans } from '../../activities/module-plans.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { applyModule } from '../hosts/apply-modules.js';
import { useDockerDaemon } from '../hosts/docker-daemon.js';
import { countingCalls } from '../hosts/round-trips.js';
import { ended, NOTICE, outputOf, request } from '../hosts/run.js';
import type { HostSession } from '../hosts/session.js';
import { withHost } from '../hosts/session.js';
import { until } from '../until.js';
import type { DockerRegistry } from './docker-registry.js';
import { startDockerRegistry, whyNoRegistry } from './docker-registry.js';

describe('the module docker, by a real daemon and a real registry', function () {
  this.timeout(60_000);
  const daemon = useDockerDaemon();
  let registry: DockerRegistry;
  before(async function () {
    const why = whyNoRegistry();
    if (why !== undefined) {
      if (process.env['JOBCTL_TEST_DOCKER'] === '1') throw new Error(why);
      // Debian's docker-registry is installed by hand. .ci/long sets JOBCTL_TEST_DOCKER, and there it fails.
      console.log(`      skipped: ${why}`);
      this.skip();
    }
    registry = await startDockerRegistry(daemon());
  });
  after(() => registry?.stop());

  const plan = (image: string): ModulePlan => {
    const docker = { image, flags: [], mounts: [], env: {} };
    return modulePlans({ modules: ['docker'], docker }, { files: new Map(), keys: [] })[0] ?? assert.fail('no plan');
  };
  const onHost = (work: (session: HostSession) => Promise<void>): Promise<void> =>
    withHost(work, { env: daemon().env });
  async function kindOf({ connection }: HostSession, image: string): Promise<string> {
    const { kind, output } = await applyModule(connection, plan(image));
    assert.notEqual(kind, 'failed', output);
    return kind;
  }

  it('pulls by tag and says the digest; unchanged in one call; anew when the image is gone or another is asked for', () =>
    onHost(async (session) => {
      const byDigest = registry.push('team/train:v1', 'one');
      const image = `${registry.address}/team/train:v1`;
      const { kind, output } = await applyModule(session.connection, plan(image));
      assert.equal(kind, 'done', output);
      assert.ok(output.includes(`docker: image ${byDigest}\n`), output);
      const again = await countingCalls(() => kindOf(session, image));
      assert.deepEqual(again, { result: 'unchanged', calls: 1 });
      daemon().docker('rmi', image);
      assert.equal(await kindOf(session, image), 'done');
      assert.equal(await kindOf(session, byDigest), 'done');
      assert.equal(await kindOf(session, byDigest), 'unchanged');
    }));

  it('is made anew when somebody put another image under its name on the host', () =>
    onHost(async (session) => {
      const [first, image] = [registry.push('team/moving:v1', 'one'), `${registry.address}/team/moving:v1`];
      assert.equal(await kindOf(session, image), 'done');
      const second = registry.push('team/other:v1', 'two');
      assert.notEqual(first.split('@')[1], second.split('@')[1]);
      daemon().docker('pull', second);
      daemon().docker('tag', second, image);
      assert.equal(await kindOf(session, image), 'done');
      assert.equal(await kindOf(session, image), 'unchanged');
    }));

  it('says at once that there is no such image, and waits for a registry that is away', () =>
    onHost(async (session) => {
      registry.push('team/here:v1', 'x');
      const away = `127.0.0.1:9/team/here:v1`;
      const cases = { 'team/here:v2': 'permanent', 'team/none:v1': 'permanent' };
      for (const [name, kind] of Object.entries(cases)) {
        const failed = await applyModule(session.connection, plan(`${registry.address}/${name}`));
        assert.ok(failed.kind === 'failed' && failed.step === 'pull', failed.output);
        assert.equal(judgeSetUpFailure(failed.code, failed.tail).kind, kind, failed.tail);
      }
      const failed = await applyModule(session.connection, plan(away));
      assert.equal(failed.kind === 'failed' && judgeSetUpFailure(failed.code, failed.tail).kind, 'transient');
    }));

  it('is made whole after a set-up that was cut off in any of its steps', () =>
    onHost(async (session) => {
      const image = registry.push('team/half:v1', 'half');
      for (const step of ['daemon', 'pull']) {
        const cut = session.connection.applyModules(
          [plan(image)],
          { onOutput: () => undefined, onStep: (event) => void (event.step === step && session.host.cut()) },
          new AbortController().signal,
        );
        await cut.catch(() => undefined);
        assert.notEqual((await applyModule(session.connection, plan(image))).kind, 'failed');
        assert.equal(await kindOf(session, image), 'unchanged', step);
        daemon().docker('image', 'inspect', image);
        daemon().docker('rmi', image);
        await session.connection.forgetModules(['docker']);
      }
    }));

  it('its image runs the command, which a stop ends with notice, and one whose supervisor was killed too', () =>
    onHost(async (session) => {
      const image = registry.push('team/run:v1', 'content');
      assert.equal(await kindOf(session, image), 'done');
      const container = { image, flags: ['--network=none'], mounts: [], env: {} };
      assert.equal(
        await outputOf(session.connection, '', request('echo $CONTENT; exit 4', { container })),
        'content\n',
      );
      assert.equal((await ended(session.connection)).code, 4);
      for (const [attempt, kill] of [
        [2, false],
        [3, true],
      ] as const) {
        const runId = `train-x1-a${attempt}`;
        const script = `trap 'cat "$JOBCTL_NOTICE_FILE"; exit 9' TERM; echo up; while :; do sleep 0.1; done`;
        await session.connection.startRun(request(script, { container, runId, epoch: attempt }));
        const output = (): string => session.read(`.jobctl/runs/${runId}/output`);
        await until('up', () => output().includes('up'));
        const [, , , supervisor] = session.read(`.jobctl/runs/${runId}/begun`).split(' ').map(Number);
        if (kill) process.kill(supervisor!, 'SIGKILL');
        const status = await session.connection.stopRun(runId, 8000, NOTICE);
        assert.equal(status.kind === 'exited' && status.code, 9, JSON.stringify(status));
        assert.match(output(), /"cause":"cancel"/);
        assert.equal(daemon().docker('ps', '-aq'), '');
      }
    }));
});

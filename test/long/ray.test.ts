import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { storedLog } from '../end-to-end/stored-log.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { isAlive } from '../hosts/session.js';
import { until } from '../until.js';
import { RAN_ON_BOTH, rayProgram, tokenIsAsked } from './ray-program.js';

const MINUTE = 60_000;
/** Two hosts. */
const TPU = { accelerator: 'v4-16', zone: 'us-central2-b', allocation_mode: 'tpu-vm', pricing: 'spot' };
/** From PyPI, 382 MB on each host. */
const REQUIREMENTS = 'ray[default]==2.60.0\n';
const LAST = 4;

/** The same user's Ray on the same host, which no run has started: without environment, session and parent of one. */
const STRANGER = `[ "$JOBCTL_ATTEMPT" != 1 ] || env -i HOME="$HOME" PATH="$PATH" setsid -w ray start --head --port=6399 \\
  --dashboard-agent-listen-port=0 --include-dashboard=false --num-cpus=1 --object-store-memory=80000000 --disable-usage-stats > ~/stranger.log 2>&1 || cat ~/stranger.log
`;

describe('Ray on two TPU VMs', function () {
  // Two installations of it on each host, and four starts on two cores.
  this.timeout(25 * MINUTE);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let user: JobctlUser;
  withStack((its, behind) => {
    [stack, admin, user] = [its, behind, JobctlUser.of(its)];
  });
  after(() => user?.leave());

  it('runs tasks on both hosts, asks for its token, is stopped, lost with a raylet and with a slice, and leaves a stranger’s alone', async () => {
    const job = {
      ...{ name: 'ray', tpu: TPU, keep: 'always', ssh: { private_key: stack.privateKeyFile } },
      ...{ venv: { name: 'env', requirements_file: 'requirements.txt' } },
      ...rayProgram(LAST, STRANGER),
    };
    const { id } = await stack.jobs.submit({ job, files: { 'requirements.txt': Buffer.from(REQUIREMENTS) } });
    const log = (attempt: number, host: number): Promise<string> =>
      storedLog(stack.store, { id, stream: 'command', host, attempt });
    const ranOnBoth = (attempt: number): Promise<true> =>
      until(
        `attempt ${attempt} ran on both hosts`,
        async () => {
          const printed = await log(attempt, 0);
          if (RAN_ON_BOTH.test(printed)) return true;
          const { phase, why } = await stack.jobs.row(id);
          throw new Error(`${phase}: ${why}\n${printed}\n${await log(attempt, 1)}`);
        },
        8 * MINUTE,
      );
    try {
      await ranOnBoth(1);
      const stranger = rays().find(({ command }) => command.includes('6399'))?.pid ?? assert.fail('no stranger');
      assert.deepEqual([...ours(id)].length > 6, true);
      for (const { command, environment } of ours(id)) {
        assert.doesNotMatch(command, /[0-9a-f]{64}/, 'no token among the words of a process');
        assert.doesNotMatch(environment, /[0-9a-f]{64}/, 'nor in its environment');
      }
      await tokenIsAsked(user, id, 1, 0, '. ~/env/bin/activate; ');
      await stack.jobs.stop(id, 'alice');
      await until('it is paused', async () => (await stack.jobs.row(id)).phase === 'paused', 2 * MINUTE);
      assert.deepEqual(ours(id), [], 'nothing of Ray after a stop');

      await stack.jobs.resume(id, 'alice');
      await ranOnBoth(2);
      const raylet = ours(id).find(
        ({ name, environment }) => name === 'raylet' && environment.includes('\nJOBCTL_HOST_INDEX=1\n'),
      );
      process.kill(raylet?.pid ?? assert.fail('no raylet on host 1'), 'SIGKILL');
      await ranOnBoth(3);
      assert.match(await log(2, 1), /jobctl: ray: Ray ended on this host/);

      assert.ok(isAlive(stranger), 'the other Ray goes on');
      const [slice] = (await stack.jobs.describe(id)).slices;
      await admin.post('preempt', { name: slice?.ref.name, notice: false });
      await ranOnBoth(LAST);

      const outcome = await stack.jobs.wait(id);
      const { result, exitCode, attempts, preemptions } = outcome;
      assert.deepEqual([result, exitCode, attempts, preemptions], ['failed', 7, LAST, 1], stack.tail());
      const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
      assert.match(events, /Ray did not start on the host, or ended before the command did/);
      await until('nothing of Ray is left', () => ours(id).length === 0);
    } finally {
      await stack.jobs.cancel(id).catch(() => undefined);
    }
  });
});

interface Process {
  readonly pid: number;
  readonly name: string;
  readonly command: string;
  /** By lines, one before and one behind each. */
  readonly environment: string;
}

/** Every raylet of this computer: processes of rehearsed VMs are seen from outside. */
const rays = (): readonly Process[] => processes().filter(({ name }) => name === 'raylet');
/** What carries the mark of one job's Ray. */
const ours = (id: string): readonly Process[] =>
  processes().filter(({ environment }) => new RegExp(`\nJOBCTL_RAY_OF=.*/runs/${id}-a\\d+\n`).test(environment));

function processes(): readonly Process[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');
      const environment = `\n${read('environ').replaceAll('\0', '\n')}\n`;
      return [
        { pid: Number(pid), name: read('comm').trim(), command: read('cmdline').replaceAll('\0', ' '), environment },
      ];
    } catch {
      return [];
    }
  });
}

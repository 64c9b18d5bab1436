import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { storedLog } from '../end-to-end/stored-log.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { isAlive } from '../hosts/session.js';
import { until } from '../until.js';

const MINUTE = 60_000;
/** Two hosts. */
const TPU = { accelerator: 'v4-16', zone: 'us-central2-b', allocation_mode: 'tpu-vm', pricing: 'ondemand' };
/** From PyPI, 382 MB on each host. */
const REQUIREMENTS = 'ray[default]==2.60.0\n';

/** The third attempt ends with a code of its own, the others when they are told to. */
const PROGRAM = `
import os, sys, time, ray
ray.init(logging_level="ERROR", log_to_driver=False)
@ray.remote(scheduling_strategy="SPREAD", num_cpus=1)
def place():
    time.sleep(1)
    return ray.get_runtime_context().get_node_id(), os.environ["JOBCTL_HOST_INDEX"], os.environ["MINE"]
places = set(ray.get([place.remote() for _ in range(8)]))
print("tasks ran on", len({node for node, _, _ in places}), "nodes:", sorted({(host, mine) for _, host, mine in places}), flush=True)
if os.environ["JOBCTL_ATTEMPT"] == "3":
    sys.exit(7)
time.sleep(3600)
`;

/** The same user's Ray on the same host, which no run has started: without environment, session and parent of one. */
const STRANGER = `[ "$JOBCTL_ATTEMPT" != 1 ] || env -i HOME="$HOME" PATH="$PATH" setsid -w ray start --head --port=6399 \\
  --dashboard-agent-listen-port=0 --include-dashboard=false --num-cpus=1 --object-store-memory=80000000 --disable-usage-stats > ~/stranger.log 2>&1 || cat ~/stranger.log`;

describe('Ray on two TPU VMs', function () {
  // Its installation, and three starts of it on two cores.
  this.timeout(20 * MINUTE);
  let stack: TestStack;
  withStack((its) => {
    stack = its;
  });

  it('runs tasks on both hosts, is stopped and resumed, is lost with a host, and leaves nothing but a stranger’s', async () => {
    const job = {
      ...{ name: 'ray', tpu: TPU, keep: 'always', env: { MINE: 'of the job' } },
      ...{ venv: { name: 'env', requirements_file: 'requirements.txt' } },
      ray: { num_cpus: 2, object_store_memory: '100Mi', version: '2.60.0' },
      command: { run: `${STRANGER}\ncat > ~/program.py <<'END'\n${PROGRAM}\nEND\nexec python ~/program.py` },
    };
    const { id } = await stack.jobs.submit({ job, files: { 'requirements.txt': Buffer.from(REQUIREMENTS) } });
    const log = (attempt: number, host: number): Promise<string> =>
      storedLog(stack.store, { id, stream: 'command', host, attempt });
    const ranOnBoth = (attempt: number): Promise<true> =>
      until(
        `attempt ${attempt} ran on both hosts`,
        async () => {
          const printed = await log(attempt, 0);
          if (/^tasks ran on 2 nodes: \[\('0', 'of the job'\), \('1', 'of the job'\)\]$/m.test(printed)) return true;
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

      const outcome = await stack.jobs.wait(id);
      assert.deepEqual([outcome.result, outcome.exitCode, outcome.attempts], ['failed', 7, 3], stack.tail());
      const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
      assert.match(events, /Ray did not start on the host, or ended before the command did/);
      await until('nothing of Ray is left', () => ours(id).length === 0);
      assert.ok(isAlive(stranger), 'and the other Ray is');
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

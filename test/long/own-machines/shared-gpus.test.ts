import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { begunTwice, stuckJobs } from '../../../chaos/oracle/attempts.js';
import { processesOf } from '../../../chaos/oracle/commands.js';
import type { Evidence } from '../../../chaos/oracle/evidence.js';
import { leftOnMachines, twoAtOnce } from '../../../chaos/oracle/hosts.js';
import { Listener } from '../../../chaos/oracle/listener.js';
import { GPU, TELLING } from '../../../chaos/oracle/told.js';
import { Draws } from '../../../chaos/random.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { type SlottedBox, startSlottedBox } from '../../hosts/slotted-box.js';
import { everybodysQuota } from '../../quota/quota-file-text.js';
import { freePort, startTestServer, TEMPORAL_START_MS, type TestServer } from '../../temporal-server.js';
import { until } from '../../until.js';

const SEED = Number(process.env['JOBCTL_GPU_SEED'] ?? Date.now() % 1_000_000);
const JOBS = Number(process.env['JOBCTL_GPU_JOBS'] ?? 30);
const GPUS = 8;
const SIZES = [1, 2, 4, 8] as const;
const AT_ONCE = 6;
/** After so long without a command a deed is done all the same. */
const LULL_MS = 30_000;
const LOOK_MS = 100;
/** More than the deeds can use up. */
const PLENTY = 50;
const POOL = 'gpus';

/**
 * Two ways to share. `slots`: each process of a job is a host with one GPU, so a job of 4 is 4 slots. `share = true`: a host has
 * as many GPUs as its job asks for, with a process for each (docs/adr/0170).
 */
type Way = 'slots' | 'share';

/** Some leave a process without environment, session and parents that holds the lock of the GPU, as it would hold the GPU. */
const onOneGpu = (port: number): string => `${TELLING(port, GPU)}
trap 'tell TERM ""; exit 143' TERM
[ $((RANDOM % 3)) != 0 ] || (setsid env -i sleep 3000 9>&- < /dev/null > /dev/null 2>&1 &)
for n in 1 2 3 4 5; do rest 0.$((RANDOM % 9 + 1)); done
tell END '0 all'
`;

/** Counts its processes through all hosts, as ranks are. */
const onEachGpu = (
  port: number,
): string => `gpus=(\${CUDA_VISIBLE_DEVICES//,/ }) first=$((JOBCTL_HOST_INDEX * \${#gpus[@]}))
trap : TERM
for n in "\${!gpus[@]}"; do (
  trap - TERM
  CUDA_VISIBLE_DEVICES=\${gpus[n]} JOBCTL_HOST_INDEX=$((first + n))
${onOneGpu(port)}) & started="$started $!"; done
code=0
for each in $started; do
  until wait "$each"; ended=$?; ! kill -0 "$each" 2>/dev/null; do :; done
  [ $ended = 0 ] || code=$ended
done
exit $code
`;

for (const way of ['slots', 'share'] as const) shareMachine(way);

function shareMachine(way: Way): void {
  /** docs/adr/0153, docs/adr/0170 */
  describe(`${JOBS} jobs of 1, 2, 4 and 8 GPUs share a machine of ${GPUS} by ${way}, by chance of seed ${SEED}`, function () {
    this.timeout(3 * 3600_000);
    const draws = new Draws(SEED);
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-gpus-'));
    /** The stack's client keeps the connection of the first. */
    const dead: TestServer[] = [];
    let server: TestServer;
    let restart: () => Promise<TestServer>;
    let stack: TestStack;
    let box: SlottedBox;
    let listener: Listener;
    before(async function () {
      this.timeout(TEMPORAL_START_MS);
      const place = { port: await freePort(), databaseFile: join(folder, 'temporal.db') };
      restart = () => startTestServer(place);
      server = await restart();
      const quota = everybodysQuota({ h100: GPUS });
      stack = await TestStack.start({ pool: POOL, server, quota, poolFile: '[quota]\n', isNotReady: true });
      const key = {
        private: readFileSync(stack.privateKeyFile, 'utf8'),
        public: readFileSync(`${stack.privateKeyFile}.pub`, 'utf8'),
      };
      box = await startSlottedBox(key, GPUS, GPUS);
      stack.writePoolFile(`[[machines]]
name = "box"
address = "${box.address}"
user = "gpu-{slot}"
${way === 'slots' ? `slots = ${GPUS}` : 'share = true'}
accelerators = { h100 = ${GPUS} }
host_key = "${box.hostKey}"
`);
      listener = await Listener.open();
      await stack.startWorker();
    });
    after(async () => {
      await stack.stop();
      await box.stop();
      await listener.close();
      for (const each of [...dead, server]) await each.stop().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    });

    /** What the worker and the server are asked for while they are killed. */
    const again = <T>(work: () => Promise<T>): Promise<T | undefined> => work().catch(() => undefined);
    const homes = (): readonly { readonly name: string; readonly claim?: string }[] =>
      box.homes.map((home, index) => {
        const file = join(home, '.jobctl/machine/claim');
        return { name: `gpu-${index}`, ...(existsSync(file) && { claim: readFileSync(file, 'utf8') }) };
      });

    const asked = new Map<string, { readonly size: number; isCancelled?: boolean }>();
    const ended = new Map<string, { readonly phase: string; readonly why: string }>();
    const evidence = (): Evidence => ({
      ...{ seed: SEED, poolUnits: GPUS, machines: homes(), deeds: [], cloud: [], stored: [], leases: [] },
      told: listener.told,
      jobs: [...asked].map(([id, { size }]) => ({ id, slices: 1, hosts: size, taskRetries: PLENTY })),
      results: [...asked.keys()].map((id) => {
        const end = ended.get(id);
        return { id, isClosed: end !== undefined, phase: end?.phase ?? 'open' };
      }),
    });

    async function submit(): Promise<true> {
      const id = `g${SEED}-${way}-${asked.size}`;
      const size = SIZES[asked.size % SIZES.length] ?? 1;
      const job = {
        ...{ name: id, pool: POOL, grace: 2, retries: { infrastructure: PLENTY, task: PLENTY } },
        machines: {
          accelerator: 'h100',
          count: size,
          hosts: way === 'slots' ? size : Math.min(size, draws.pick([1, 1, 2])),
        },
        command: { run: way === 'slots' ? onOneGpu(listener.port) : onEachGpu(listener.port) },
      };
      await stack.jobs.submit({ job, user: draws.pick(['ann', 'bob']), name: id });
      asked.set(id, { size });
      return true;
    }
    async function reap(): Promise<true> {
      for (const id of asked.keys()) {
        if (ended.has(id)) continue;
        const { phase, endedAt, outcome } = await stack.jobs.row(id);
        if (endedAt !== undefined) ended.set(id, { phase, why: outcome?.cause?.message ?? '' });
      }
      return true;
    }
    const open = (): readonly string[] => [...asked.keys()].filter((id) => !ended.has(id));

    /** `false`: nothing was done this time. */
    const DEEDS: Readonly<Record<string, () => Promise<void | false>>> = {
      'the worker is killed': async () => {
        await stack.killWorker();
        await stack.startWorker();
      },
      'the server is killed': async () => {
        process.kill(server.pid ?? 0, 'SIGKILL');
        dead.push(server);
        server = await restart();
      },
      'the machine is rebooted, its GPUs in another order': async () => {
        // Seldom, since it ends all commands at once.
        if (!draws.chance(0.4)) return false;
        const by = draws.between(0, GPUS - 1);
        box.lists(Array.from({ length: GPUS }, (_, index) => (index + by) % GPUS));
        await box.reboot();
      },
      'a command is killed, with all that it has started': async () => {
        const { running } = listener;
        if (running.length === 0) return false;
        execFileSync('bash', ['-c', KILL, 'kill', draws.pick(running).process.split('.').at(-2) ?? '']);
      },
      'a job is cancelled': async () => {
        // Seldom: most jobs are to end by themselves.
        const id = draws.chance(0.5) ? open()[0] : undefined;
        const job = id === undefined ? undefined : asked.get(id);
        if (id === undefined || job === undefined) return false;
        job.isCancelled = true;
        await until('a job is cancelled', () => again(() => stack.jobs.cancel(id)), 60_000);
      },
    };
    const done: Record<string, number> = {};

    it('no GPU is in two claims by the kernel’s lock, each job ends, and none is left claimed', async () => {
      while (asked.size < JOBS || open().length > 0) {
        while (asked.size < JOBS && open().length < AT_ONCE)
          await until('a job is submitted', () => again(submit), 60_000);
        // Deeds upon deeds would only show that nothing begins.
        for (let at = 0; at < LULL_MS && listener.running.length === 0; at += LOOK_MS) await pause(LOOK_MS);
        await pause(draws.between(100, 3_000));
        const deed = draws.pick(Object.keys(DEEDS));
        if ((await DEEDS[deed]?.()) !== false) done[deed] = (done[deed] ?? 0) + 1;
        await until('jobs can be read', () => again(reap), 60_000);
        assert.deepEqual(twoAtOnce(evidence()), [], `after ${deed}`);
        console.log(
          `      ${deed}: ${ended.size} of ${asked.size} jobs have ended, ${listener.running.length} commands run`,
        );
      }
      await until('no claim is left', () => homes().every(({ claim }) => claim === undefined), 120_000);
      const all = evidence();
      assert.deepEqual(
        [twoAtOnce, begunTwice, stuckJobs, leftOnMachines].flatMap((rule) => rule(all)),
        [],
      );
      for (const [id, { phase, why }] of ended) {
        const isRight = phase === 'succeeded' || (phase === 'cancelled' && asked.get(id)?.isCancelled === true);
        assert.ok(isRight, `${id} ${phase}: ${why}`);
      }
      const starts = processesOf(all.told);
      const used = new Set(starts.map(({ hostName }) => hostName));
      assert.equal(used.size, GPUS, 'each GPU was used');
      assert.equal(processesLeft(), '', 'nothing that a command left');
      const cancelled = [...ended.values()].filter(({ phase }) => phase === 'cancelled').length;
      console.log(
        `      ${JOBS} jobs, ${cancelled} of them cancelled, ${starts.length} commands on GPUs, ${JSON.stringify(done)}`,
      );
    });

    const processesLeft = (): string =>
      execFileSync(
        'bash',
        ['-c', `for uid in $(seq 5000 ${5000 + GPUS - 1}); do pgrep -a -u $uid -x sleep; done; true`],
        {
          encoding: 'utf8',
        },
      );
  });
}

/** $1: the number of the command in its own namespace. Kills its session by the numbers of this computer. */
const KILL = `for each in /proc/[0-9]*/status; do
  grep -qs "^NSpid:.*[[:space:]]$1$" "$each" || continue
  pid=\${each#/proc/}; pid=\${pid%/status}
  grep -qs "^Uid:.50[0-9][0-9]" "$each" && kill -KILL -- "-$(ps -o pgid= -p "$pid" | tr -d ' ')"
done; true`;

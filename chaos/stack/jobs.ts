import type { AskedJob } from '../oracle/evidence.js';
import { TELLING } from '../oracle/told.js';
import type { Draws } from '../random.js';
import { spanOf, type Tier } from './tier.js';

export const ZONES = ['us-central1-a', 'us-west4-a'] as const;
export const POOL_UNITS = 64;
export const GENERATION = 'v5litepod';
/** Of the pool, for jobs of pods. */
export const POD_CPUS = 10;

/** A job of a seed: what is submitted, when and by whom, and what the oracle is told of it. */
export interface DrawnJob extends AskedJob {
  /** After the beginning of the seed, ms. */
  readonly submitAt: number;
  readonly user: string;
  readonly kind: string;
  readonly file: Readonly<Record<string, unknown>>;
}

/** What a command comes to, if nobody disturbs it. */
const ENDS = ['ok', 'ok', 'ok', 'ok', 'fails', 'fails once', 'one host fails'] as const;
/** What it does at SIGTERM, which all of them tell: dies of it, saves and exits with 0, tells and exits with 143, or goes on. */
const ON_TERM = ['dies', 'saves', 'saves', 'tells', 'ignores'] as const;
const TPU_SHAPES = [
  { accelerator: 'v5litepod-4', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-4', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-8', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-16', hosts: 4, slices: 1 },
  { accelerator: 'v5litepod-4', hosts: 1, slices: 2 },
] as const;
/** Of pods; the second installation has none. */
const POD_SHAPES = [
  { workers: 1, cpus: 2, slices: 1 },
  { workers: 4, cpus: 1, slices: 1 },
  { workers: 2, cpus: 1, slices: 2 },
] as const;
/** More than chaos can spend: no job of it may end for want of a retry. */
const PLENTY = 50;

export function drawJobs(draws: Draws, { seed, count, tier, port, prefix = 'c' }: JobDraw): readonly DrawnJob[] {
  return Array.from({ length: count }, (_, index): DrawnJob => {
    const job = drawJob(draws.part(index), { id: `${prefix}${seed}-${index}`, tier, port, hasPods: prefix === 'c' });
    return prefix === 'c' ? job : { ...job, isTheirs: true };
  });
}

interface JobDraw {
  readonly seed: number;
  readonly count: number;
  readonly tier: Tier;
  /** Of the listener. */
  readonly port: number;
  /** Of their names: `t` for those of the second installation. */
  readonly prefix?: 'c' | 't';
}

/** What the oracle is told of it. */
export const askedOf = ({ id, slices, hosts, taskRetries, isTheirs }: DrawnJob): AskedJob => ({
  ...{ id, slices, hosts, taskRetries },
  ...(isTheirs && { isTheirs }),
});

interface OneDraw {
  readonly id: string;
  readonly tier: Tier;
  readonly port: number;
  readonly hasPods: boolean;
}

function drawJob(draws: Draws, { id, tier, port, hasPods }: OneDraw): DrawnJob {
  const { machines, hosts, slices, shape } = hasPods && draws.chance(0.3) ? drawPods(draws, tier) : drawTpu(draws);
  const end = draws.pick(ENDS);
  const onTerm = draws.pick(ON_TERM);
  const lines = draws.between(1, 40);
  const taskRetries = end === 'fails once' ? 2 : 0;
  const run = TELLING(port) + commandOf({ end, onTerm, lines, lineMs: spanOf(tier, 'line') });
  return {
    ...{ id, hosts, slices, taskRetries },
    submitAt: Math.round(draws.next() * spanOf(tier, 'submits')),
    user: draws.pick(['alice', 'alice', 'bob', 'carol']),
    kind: `${slices} x ${shape}, ${lines} lines, ${end}, at SIGTERM it ${onTerm}`,
    file: {
      name: id,
      priority: draws.between(1, 5),
      slices,
      grace: Math.ceil(30 / tier.factor),
      retries: { preemption: PLENTY, infrastructure: PLENTY, task: taskRetries },
      ...machines,
      command: { run },
    },
  };
}

/** The section of a job file that asks for machines, and what comes of it. */
interface DrawnMachines {
  readonly machines: Readonly<Record<string, unknown>>;
  readonly hosts: number;
  readonly slices: number;
  readonly shape: string;
}

function drawTpu(draws: Draws): DrawnMachines {
  const { accelerator, hosts, slices } = draws.pick(TPU_SHAPES);
  const tpu = {
    accelerator,
    zones: draws.chance(0.5) ? ZONES : ZONES.toReversed(),
    allocation_mode: draws.pick(['queued-resources', 'tpu-vm']),
    pricing: 'spot',
  };
  return { machines: { tpu }, hosts, slices, shape: accelerator };
}

function drawPods(draws: Draws, tier: Tier): DrawnMachines {
  const { workers, cpus, slices } = draws.pick(POD_SHAPES);
  // As short as it may be: what does not start is given back several times in a seed.
  const gangSeconds = Math.max(10, Math.round(spanOf(tier, 'gang') / 1_000));
  const kubernetes = { image: 'chaos:1', workers, cpus, gang_timeout: `${gangSeconds}s` };
  return { machines: { kubernetes }, hosts: workers, slices, shape: `${workers} pods of ${cpus} CPUs` };
}

interface CommandDraw {
  readonly end: (typeof ENDS)[number];
  readonly onTerm: (typeof ON_TERM)[number];
  readonly lines: number;
  readonly lineMs: number;
}

/** The command, behind the opening with which it tells the listener. */
function commandOf({ end, onTerm, lines, lineMs }: CommandDraw): string {
  // Answered between two lines: what was told is printed then.
  const answers = {
    dies: 'trap - TERM; kill -TERM $BASHPID',
    saves: 'say "L $JOBCTL_JOB_ID saved"; tell END "0 early"; exit 0',
    tells: 'tell END "143 early"; exit 143',
    ignores: ':',
  };
  const codes = {
    ok: 'code=0',
    fails: 'code=3',
    'fails once': 'code=0; [ "$JOBCTL_ATTEMPT" = 1 ] && code=5',
    'one host fails': 'code=0; [ "$JOBCTL_HOST_INDEX$JOBCTL_SLICE_INDEX" = 00 ] && code=7',
  };
  return `heard=
trap 'tell TERM "$(cat "$JOBCTL_NOTICE_FILE" 2>/dev/null)"; heard=1' TERM
${codes[end]}
for ((n = 1; n <= ${lines}; n++)); do
  say "L $JOBCTL_JOB_ID $JOBCTL_ATTEMPT $n $RANDOM"
  rest ${lineMs / 1000}
  if [ "$heard" ]; then ${answers[onTerm]}; fi
done
tell END "$code all"
exit $code
`;
}

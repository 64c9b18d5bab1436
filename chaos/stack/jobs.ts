import type { AskedJob } from '../oracle/evidence.js';
import { TELLING } from '../oracle/told.js';
import type { Draws } from '../random.js';
import { drawSection, type JobKind } from './sections.js';
import { spanOf, type Tier } from './tier.js';

/** A job of a seed: what is submitted, when and by whom, and what the oracle is told of the job. */
export interface DrawnJob extends AskedJob {
  /** Time after the beginning of the seed, ms. */
  readonly submitAt: number;
  readonly user: string;
  readonly kind: string;
  readonly file: Readonly<Record<string, unknown>>;
}

/** The end of a command that nothing disturbs. */
const ENDS = ['ok', 'ok', 'ok', 'ok', 'fails', 'fails once', 'one host fails'] as const;
/** A command reports SIGTERM, and then dies of it, saves and exits with 0, reports and exits with 143, or goes on. */
const ON_TERM = ['dies', 'saves', 'saves', 'tells', 'ignores'] as const;
/** More retries than chaos can use up: no job may end for lack of one. */
const PLENTY = 50;

export function drawJobs(draws: Draws, { seed, count, tier, port, kind, prefix = 'c' }: JobDraw): readonly DrawnJob[] {
  return Array.from({ length: count }, (_, index): DrawnJob => {
    const job = drawJob(draws.part(index), {
      id: `${prefix}${seed}-${index}`,
      tier,
      port,
      kind,
      isOfSecond: prefix !== 'c',
    });
    return prefix === 'c' ? job : { ...job, isTheirs: true };
  });
}

interface JobDraw {
  readonly seed: number;
  readonly count: number;
  readonly tier: Tier;
  /** Port of the listener. */
  readonly port: number;
  /** Kind of all jobs. Absent: each job draws its own. */
  readonly kind?: JobKind | undefined;
  /** First letter of the names: `t` for jobs of the second installation. */
  readonly prefix?: 'c' | 't';
}

/** The part of a job that the oracle is told. */
export const askedOf = ({ id, slices, hosts, taskRetries, isTheirs }: DrawnJob): AskedJob => ({
  ...{ id, slices, hosts, taskRetries },
  ...(isTheirs && { isTheirs }),
});

interface OneDraw {
  readonly id: string;
  readonly tier: Tier;
  readonly port: number;
  readonly kind: JobKind | undefined;
  readonly isOfSecond: boolean;
}

function drawJob(draws: Draws, { id, tier, port, kind, isOfSecond }: OneDraw): DrawnJob {
  const { machines, hosts, slices, shape } = drawSection(draws, { tier, isOfSecond, kind });
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

interface CommandDraw {
  readonly end: (typeof ENDS)[number];
  readonly onTerm: (typeof ON_TERM)[number];
  readonly lines: number;
  readonly lineMs: number;
}

/** The script of a command, to be put behind TELLING. */
function commandOf({ end, onTerm, lines, lineMs }: CommandDraw): string {
  // Runs between two lines, when each reported line has been printed.
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

import type { AskedAfter, AskedJob } from '../oracle/evidence.js';
import { METRIC } from '../oracle/metrics.js';
import { TOLD_KINDS } from '../oracle/notices.js';
import { TELLING } from '../oracle/told.js';
import type { Draws } from '../random.js';
import { drawSection, drawSmallSection, type JobKind } from './sections.js';
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
const ENDS_OF_MEMBERS = ['ok', 'ok', 'one member fails', 'one member fails in the first round'] as const;
/** A command reports SIGTERM, and then dies of it, saves and exits with 0, reports and exits with 143, or goes on. */
const ON_TERM = ['dies', 'saves', 'saves', 'tells', 'ignores'] as const;
/** More retries than chaos can use up: no job may end for lack of one. */
const PLENTY = 50;

export function drawJobs(draws: Draws, of: JobDraw): readonly DrawnJob[] {
  const { seed, count, prefix = 'c' } = of;
  return Array.from({ length: count }, (_, index): DrawnJob => {
    const job = drawJob(draws.part(index), { ...of, id: `${prefix}${seed}-${index}` });
    return prefix === 'c' ? job : { ...job, isTheirs: true };
  });
}

export interface JobDraw {
  readonly seed: number;
  readonly count: number;
  readonly tier: Tier;
  /** Port of the listener. */
  readonly port: number;
  /** Kind of all jobs. Absent: each job draws its own. */
  readonly kind?: JobKind | undefined;
  /** First letter of the names: `t` for jobs of the second installation. */
  readonly prefix?: 'c' | 't';
  /** URL of the receiver of all events. Absent: nobody is told. */
  readonly hook?: string;
}

/** Name of the secret by which the notices of chaos are signed. */
export const HOOK_SECRET = 'hook-key';

/** The part of a job that the oracle is told. */
export const askedOf = ({ id, slices, hosts, taskRetries, isTheirs, after }: DrawnJob): AskedJob => ({
  ...{ id, slices, hosts, taskRetries },
  ...(isTheirs && { isTheirs }),
  ...(after && { after }),
});

interface OneDraw extends Omit<JobDraw, 'seed' | 'count'> {
  readonly id: string;
  /** One host, and few lines. */
  readonly isSmall?: true;
  /** The file of a group, for its members. */
  readonly isArray?: true;
  readonly after?: AskedAfter;
}

export function drawJob(
  draws: Draws,
  { id, tier, port, kind, prefix = 'c', hook, isSmall, isArray, after }: OneDraw,
): DrawnJob {
  const isOfSecond = prefix !== 'c';
  const draw = isSmall ? drawSmallSection : drawSection;
  const { machines, hosts, slices, shape } = draw(draws, { tier, isOfSecond, kind });
  const end = draws.pick(isArray ? ENDS_OF_MEMBERS : ENDS);
  const onTerm = draws.pick(ON_TERM);
  const lines = draws.between(1, isSmall ? 10 : 40);
  const taskRetries = end === 'fails once' ? 2 : 0;
  const run = TELLING(port) + commandOf({ end, onTerm, lines, lineMs: spanOf(tier, 'line') });
  return {
    ...{ id, hosts, slices, taskRetries },
    ...(after && { after }),
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
      ...(hook !== undefined && { notify: { on: [...TOLD_KINDS], to: { webhook: hook, secret: HOOK_SECRET } } }),
      ...(after && { after: { [after.kind]: after.of } }),
      command: { run },
    },
  };
}

interface CommandDraw {
  readonly end: (typeof ENDS)[number] | (typeof ENDS_OF_MEMBERS)[number];
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
    'one member fails': 'code=0; [ "$JOBCTL_ARRAY_INDEX" = 1 ] && code=4',
    'one member fails in the first round': 'code=0; case "$JOBCTL_JOB_ID" in *-r[0-9]-*) ;; *-1) code=4 ;; esac',
    'one host fails': 'code=0; [ "$JOBCTL_HOST_INDEX$JOBCTL_SLICE_INDEX" = 00 ] && code=7',
  };
  return `heard=
trap 'tell TERM "$(cat "$JOBCTL_NOTICE_FILE" 2>/dev/null)"; heard=1' TERM
${codes[end]}
for ((n = 1; n <= ${lines}; n++)); do
  say "L $JOBCTL_JOB_ID $JOBCTL_ATTEMPT $n $RANDOM JOBCTL_METRIC ${METRIC}=$((JOBCTL_ATTEMPT * 1000 + n)) step=$n"
  rest ${lineMs / 1000}
  if [ "$heard" ]; then ${answers[onTerm]}; fi
done
tell END "$code all"
exit $code
`;
}

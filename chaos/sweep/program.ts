import { TELLING } from '../oracle/told.js';
import type { Draws } from '../random.js';
import { ZONES } from '../stack/sections.js';
import { ON_TERM } from './points.js';

export interface Program {
  /** Run time of the first attempt; later ones take `LATER_RUN_S`. */
  readonly runsS: number;
  readonly onTerm: (typeof ON_TERM)[number];
}

const LATER_RUN_S = 3;
/** More retries than a sweep can use up. */
const PLENTY = 50;

export const programOf = (runsS: number, draws: Draws): Program => ({ runsS, onTerm: draws.pick(ON_TERM) });

export function sweptFile(job: {
  readonly id: string;
  readonly accelerator: string;
  readonly slices: number;
  readonly program: Program;
  readonly port: number;
}): Readonly<Record<string, unknown>> {
  return {
    name: job.id,
    slices: job.slices,
    grace: 30,
    retries: { preemption: PLENTY, infrastructure: PLENTY, task: 0 },
    tpu: { accelerator: job.accelerator, zones: ZONES, allocation_mode: 'tpu-vm', pricing: 'spot' },
    command: { run: TELLING(job.port) + commandOf(job.program) },
  };
}

/** A script that runs for `runsS` by its own clock, and answers SIGTERM within half a second. */
function commandOf({ runsS, onTerm }: Program): string {
  const answers = {
    dies: 'trap - TERM; kill -TERM $BASHPID',
    saves: 'say "L $JOBCTL_JOB_ID saved"; tell END "0 early"; exit 0',
    tells: 'tell END "143 early"; exit 143',
    ignores: ':',
  };
  return `heard=
trap 'tell TERM "$(cat "$JOBCTL_NOTICE_FILE" 2>/dev/null)"; heard=1' TERM
until=$((\${EPOCHREALTIME/[^0-9]/} + (JOBCTL_ATTEMPT == 1 ? ${runsS} : ${LATER_RUN_S}) * 1000000))
for ((n = 0; \${EPOCHREALTIME/[^0-9]/} < until; n++)); do
  ((n % 10)) || say "L $JOBCTL_JOB_ID $JOBCTL_ATTEMPT $n $RANDOM"
  rest 0.5
  if [ "$heard" ]; then ${answers[onTerm]}; fi
done
tell END "0 all"
exit 0
`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { RehearsalAdmin } from '../../cli/local/rehearsal/rehearsal-admin.js';
import { type CommandProcess, processesOf } from '../../chaos/oracle/commands.js';
import { Listener } from '../../chaos/oracle/listener.js';
import { TELLING } from '../../chaos/oracle/told.js';
import { quotaText } from '../../chaos/stack/pool.js';
import { PrivateStack } from '../../chaos/stack/private-stack.js';
import { TIERS } from '../../chaos/stack/tier.js';
import { until } from '../../test/until.js';
import { CloudJournal } from './cloud-journal.js';
import { CLOUD, type Kind, ZONES } from './kinds.js';
import { type Recovery, type StageTimes, stageTimes } from './stages.js';

export interface KindFigures {
  readonly kind: Kind;
  readonly jobs: number;
  readonly samples: readonly StageTimes[];
  /** API calls per recovery by method, without listings. */
  readonly calls: ReadonlyMap<string, number>;
}

export interface Size {
  readonly samples: number;
  readonly jobs: number;
}

const KIND_MS = 15 * 60_000;
const RECOVERY_MS = 120_000;
const SEED = 14;
/** More units than the jobs here ask for. */
const UNITS = 65_536;

/** Preempts jobs again and again, side by side, on a private stack with production's timers. */
export async function measureKind(kind: Kind, size: Size, tell: (step: string) => void): Promise<KindFigures> {
  const listener = await Listener.open();
  const stack = await PrivateStack.start(TIERS.full, SEED, quotaText(UNITS));
  let isDone = false;
  try {
    const admin = new RehearsalAdmin(stack.sources.admin);
    await admin.post('configure', { ...CLOUD, ...kind.settings });
    if (kind.zone === 'busy') await crowd(stack, admin);
    const run = new Run(kind, size, { stack, admin, listener, tell });
    const samples = await run.all();
    isDone = true;
    return { kind, jobs: size.jobs, samples, calls: run.callsPerRecovery };
  } finally {
    if (!isDone) tell(`its folder stays: ${stack.directory}`);
    await stack.stop(!isDone);
    await listener.close();
  }
}

/** Submits a job that waits all the time, so that its zone is listed more often. */
async function crowd({ jobs }: PrivateStack, admin: RehearsalAdmin): Promise<void> {
  await admin.post('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'waiting' });
  await jobs.submit({ job: jobFile('waiting', ZONES[0], 'true'), name: 'waiting', user: 'alice' });
}

interface RunParts {
  readonly stack: PrivateStack;
  readonly admin: RehearsalAdmin;
  readonly listener: Listener;
  readonly tell: (step: string) => void;
}

class Run {
  readonly #kind: Kind;
  readonly #size: Size;
  readonly #parts: RunParts;
  readonly #journal: CloudJournal;
  readonly #samples: StageTimes[] = [];
  #begun = 0;
  #calls = new Map<string, number>();

  constructor(kind: Kind, size: Size, parts: RunParts) {
    this.#kind = kind;
    this.#size = size;
    this.#parts = parts;
    this.#journal = new CloudJournal(parts.admin);
  }

  async all(): Promise<readonly StageTimes[]> {
    const names = Array.from({ length: this.#size.jobs }, (_, index) => `r${index}`);
    await Promise.all(names.map((name, index) => this.#submit(name, index)));
    const first = await Promise.all(names.map((name) => this.#begin(name, 0)));
    await this.#journal.read();
    const before = new Map(this.#journal.calls);
    const deadline = Date.now() + KIND_MS;
    await Promise.all(first.map((command) => this.#preemptAgainAndAgain(command, deadline)));
    await this.#journal.read();
    for (const [method, count] of this.#journal.calls) this.#calls.set(method, count - (before.get(method) ?? 0));
    return this.#samples;
  }

  get callsPerRecovery(): ReadonlyMap<string, number> {
    const others = [...this.#calls].filter(([method, count]) => !method.startsWith('List') && count > 0);
    return new Map(others.map(([method, count]) => [method, count / this.#samples.length]));
  }

  async #submit(name: string, index: number): Promise<void> {
    const zone = ZONES[this.#kind.zone === 'quiet' ? index % ZONES.length : 0] as string;
    const job = jobFile(name, zone, TELLING(this.#parts.listener.port) + WAITS_FOR_ITS_NOTICE);
    await this.#parts.stack.jobs.submit({ job, name, user: 'alice' });
  }

  async #preemptAgainAndAgain(first: CommandProcess, deadline: number): Promise<void> {
    for (let command = first; this.#begun < this.#size.samples && Date.now() < deadline;) {
      this.#begun += 1;
      command = await this.#preemptOnce(command);
    }
  }

  async #preemptOnce(command: CommandProcess): Promise<CommandProcess> {
    const { min, max } = this.#kind.dwellMs;
    await sleep(min + Math.random() * (max - min));
    const { job, node: lost } = command;
    await this.#parts.admin.post('preempt', { name: lost, ...this.#kind.how });
    const next = await this.#begin(job, command.attempt);
    await this.#journal.read();
    const heardAt = this.#processes(job).find(({ process }) => process === command.process)?.term?.at;
    const recovery: Recovery = { job, lost, next: next.node, heardAt, runsAt: next.begunAt };
    this.#samples.push(stageTimes(recovery, this.#journal));
    if (this.#samples.length % 20 === 0) this.#parts.tell(`${this.#samples.length} recoveries`);
    return next;
  }

  /** Waits for the job's command of an attempt after this one. */
  #begin(job: string, attempt: number): Promise<CommandProcess> {
    const find = (): CommandProcess | undefined => this.#processes(job).find((command) => command.attempt > attempt);
    return until(`${job} runs after attempt ${attempt}`, find, RECOVERY_MS);
  }

  #processes(job: string): readonly CommandProcess[] {
    return processesOf(this.#parts.listener.told.filter((told) => told.job === job).slice(-LAST_WORDS));
  }
}

/** More messages than two attempts send. */
const LAST_WORDS = 12;

function jobFile(name: string, zone: string, run: string): Readonly<Record<string, unknown>> {
  return {
    name,
    retries: { preemption: 10_000, infrastructure: 0, task: 0 },
    tpu: { accelerator: 'v5litepod-4', zone, allocation_mode: 'queued-resources', pricing: 'spot' },
    command: { run },
  };
}

/** Looks for its notice every 20 ms, ignores SIGTERM, and ends as soon as it has reported the notice. */
const WAITS_FOR_ITS_NOTICE = `trap '' TERM
until [ -e "$JOBCTL_NOTICE_FILE" ]; do rest 0.02; done
tell TERM "$(<"$JOBCTL_NOTICE_FILE")"
tell END "0 early"
`;

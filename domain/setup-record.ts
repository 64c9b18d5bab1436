import { z } from 'zod';
import { MOST_HOSTS } from './slice.js';
import type { EpochMs } from './units.js';

/** One step on one host, for `status --timeline`: its last try, by the worker's clock. */
export interface SetUpStepRecord {
  /** Position among all hosts of all slices, from 0, as in the names of logs. */
  readonly host: number;
  readonly module: string;
  /** `check` if the module was found unchanged. For the module `connect`: the wait until the host answered. */
  readonly step: string;
  readonly startedAt: EpochMs;
  /** Start of its first try, if there were several. */
  readonly firstStartedAt?: EpochMs;
  /** Absent while the step runs. */
  readonly endedAt?: EpochMs;
  readonly code?: number;
  readonly tries: number;
  readonly outcome?: 'unchanged' | 'done' | 'failed';
}

/** The set-up of one attempt in its stored form (domain/store-layout.ts, setUpObject). */
export interface SetUpRecord {
  readonly v: 1;
  readonly modules: readonly string[];
  /** Number of hosts. */
  readonly hosts: number;
  readonly startedAt: EpochMs;
  /** Absent while the set-up runs. */
  readonly endedAt?: EpochMs;
  /** Number of hosts on which each module is ready. */
  readonly ready: Readonly<Record<string, number>>;
  readonly steps: readonly SetUpStepRecord[];
}

const time = z.number().nonnegative().max(8.64e15);
const whole = z.int().nonnegative();
const recordShape = z.object({
  v: z.literal(1),
  modules: z.array(z.string()),
  hosts: whole.max(MOST_HOSTS),
  startedAt: time,
  endedAt: time.exactOptional(),
  ready: z.record(z.string(), whole),
  steps: z.array(
    z.object({
      ...{ host: whole.max(MOST_HOSTS), module: z.string(), step: z.string(), startedAt: time },
      ...{ firstStartedAt: time.exactOptional(), endedAt: time.exactOptional(), code: z.int().exactOptional() },
      ...{ tries: whole, outcome: z.enum(['unchanged', 'done', 'failed']).exactOptional() },
    }),
  ),
});

/** Reads a stored record. Undefined for a text that no worker writes: hosts too may write into the bucket of their jobs. */
export function readSetUpRecord(text: string): SetUpRecord | undefined {
  try {
    return recordShape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `ssh 4/4, gcsfuse 3/4`: the number of hosts on which each module is ready. */
export function setUpCounts({ modules, hosts, ready }: Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'>): string {
  return modules.map((module) => `${module} ${ready[module] ?? 0}/${hosts}`).join(', ');
}

/**
 * The progress of a set-up that is under way: `venv 3/4 hosts, host 2: requirements`. The module is the first that is not ready
 * on all hosts. The host is the one that has been at its step for longest.
 * @param isAttended whether a worker attends it: steps of a worker that is gone are not under way
 */
export function setUpText(record: SetUpRecord, { isAttended }: { readonly isAttended: boolean }): string {
  const { modules, hosts, ready, steps } = record;
  const isConnected = (host: number): boolean =>
    steps.some((step) => step.host === host && step.module === CONNECT && step.endedAt !== undefined);
  const connected = new Set(steps.map(({ host }) => host).filter(isConnected)).size;
  const module = modules.find((name) => (ready[name] ?? 0) < hosts);
  const isConnecting = connected === 0 || module === undefined;
  const count = isConnecting
    ? `connected to ${connected}/${hosts} hosts`
    : `${module} ${ready[module] ?? 0}/${hosts} hosts`;
  if (!isAttended) return `${count}; no worker is at it now`;
  const slowest = latestSteps(record)
    .filter(({ endedAt, outcome }) => endedAt === undefined || outcome === 'failed')
    .toSorted((a, b) => since(a) - since(b))[0];
  return slowest === undefined ? count : `${count}, ${stepText(slowest, isConnecting ? CONNECT : module)}`;
}

/** The module and step that stand for the wait until a host answers. */
export const CONNECT = 'connect';

/** The last step that each host began. A step that a lost worker left open is older than the step of the worker after it. */
function latestSteps({ steps }: SetUpRecord): readonly SetUpStepRecord[] {
  const latest = new Map<number, SetUpStepRecord>();
  for (const step of steps) {
    const known = latest.get(step.host);
    if (known === undefined || step.startedAt >= known.startedAt) latest.set(step.host, step);
  }
  return [...latest.values()];
}

const since = ({ firstStartedAt, startedAt }: SetUpStepRecord): EpochMs => firstStartedAt ?? startedAt;

function stepText({ host, module, step, endedAt, code, tries }: SetUpStepRecord, shown: string): string {
  if (module === CONNECT) return `host ${host} does not answer yet`;
  const name = module === shown ? step : `${module} ${step}`;
  if (endedAt !== undefined) return `host ${host}: ${name} ended with code ${code ?? '?'}, to be tried again`;
  return `host ${host}: ${name}${tries === 1 ? '' : `, try ${tries}`}`;
}

import type { EpochMs } from './units.js';

/** One step on one host: what `status --timeline` draws. Its last try, by the clock of the worker. */
export interface SetUpStepRecord {
  /** Position among all hosts of all slices, from 0: what logs are named by. */
  readonly host: number;
  readonly module: string;
  /** `check` for a module that was found unchanged; of the module `connect`: the wait until the host answered. */
  readonly step: string;
  readonly startedAt: EpochMs;
  /** Of its first try, where there were several. */
  readonly firstStartedAt?: EpochMs;
  /** Absent while it runs. */
  readonly endedAt?: EpochMs;
  readonly code?: number;
  readonly tries: number;
  readonly outcome?: 'unchanged' | 'done' | 'failed';
}

/** The set-up of one attempt, as it is stored (domain/store-layout.ts, setUpObject). */
export interface SetUpRecord {
  readonly v: 1;
  readonly modules: readonly string[];
  /** How many hosts there are. */
  readonly hosts: number;
  readonly startedAt: EpochMs;
  /** Absent while it is under way. */
  readonly endedAt?: EpochMs;
  /** On how many hosts each module is ready. */
  readonly ready: Readonly<Record<string, number>>;
  readonly steps: readonly SetUpStepRecord[];
}

/** `ssh 4/4, gcsfuse 3/4`: on how many hosts each module is ready. */
export function setUpCounts({ modules, hosts, ready }: Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'>): string {
  return modules.map((module) => `${module} ${ready[module] ?? 0}/${hosts}`).join(', ');
}

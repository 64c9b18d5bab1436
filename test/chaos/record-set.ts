import { createHmac } from 'node:crypto';
import type {
  AskedGroup,
  AskedJob,
  CloudEvent,
  Deed,
  Evidence,
  GotNotice,
  LeftMachine,
  ProcessLife,
  SeenGroup,
  SeenJob,
  SeenMetric,
  StoredEvent,
  StoredLog,
  Told,
} from '../../chaos/oracle/evidence.js';

/** Forged records of a small run, for the oracle: time is counted in seconds from 0. */
export class RecordSet {
  readonly jobs: AskedJob[] = [];
  readonly deeds: Deed[] = [];
  readonly cloud: CloudEvent[] = [];
  readonly told: Told[] = [];
  readonly stored: StoredLog[] = [];
  readonly results: SeenJob[] = [];
  readonly leases: string[] = [];
  readonly lives: ProcessLife[] = [];
  /** Of the pool's own. */
  readonly machines: LeftMachine[] = [];
  readonly groups: AskedGroup[] = [];
  readonly groupsSeen: SeenGroup[] = [];
  readonly notices: GotNotice[] = [];
  readonly metrics: SeenMetric[] = [];
  readWithinMs: number | undefined;
  theirHost: string | undefined;
  #processes = 0;

  evidence(): Evidence {
    const { jobs, deeds, cloud, told, stored, results, leases, lives, machines, readWithinMs, theirHost } = this;
    const { groups, groupsSeen, notices, metrics } = this;
    return {
      ...{
        seed: 1,
        poolUnits: 32,
        podCpus: 16,
        vmUnits: 4,
        machines,
        jobs,
        deeds,
        cloud,
        told,
        stored,
        results,
        leases,
        lives,
        ...{ groups, groupsSeen, notices },
      },
      ...(metrics.length > 0 && { metrics }),
      ...(readWithinMs !== undefined && { readWithinMs }),
      ...(theirHost !== undefined && { theirHost }),
    };
  }

  job(id: string, more: Partial<AskedJob> = {}): void {
    this.jobs.push({ id, slices: 1, hosts: 1, taskRetries: 0, ...more });
  }

  /** The command of one host begins, prints and, with a code, ends. What it printed is stored, unless `stored` says otherwise. */
  command(job: string, at: number, what: CommandStory = {}): void {
    const {
      attempt = 1,
      slice = 0,
      host = 0,
      lines = 3,
      term,
      code,
      isEarly = term !== undefined,
      goneAt,
      node = `jc-${job}-g1`,
      on,
      two,
      stored,
      isPlotted = false,
    } = what;
    this.#processes += 1;
    let number = 0;
    const tell = (kind: Told['kind'], second: number, text: string): void => {
      number += 1;
      const process = `p${this.#processes}`;
      this.told.push({ at: second * 1000, job, attempt, slice, host, process, number, kind, text });
    };
    const printed = Array.from(
      { length: lines },
      (_, index) =>
        `L ${job} ${index + 1}${isPlotted ? ` JOBCTL_METRIC chaos=${attempt * 1_000 + index + 1} step=${index + 1}` : ''}`,
    );
    tell('BEGIN', at, node);
    if (on !== undefined) tell('HOST', at, on);
    if (two !== undefined) tell('TWO', at, two);
    for (const line of printed) tell('LINE', at + 1, line);
    if (term !== undefined) tell('TERM', at + 2, term);
    if (code !== undefined) tell('END', at + 3, `${code} ${isEarly ? 'early' : 'all'}`);
    if (goneAt !== undefined) tell('GONE', goneAt, '');
    // These jobs have several slices or several hosts, never both.
    this.stored.push({ job, attempt, host: slice + host, text: stored ?? printed.map((line) => `${line}\n`).join('') });
  }

  /** The states that a request and its node go through, by the cloud's journal. */
  states(name: string, at: number, states: readonly string[], chips = 4): void {
    let from = 'absent';
    for (const to of states) {
      this.event('node-state', name, at, { from, to, chips });
      from = to;
    }
  }

  event(kind: string, name: string, at: number, details: CloudEvent['details']): void {
    const subject = name.includes('/') ? name : `projects/p/locations/z/nodes/${name}`;
    this.cloud.push({ seq: this.cloud.length + 1, wall: at * 1000, kind, subject, details });
  }

  /** @param host that whoever asks for it dials; absent: the first installation */
  deleted(name: string, at: number, host?: string): void {
    this.event('api-call', name, at, { method: 'DeleteNode', code: 'OK', ...(host !== undefined && { host }) });
    this.event('node-state', name, at, { from: 'READY', to: 'DELETING', chips: 4 });
    this.event('node-state', name, at + 1, { from: 'DELETING', to: 'gone', chips: 4 });
  }

  deed(at: number, kind: Deed['kind'], about: Pick<Deed, 'job' | 'resource' | 'process'> = {}): void {
    this.deeds.push({ at: at * 1000, kind, text: kind, ...about });
  }

  ended(id: string, phase: string, more: Partial<SeenJob> = {}): void {
    this.results.push({ id, isClosed: true, phase, ...(phase === 'succeeded' ? { exitCode: 0 } : {}), ...more });
  }

  /** A job that was submitted by itself or as a member runs from `at` to `at + 3` and ends with that code. */
  ran(id: string, at: number, code = 0): void {
    this.command(id, at, { code });
    const ended = { endedAt: (at + 4) * 1000, exitCode: code };
    this.ended(id, code === 0 ? 'succeeded' : 'failed', ended);
  }

  /** @param phases of the members, as the group's table shows them; their jobs are those of the first round */
  group(id: string, phases: readonly string[], more: Partial<AskedGroup> = {}): void {
    this.groups.push({ id, slices: 1, hosts: 1, taskRetries: 0, size: phases.length, ...more });
    const counts: Record<string, number> = {};
    for (const phase of phases) counts[phase] = (counts[phase] ?? 0) + 1;
    const members = phases.map((phase, index) => ({ index, id: `${id}-${index}`, phase }));
    this.groupsSeen.push({ id, isClosed: true, counts, members });
  }

  /** The receiver takes a notice. @param key that it is signed by; absent: its own */
  notice(
    job: string,
    { at, kind }: Pick<StoredEvent, 'at' | 'kind'>,
    { id = `${job}-${kind}-${at}`, key = KEY, isTaken = true } = {},
  ): void {
    const body = JSON.stringify({ type: `job.${kind}`, data: { job, event: { at, kind } } });
    const signature = `v1,${createHmac('sha256', key).update(`${id}.9.${body}`).digest('base64')}`;
    this.notices.push({ at: 9_000, id, timestamp: '9', signature, body, isTaken });
  }

  /** A job that runs on a slice of its own, succeeds, and leaves nothing. */
  success(id: string, at = 0): void {
    this.job(id);
    this.states(`jc-${id}-g1`, at, ['CREATING', 'READY']);
    this.command(id, at, { code: 0 });
    this.deleted(`jc-${id}-g1`, at + 10);
    this.ended(id, 'succeeded');
  }
}

/** The key that the receiver of chaos knows: 32 bytes of 7. */
const KEY = Buffer.alloc(32, 7);

interface CommandStory {
  readonly attempt?: number;
  readonly slice?: number;
  readonly host?: number;
  readonly lines?: number;
  /** The notice that lay there as it heard SIGTERM. */
  readonly term?: string;
  readonly code?: number;
  /** Its end was an answer to SIGTERM. */
  readonly isEarly?: boolean;
  /** Seconds; its connection ended. */
  readonly goneAt?: number;
  readonly node?: string;
  /** The kernel's name of its host. */
  readonly on?: string;
  /** The process that had its host's lock. */
  readonly two?: string;
  readonly stored?: string;
  /** Each line tells a metric. */
  readonly isPlotted?: boolean;
}

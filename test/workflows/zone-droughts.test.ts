import assert from 'node:assert/strict';
import type { AttemptEnd } from '../../contract/job-activities.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { MachineRef } from '../../domain/machines.js';
import type { Condition, RefusalScope } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Draws } from '../../chaos/random.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { VirtualServer } from '../virtual-clock/virtual-server.js';

const SEED = Number(process.env['JOBCTL_TEST_SEED'] ?? 29);
const JOBS = Number(process.env['JOBCTL_TEST_RACES'] ?? 5);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 10, 1);
const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a', 'us-west1-c'];
const SCOPES: readonly RefusalScope[] = ['zone', 'zone-lasting', 'permission', 'moment', 'unknown', 'request'];
/** Of one zone of each job: if every zone says that the request itself is wrong, the job is to end. */
const PASSING: readonly RefusalScope[] = SCOPES.filter((scope) => scope !== 'request');
/** What a zone does with a request that comes while it has no chips: lets it wait, says no, or lets it wait and then says no. */
const MANNERS = ['waits', 'refuses', 'fails'] as const;
const DELETION_MS = MINUTE;
const DELAY_MS = { least: 50, most: 2 * SECOND };
/** Of a request in a zone that has chips: from the create call until READY. */
const READY_MS = { least: 20 * SECOND, most: 2 * MINUTE };

interface Window {
  readonly from: number;
  readonly to: number;
}

/**
 * In how long a zone that takes the request has it running, in ms. The zones are asked in turn, each for `patienceMs` alone or beside
 * another; a refused one is passed by at once and asked again after `zoneBackoffMaxMs` at most. So a zone has its turn within a round
 * of all zones and one such pause. Each turn may need a deletion, each call and message `DELAY_MS.most`, and the request `READY_MS`.
 * A job with one request at a time that goes from zone to zone stays in each eight times as long at most (`ZoneRace`).
 */
function boundMs({ zones, hedge }: { readonly zones: number; readonly hedge: number }): number {
  const { zonePatienceMs, zonePatiencePreemptedMs, zoneBackoffMaxMs } = DEFAULT_TIMINGS;
  const patienceMs = Math.max(zonePatienceMs, zonePatiencePreemptedMs);
  const turnMs = patienceMs * (hedge === 1 ? 8 : 1) + DELETION_MS + 20 * DELAY_MS.most;
  return zones * turnMs + zoneBackoffMaxMs + READY_MS.most + 20 * DELAY_MS.most;
}

/** Zones that have chips at some times and do, at the others, what providers do. */
class Sky implements VirtualCloud {
  readonly zones: readonly string[];
  readonly hedge: number;
  readonly endMs = 12 * HOUR;
  readonly windows: ReadonlyMap<string, readonly Window[]>;
  readonly present = new Set<string>();
  most = 0;
  refusals = 0;
  readonly #idle: Window[] = [];
  /** Undefined: it runs. */
  #idleSince: number | undefined = 0;
  readonly #server: VirtualServer;
  readonly #draws: Draws;
  readonly #mild: string;
  readonly #manners: ReadonlyMap<string, (typeof MANNERS)[number]>;

  constructor(server: VirtualServer, draws: Draws) {
    this.#server = server;
    this.#draws = draws;
    this.zones = ZONES.slice(0, draws.between(1, ZONES.length));
    this.hedge = draws.between(1, 3);
    this.#mild = draws.pick(this.zones);
    this.windows = new Map(this.zones.map((zone, index) => [zone, this.#draw(draws.part(index))]));
    this.#manners = new Map(this.zones.map((zone) => [zone, draws.pick(MANNERS)]));
  }

  #draw(draws: Draws): readonly Window[] {
    const windows: Window[] = [];
    for (let at = draws.between(0, 3) * HOUR; at < this.endMs;) {
      const to = at + draws.between(5, 240) * MINUTE;
      windows.push({ from: at, to });
      at = to + draws.between(5, 360) * MINUTE;
    }
    return windows;
  }

  get #now(): number {
    return this.#server.now - START;
  }

  #windowOf(zone: string): Window | undefined {
    return this.windows.get(zone)?.find(({ from, to }) => from <= this.#now && this.#now < to);
  }

  async create({ ref: { name, zone } }: { readonly ref: MachineRef }) {
    await this.#server.sleep(this.#draws.between(DELAY_MS.least, DELAY_MS.most));
    if (!this.#windowOf(zone) && this.#manners.get(zone) === 'refuses') return this.#refusal(zone);
    this.present.add(name);
    this.most = Math.max(this.most, this.present.size);
    // An answer is lost, whether the call took effect or not.
    if (!this.#draws.chance(0.1)) return { kind: 'accepted' } as const;
    if (this.#draws.chance(0.5)) this.present.delete(name);
    return { kind: 'unanswered', message: 'DEADLINE_EXCEEDED' } as const;
  }

  #refusal(zone: string) {
    this.refusals += 1;
    const scope = this.#draws.pick(zone === this.#mild ? PASSING : SCOPES);
    return { kind: 'refused', scope, message: `${zone} refuses: ${scope}` } as const;
  }

  async inspect({ name }: MachineRef): Promise<Condition> {
    return this.present.has(name) ? { kind: 'waiting', detail: 'WAITING_FOR_RESOURCES' } : { kind: 'missing' };
  }

  async wait({ zone }: MachineRef, signal: AbortSignal): Promise<Condition> {
    for (;;) {
      const window = this.#windowOf(zone);
      if (!window && this.#manners.get(zone) === 'fails' && this.#draws.chance(0.5)) {
        await this.#server.sleep(this.#draws.between(1, 600) * SECOND, signal);
        return { ...this.#refusal(zone), kind: 'lost', cause: 'refused' };
      }
      const next = window ?? this.windows.get(zone)?.find(({ from }) => from > this.#now);
      await this.#server.sleep(next === undefined ? 100 * HOUR : Math.max(0, next.from - this.#now), signal);
      await this.#server.sleep(this.#draws.between(READY_MS.least, READY_MS.most), signal);
      if (this.#windowOf(zone)) return READY;
    }
  }

  async remove({ name }: MachineRef): Promise<void> {
    await this.#server.sleep(this.#draws.between(SECOND, DELETION_MS));
    this.present.delete(name);
  }

  /** Until its zone has no chips any more. */
  async run({ slices: [slice] }: { readonly slices: readonly { readonly ref: MachineRef }[] }, signal: AbortSignal) {
    const window = this.#windowOf(slice?.ref.zone ?? '');
    this.#idle.push({ from: this.#idleSince ?? this.#now, to: this.#now });
    this.#idleSince = undefined;
    if (window) await this.#server.sleep(window.to - this.#now, signal);
    this.#idleSince = this.#now;
    const lost = { index: 0, cause: 'preempted', message: 'PREEMPTED' } as const;
    return { kind: 'slices-lost', slices: [lost] } satisfies AttemptEnd;
  }

  /** When the job ran nowhere, in ms since the start. */
  get idle(): readonly Window[] {
    return this.#idleSince === undefined ? this.#idle : [...this.#idle, { from: this.#idleSince, to: this.endMs }];
  }
}

describe(`${JOBS} jobs in zones with droughts, refusals and lost answers (model, seed ${SEED})`, function () {
  this.timeout(60_000 + JOBS * 5_000);
  const seen = { jobs: 0, turns: 0, refusals: 0, starts: 0 };
  let sandboxes: Sandboxes;
  before(async () => {
    sandboxes = await Sandboxes.ofThisProcess();
  });

  async function live(number: number): Promise<void> {
    const draws = new Draws(SEED).part(number);
    const what = `job ${number} of seed ${SEED}`;
    const server = new VirtualServer(sandboxes, {
      startAt: START,
      delayMs: () => draws.between(DELAY_MS.least, DELAY_MS.most),
    });
    const sky = new Sky(server, draws.part(0));
    server.serve(virtualActivities(server, sky, { ...DEFAULT_TIMINGS, jobHistoryEvents: draws.pick([200, 10_000]) }));
    // No preemption is to end it, and nothing that a zone says or does not say may cost a retry.
    const job = {
      name: 'train',
      tpu: {
        accelerator: 'v5litepod-8',
        zones: sky.zones,
        hedge: sky.hedge,
        allocation_mode: 'queued-resources',
        pricing: 'spot',
      },
      retries: { preemption: 10_000, infrastructure: 0 },
      command: { run: 'train' },
    };
    const id = `drought-${number}`;
    let end: string | undefined;
    void server
      .start(WorkflowType.Job, id, { v: 1, job })
      .then(({ kind, error }) => (end = `${kind} ${error?.message}`));
    await server.run(START + sky.endMs);
    assert.equal(end, undefined, `${what} has ended: ${end}`);
    assert.ok(sky.most <= sky.hedge + 2, `${what}: ${sky.most} requests at once`);
    assertRan(sky, what);
    seen.jobs += 1;
    seen.refusals += sky.refusals;
    seen.starts += sky.idle.length;
  }

  /** While the job runs nowhere no zone has chips for longer than the bound. */
  function assertRan(sky: Sky, what: string): void {
    const bound = boundMs({ zones: sky.zones.length, hedge: sky.hedge });
    for (const idle of sky.idle)
      for (const [zone, windows] of sky.windows)
        for (const window of windows) {
          const overlap = Math.min(window.to, idle.to) - Math.max(window.from, idle.from);
          if (window.to - window.from > bound) seen.turns += 1;
          assert.ok(
            overlap <= bound,
            `${what}: ${zone} has chips ${text(window)}, and it runs nowhere ${text(idle)}; bound ${Math.round(bound / MINUTE)} min`,
          );
        }
  }

  it('none ends, and each runs within a round of a zone that takes it', async () => {
    for (let number = 0; number < JOBS; number += 1) await live(number);
    assert.equal(seen.jobs, JOBS);
    // A property of nothing would hold too.
    assert.ok(seen.turns >= JOBS / 2 && seen.refusals >= JOBS && seen.starts >= JOBS, JSON.stringify(seen));
  });
});

const text = ({ from, to }: Window): string => `from ${Math.round(from / MINUTE)} to ${Math.round(to / MINUTE)} min`;

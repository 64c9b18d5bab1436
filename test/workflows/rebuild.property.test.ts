import assert from 'node:assert/strict';
import fc from 'fast-check';
import { leaseKey, type LeaseId, type LeaseMessage, type LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { decide } from '../../quota/decide.js';
import { LeaseBook } from '../../workflows/quota/lease-book.js';
import { toLease, toRequest } from '../../workflows/quota/lease-row.js';
import { pool, project } from '../quota/builders.js';

const UNITS = 16;
const POOL = 2 * UNITS;
const CONFIG = pool({ v4: POOL }, project('a', { v4: POOL }));

interface Slice {
  readonly ref: MachineRef;
  readonly lease: LeaseId;
  /** `live`: its create was sent, so it may have chips. */
  state: 'asking' | 'live' | 'gone';
  isTold: boolean;
}

type News =
  | { readonly kind: 'granted'; readonly number: number }
  | { readonly kind: 'revoked'; readonly number: number }
  | { readonly kind: 'restate' }
  | { readonly kind: 'ready' | 'gone' }
  | { readonly kind: 'refused'; readonly slice: string };

/** A job as workflows/job behaves towards its pool. What it is told waits until it looks: a wedged job never does. */
class Job {
  readonly inbox: News[] = [];
  number = 1;
  heldSince: number | undefined;
  hasAsked = false;
  isRevoked = false;
  hasChips = false;
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

/** A pool, its jobs and slices; every step is one of the things that can happen next, in any order. */
class World {
  now = 1;
  book = new LeaseBook({ epoch: 1, rows: [], freed: [] });
  isRebuilding = false;
  losses = 0;
  resets = 0;
  lateClaims = 0;
  unheard = 0;
  granted = 0;
  readonly jobs = ['j0', 'j1', 'j2', 'j3'].map((id) => new Job(id));
  readonly slices: Slice[] = [];
  /** Since the pool's first run: a reset makes Temporal deliver all of it again. */
  readonly said: LeaseMessage[] = [];

  // Jobs and slices ------------------------------------------------------------------------------------------------

  lease({ id, number }: Job): LeaseId {
    return { pool: 'p', job: id, run: 'r', number };
  }

  own({ id }: Job): Slice[] {
    return this.slices.filter(({ lease, state }) => lease.job === id && state !== 'gone');
  }

  say(lease: LeaseId, sender: string, body: LeaseMessageBody): void {
    const message: LeaseMessage = { lease, sender, sequence: this.now, body };
    this.said.push(message);
    this.book.apply(message, this.now);
  }

  ask(job: Job): void {
    job.hasAsked = true;
    this.say(this.lease(job), 'job', {
      kind: 'request',
      // Who is listed last comes first: jobs that hold chips do not win them again by their place alone.
      demand: { project: 'a', user: 'u', priority: 3, submittedAt: 9 - Number(job.id[1]), units: { v4: UNITS } },
      slices: this.own(job).map(({ ref }) => ref),
      ...(job.heldSince === undefined ? {} : { heldSince: job.heldSince }),
      ...(job.hasChips ? { zone: 'z' } : {}),
    });
  }

  /** The job does the next thing that it has to do. */
  act(job: Job): void {
    const news = job.inbox.shift();
    if (news) return this.hear(job, news);
    if (!job.hasAsked) return this.ask(job);
    const [slice] = this.own(job);
    if (job.isRevoked) {
      if (slice) slice.isTold = true;
      else this.giveBack(job);
    } else if (job.heldSince !== undefined && !slice) this.start(job);
  }

  hear(job: Job, news: News): void {
    if (news.kind === 'restate') this.ask(job);
    if (news.kind === 'granted' && news.number === job.number) job.heldSince ??= this.now;
    if (news.kind === 'revoked' && news.number === job.number) job.isRevoked = true;
    if ((news.kind === 'ready' || news.kind === 'gone') && job.heldSince !== undefined) {
      job.hasChips = news.kind === 'ready';
      this.say(this.lease(job), 'job', { kind: 'chips', ...(job.hasChips ? { zone: 'z' } : {}) });
    }
    if (news.kind === 'refused' && !job.isRevoked) {
      job.heldSince = undefined;
      this.ask(job);
    }
  }

  start(job: Job): void {
    const name = `${job.id}-${this.now}`;
    const ref: MachineRef = { kind: 'cloud-tpu', googleProject: 'g', zone: 'z', name, mode: 'tpu-vm' };
    const lease = this.lease(job);
    this.slices.push({ ref, lease, state: 'asking', isTold: false });
    this.say(lease, name, { kind: 'slice', ref });
  }

  giveBack(job: Job): void {
    const lease = this.lease(job);
    job.number += 1;
    [job.heldSince, job.hasAsked, job.isRevoked, job.hasChips] = [undefined, false, false, false];
    this.say(lease, 'job', { kind: 'release', slices: [] });
  }

  /** In the middle of something else: it has not looked at its news yet. */
  hurry(job: Job): void {
    if (job.heldSince !== undefined && !job.isRevoked && this.own(job).length === 0) this.start(job);
  }

  /** The job's command ended. */
  finish(job: Job): void {
    if (job.heldSince !== undefined) job.isRevoked = true;
  }

  go(slice: Slice): void {
    slice.state = 'gone';
    this.say(slice.lease, slice.ref.name, { kind: 'gone' });
  }

  /** The provider took a slice; its job hears of it when it looks. */
  preempt(job: Job): void {
    const slice = this.own(job).find(({ state }) => state === 'live');
    if (!slice) return;
    this.go(slice);
    job.inbox.push({ kind: 'gone' });
  }

  /** A slice that was told to go is seen gone. */
  deleteOne(): void {
    const told = this.slices.find(({ isTold, state }) => isTold && state !== 'gone');
    if (told) this.go(told);
  }

  // The pool -------------------------------------------------------------------------------------------------------

  decideAndDeliver(): void {
    if (this.isRebuilding) return;
    const { book, now } = this;
    book.revokeUnconfirmed(CONFIG.kind === 'limited' ? CONFIG.tiers : [], now);
    const view = {
      config: CONFIG,
      requests: book.waiting.map(toRequest),
      leases: book.leased.map((row) => toLease(row, now)),
    };
    const { grants, preemptions } = decide(view, now);
    for (const grant of grants) book.grant(grant, now);
    for (const preemption of preemptions) book.revoke(preemption, 'r', now);
    this.granted += grants.length;
    const { grants: told, revocations, answers, releases } = book.takePending();
    for (const { job, number } of told) this.jobOf(job).inbox.push({ kind: 'granted', number });
    for (const { lease, reason } of revocations) {
      this.lateClaims += reason === 'r' ? 0 : 1;
      this.jobOf(lease.job).inbox.push({ kind: 'revoked', number: lease.number });
    }
    for (const { slice, isHeld } of answers) this.answer(slice, isHeld);
    for (const { slice } of releases)
      this.slices.filter(({ ref }) => ref.name === slice).forEach((each) => (each.isTold = true));
  }

  answer(name: string, isHeld: boolean): void {
    const slice = this.slices.find(({ ref }) => ref.name === name);
    if (slice?.state !== 'asking' || slice.isTold) return;
    if (isHeld) {
      slice.state = 'live';
      this.jobOf(slice.lease.job).inbox.push({ kind: 'ready' });
    } else {
      this.go(slice);
      this.jobOf(slice.lease.job).inbox.push({ kind: 'refused', slice: name });
    }
  }

  jobOf = (id: string): Job => this.jobs.find((job) => job.id === id) as Job;

  /** @param how a pool that is reset hears everything again that was said to it, before it asks anybody */
  loseMemory(how: 'terminated' | 'reset'): void {
    this.losses += 1;
    this.resets += how === 'reset' ? 1 : 0;
    this.isRebuilding = true;
    this.book = new LeaseBook({ epoch: this.now, rows: [], freed: [], isRebuilding: true });
    if (how === 'terminated') this.said.length = 0;
    for (const message of this.said) this.book.apply(message, this.now);
    this.adoptOpen();
    this.book.hearAnew(this.now);
    for (const job of this.jobs) job.inbox.push({ kind: 'restate' });
    for (const slice of this.slices)
      if (slice.state === 'asking') this.say(slice.lease, slice.ref.name, { kind: 'slice', ref: slice.ref });
  }

  /** The bound is over, whoever has spoken: as `Rebuild` ends. */
  endRebuild(): void {
    if (!this.isRebuilding) return;
    for (const job of this.jobs.filter(({ id }) => !this.book.hasHeard({ id, run: 'r' }))) {
      const [latest] = this.adoptOpen(job.id)
        .filter(({ state }) => state === 'live')
        .toSorted((a, b) => b.lease.number - a.lease.number);
      if (latest) this.book.holdUnheard(leaseKey(latest.lease), this.now);
      this.unheard += 1;
    }
    this.book.endRebuild();
    this.isRebuilding = false;
  }

  adoptOpen(job?: string): Slice[] {
    const open = this.slices.filter(({ state, lease }) => state !== 'gone' && (job === undefined || lease.job === job));
    const demand = { project: 'a', user: 'u', priority: 3, submittedAt: 0, units: { v4: UNITS } };
    for (const { lease, ref } of open) {
      this.book.adopt(lease, demand, ref, this.now);
    }
    return open;
  }

  get live(): number {
    return this.slices.filter(({ state }) => state === 'live').length * UNITS;
  }
}

type Step = (world: World) => void;

/** A counterexample names its steps. */
const named = (name: string, run: Step): Step => Object.assign(run, { [fc.toStringMethod]: () => name });
const ofJob = (name: string, run: (world: World, job: Job) => void): fc.Arbitrary<Step> =>
  fc.nat(3).map((index) => named(`${name} j${index}`, (world) => run(world, world.jobs[index] as Job)));
const ofWorld = (name: string, run: Step): fc.Arbitrary<Step> =>
  fc.nat(0).map(() => named(name, (world) => run(world)));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: ofJob('act', (world, job) => world.act(job)) },
  { weight: 3, arbitrary: ofJob('hurry', (world, job) => world.hurry(job)) },
  { weight: 2, arbitrary: ofJob('finish', (world, job) => world.finish(job)) },
  { weight: 1, arbitrary: ofJob('preempt', (world, job) => world.preempt(job)) },
  { weight: 4, arbitrary: ofWorld('decide', (world) => world.decideAndDeliver()) },
  { weight: 1, arbitrary: ofWorld('lose', (world) => world.loseMemory('terminated')) },
  { weight: 1, arbitrary: ofWorld('reset', (world) => world.loseMemory('reset')) },
  { weight: 1, arbitrary: ofWorld('end', (world) => world.endRebuild()) },
  { weight: 3, arbitrary: ofWorld('gone', (world) => world.deleteOne()) },
);

const [first, second, third] = [0, 1, 2].map((index) => (world: World) => world.act(world.jobs[index] as Job)) as [
  Step,
  Step,
  Step,
];
const decideNow: Step = (world) => world.decideAndDeliver();
const hurry: Step = (world) => world.hurry(world.jobs[0] as Job);
const lose: Step = (world) => world.loseMemory('terminated');
const reset: Step = (world) => world.loseMemory('reset');
const end: Step = (world) => world.endRebuild();

const preempt: Step = (world) => world.preempt(world.jobs[0] as Job);
const othersStart = [second, third, decideNow] as const;
const twoLive = [first, second, decideNow, first, second, first, second, decideNow] as const;
const claimLate = [hurry, first] as const;

/** Random steps seldom come so far by themselves. */
const BEGINNINGS: readonly (readonly Step[])[] = [
  [],
  // A lease that no listing can see is forgotten, its chips go to others, and then its job claims it with a new slice.
  [first, decideNow, first, lose, end, ...othersStart, ...claimLate],
  // The same of a job that says it has chips: it has not heard yet that its slice is gone.
  [first, decideNow, first, first, decideNow, first, lose, preempt, end, ...othersStart, ...claimLate],
  // What jobs said before they had anything is heard again: they are taken for jobs that wait, and the pool for empty.
  [...twoLive, reset, end, third, decideNow, third, third, decideNow],
];

describe('a pool that loses its memory, among jobs that do not answer', () => {
  it('SAFETY: never has more chips live than it has, whatever is said late or never', () => {
    const seen = { losses: 0, resets: 0, unheard: 0, lateClaims: 0, full: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...BEGINNINGS),
        fc.array(step, { minLength: 20, maxLength: 120 }),
        (beginning, steps) => {
          const world = new World();
          for (const each of [...beginning, ...steps]) {
            world.now += 1;
            each(world);
            assert.ok(world.live <= POOL, `${world.live} units are live in a pool of ${POOL}`);
            seen.full += world.live === POOL ? 1 : 0;
          }
          seen.losses += world.losses;
          seen.resets += world.resets;
          seen.unheard += world.unheard;
          seen.lateClaims += world.lateClaims;
        },
      ),
      { numRuns: Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 1_000) },
    );
    for (const [what, count] of Object.entries(seen)) assert.ok(count > 100, `only ${count} times ${what}`);
  });
});

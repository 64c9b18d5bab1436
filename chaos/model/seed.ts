import { decide } from '../../quota/decide.js';
import { DEFAULT_RULES, type LimitedQuota, NO_MEMORY, type QuotaMemory } from '../../quota/quota-config.js';
import type { Deed, Evidence } from '../oracle/evidence.js';
import { judge } from '../oracle/judge.js';
import type { Finding } from '../oracle/verdict.js';
import { Draws } from '../random.js';
import { ModelJob } from './model-job.js';
import type { Program } from './processes.js';
import { type PreemptionKind, VirtualCloud } from './virtual-cloud.js';

const STEP_MS = 2_000;
const MINUTE = 60_000;
const WINDOW_MS = 10 * MINUTE;
/** Virtual time after which an open job is stuck. */
const MOST_MS = 120 * MINUTE;
const POOL_UNITS = 32;
const JOBS = 8;
const DEEDS = 16;

/** Half of the pool is project a's, a quarter b's. The rules' hours are seconds or minutes here, so that they take effect. */
const QUOTA: LimitedQuota = {
  kind: 'limited',
  tiers: [{ v5litepod: POOL_UNITS }],
  projects: [
    { name: 'a', shares: { v5litepod: 0.5 }, nominal: [{ v5litepod: 16 }], members: [] },
    { name: 'b', shares: { v5litepod: 0.25 }, nominal: [{ v5litepod: 8 }], members: [] },
  ],
  rules: {
    ...DEFAULT_RULES,
    minRuntimeMs: 20_000,
    agingMs: 2 * MINUTE,
    maxGuaranteeDelayMs: MINUTE,
    askingTimeoutMs: 5 * MINUTE,
    coolDownMs: 15_000,
    coolDownMaxMs: MINUTE,
  },
};

interface ModelResult {
  readonly findings: readonly Finding[];
  readonly evidence: Evidence;
  /** Absent: a seed of the model leaves no files. */
  readonly directory?: undefined;
}

/** Plays a seed: the shipped decisions against the rehearsal's state machine, on a clock that is stepped. */
export function runModelSeed(seed: number): ModelResult {
  const draws = new Draws(seed);
  const cloud = new VirtualCloud(seed, draws.pick([0, 15_000, 60_000]));
  const jobs: ModelJob[] = [];
  const deeds: Deed[] = [];
  const due = plan(draws, { seed, cloud, jobs, deeds });
  const began = cloud.now;
  let book: Book = { memory: NO_MEMORY, nextAt: 0, asked: '' };
  const isOver = (): boolean => due.length === 0 && cloud.now - began > WINDOW_MS && jobs.every(({ isGone }) => isGone);
  while (!isOver() && cloud.now - began < MOST_MS) {
    cloud.step(STEP_MS);
    while (due[0] !== undefined && began + due[0].at <= cloud.now) due.shift()?.run();
    for (const job of jobs) job.step();
    book = pass(jobs, book, cloud.now);
  }
  const told = jobs.flatMap((job) => job.told);
  const evidence: Evidence = {
    seed,
    poolUnits: POOL_UNITS,
    jobs: jobs.map(({ asked }) => asked),
    deeds,
    cloud: cloud.events,
    told,
    // The model's commands print nothing, so no claim about logs is judged.
    stored: [],
    results: jobs.map(({ asked: { id }, isOver: isClosed, phase, exitCode, why }) => ({
      id,
      isClosed,
      phase,
      why,
      ...(exitCode === undefined ? {} : { exitCode }),
    })),
    leases: jobs.flatMap(({ lease }) => (lease === undefined ? [] : [`lease ${lease.id} is ${lease.state}`])),
  };
  return { findings: judge(evidence), evidence };
}

/** Carried from one decision of the pool to the next: its memory, when it is due again, and the jobs' standing. */
interface Book {
  readonly memory: QuotaMemory;
  readonly nextAt: number;
  readonly asked: string;
}

/** Lets the pool decide, as its workflow does, if a job has changed or a decision is due. */
function pass(jobs: readonly ModelJob[], book: Book, now: number): Book {
  const asked = jobs.map(({ standing }) => standing).join();
  if (asked === book.asked && now < book.nextAt) return book;
  const requests = jobs.flatMap(({ request }) => request ?? []);
  const leases = jobs.flatMap(({ lease }) => lease ?? []);
  const {
    grants,
    preemptions,
    memory,
    nextAt = Infinity,
  } = decide({ config: QUOTA, requests, leases, memory: book.memory }, now);
  for (const { id, tier } of grants) jobs.find(({ leaseId }) => leaseId === id)?.grant(tier);
  for (const { id } of preemptions) jobs.find(({ leaseId }) => leaseId === id)?.revoke();
  return { memory, nextAt, asked };
}

interface Due {
  readonly at: number;
  readonly run: () => void;
}
interface Scene {
  readonly seed: number;
  readonly cloud: VirtualCloud;
  readonly jobs: ModelJob[];
  readonly deeds: Deed[];
}

function plan(draws: Draws, scene: Scene): Due[] {
  const at = (): number => Math.round(draws.next() * WINDOW_MS);
  const submits = Array.from({ length: JOBS }, (_, index): Due => ({
    at: at() / 2,
    run: submit(draws.part(index), scene, index),
  }));
  const blows = Array.from({ length: DEEDS }, (_, index): Due => ({
    at: at(),
    run: blow(draws.part(100 + index), scene),
  }));
  return [...submits, ...blows].toSorted((a, b) => a.at - b.at);
}

function submit(draws: Draws, { seed, cloud, jobs, deeds }: Scene, index: number): () => void {
  const chips = draws.pick([4, 4, 8, 16]);
  const id = `m${seed}-${index}`;
  const program: Program = {
    runsMs: draws.between(1, 300) * 1_000,
    code: draws.chance(0.8) ? 0 : 3,
    onTerm: draws.pick(['saves', 'saves', 'dies', 'ignores'] as const),
  };
  const project = draws.pick(['a', 'a', 'b', 'none']);
  const priority = draws.between(1, 5);
  const asked = { id, slices: 1, hosts: chips === 16 ? 4 : 1, taskRetries: draws.pick([0, 0, 1]) };
  return () => {
    const demand = { project, user: project, priority, submittedAt: cloud.now, units: { v5litepod: chips } };
    jobs.push(new ModelJob(cloud, asked, { program, chips, demand }));
    const text = `${project} submits ${id}: ${chips} chips, ${program.runsMs / 1000} s, code ${program.code}, at SIGTERM it ${program.onTerm}`;
    deeds.push({ at: cloud.now, kind: 'submit', text });
  };
}

function blow(draws: Draws, { cloud, jobs, deeds }: Scene): () => void {
  const kind = draws.pick([
    'preempt',
    'preempt',
    'preempt',
    'preempt',
    'API down',
    'capacity',
    'cancel',
    'requeue',
    'signal',
  ] as const);
  const forMs = draws.between(5, 90) * 1_000;
  const choose = draws.next();
  const how = draws.pick<PreemptionKind>(['notice', 'signal', 'silence', 'vanish']);
  const one = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(choose * items.length)];
  const note = (deed: Omit<Deed, 'at'>): void => void deeds.push({ at: cloud.now, ...deed });
  const preempt = (): void => {
    const resource = one(cloud.ready());
    if (resource === undefined) return;
    cloud.preempt(resource, how, forMs);
    note({ kind: 'preempt', resource, text: `the provider takes ${resource}: ${how}` });
  };
  const apiDown = (): void => {
    cloud.isDown = true;
    cloud.after(forMs, () => (cloud.isDown = false));
    note({ kind: 'fault', text: `the API is down for ${forMs / 1000} s` });
  };
  const capacity = (): void => {
    cloud.capacity(8);
    cloud.after(forMs, () => cloud.capacity(undefined));
    note({ kind: 'fault', text: `the zone has 8 chips for ${forMs / 1000} s` });
  };
  const person = (what: 'cancel' | 'requeue'): void => {
    const job = one(jobs.filter(({ isOver }) => !isOver));
    if (job === undefined) return;
    const { id } = job.asked;
    if (what === 'requeue' && !job.requeue()) return;
    note({ kind: what === 'cancel' ? 'cancel' : 'verb', job: id, text: `a person says ${what} of ${id}` });
    if (what === 'cancel') job.cancel();
  };
  const signal = (): void => {
    const job = one(jobs.filter(({ isOver }) => !isOver));
    const process = job?.signalOne(choose);
    if (job === undefined || process === undefined) return;
    const text = `somebody sends SIGTERM to the command of ${job.asked.id} alone`;
    note({ kind: 'signalled', job: job.asked.id, process, text });
  };
  const run = {
    preempt,
    'API down': apiDown,
    capacity,
    cancel: () => person('cancel'),
    requeue: () => person('requeue'),
    signal,
  };
  return run[kind];
}

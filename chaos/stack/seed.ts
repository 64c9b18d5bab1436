import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/until.js';
import type { Evidence, Told } from '../oracle/evidence.js';
import {
  readGroups,
  readHostRecords,
  readJournal,
  readLeases,
  readLogs,
  readMachines,
  readMetrics,
  readResults,
  type Sources,
} from '../oracle/gather.js';
import { judge } from '../oracle/judge.js';
import { Listener } from '../oracle/listener.js';
import { Receiver } from '../oracle/receiver.js';
import type { Finding } from '../oracle/verdict.js';
import { Draws } from '../random.js';
import { askedGroupOf, drawFamilies, familySize } from './families.js';
import { plantForeign } from './neighbours.js';
import { askedOf, type DrawnJob, drawJobs } from './jobs.js';
import { type JobKind, POD_CPUS, POOL_UNITS, VM_UNITS } from './sections.js';
import { resetUnaware, resumeAll } from './own-deeds.js';
import { deedOf, extrasOf, type PlannedDeed, planDeeds } from './plan.js';
import { quotaText } from './pool.js';
import { PrivateStack } from './private-stack.js';
import { Operator } from './rack/operator.js';
import { Stage } from './stage.js';
import { settleMs, spanOf, type Tier } from './tier.js';

export interface SeedResult {
  readonly findings: readonly Finding[];
  readonly evidence: Evidence;
  /** Folder with logs, records and evidence; undefined if it was removed because nothing was found. */
  readonly directory: string | undefined;
}

const HARVEST_MS = 1_000;
const LOOK_AGAIN_MS = 250;
/** Number of jobs of the second installation. */
const THEIR_JOBS = 3;

/** Plays a seed on a private stack: jobs and faults, the end of all faults, time to settle, and the verdict. */
export async function runSeed(
  tier: Tier,
  seed: number,
  { jobs: count, isKept, kind }: { readonly jobs: number; readonly isKept: boolean; readonly kind?: JobKind },
): Promise<SeedResult> {
  const draws = new Draws(seed);
  const listener = await Listener.open();
  const receiver = await Receiver.open();
  const of = { seed, count, tier, port: listener.port, kind, hook: receiver.url };
  const alone = drawJobs(draws.part(1), { ...of, count: count - familySize(count) });
  const families = drawFamilies(draws.part(5), of, alone);
  const { groups } = families;
  const jobs = [...alone, ...families.jobs];
  const theirs = drawJobs(draws.part(4), { seed, count: THEIR_JOBS, tier, port: listener.port, prefix: 't' });
  const plan = planDeeds(draws.part(2), seed, spanOf(tier, 'window'), kind);
  const stack = await PrivateStack.start(tier, seed, quotaText(), extrasOf(plan, [...jobs, ...groups]));
  let result: SeedResult | undefined;
  try {
    const stage = new Stage({ stack, tier, jobs, listener, theirs, groups, receiver });
    const harvest = harvesting(stack);
    await plantForeign(stage, draws.part(3));
    await play(stage, plan);
    await settle(stage);
    const evidence = await gather(stage, seed, () => [...listener.told, ...harvest.stop()]);
    const findings = judge(evidence);
    const keep = isKept || findings.length > 0;
    if (keep) writeFileSync(join(stack.directory, 'evidence.json'), JSON.stringify(evidence));
    result = { findings, evidence, directory: keep ? stack.directory : undefined };
    return result;
  } finally {
    await Promise.all([listener.close(), receiver.close()]);
    await stack.stop(result === undefined || result.directory !== undefined);
  }
}

/** Submits each job and does each deed at its time. None of them waits for another. */
async function play(stage: Stage, plan: readonly PlannedDeed[]): Promise<void> {
  const at = async (ms: number, run: () => Promise<void>): Promise<void> => {
    await sleep(ms);
    await run();
  };
  await Promise.all([
    ...[...stage.jobs, ...stage.groups].map((job) => at(job.submitAt, () => submit(stage, job))),
    ...plan.map(({ at: ms, kind, draws }) => at(ms, () => doDeed(stage, kind, draws))),
  ]);
}

/** A job that waits for others is submitted behind them: an id must be there when a file names it. */
async function submit(stage: Stage, job: DrawnJob): Promise<void> {
  const { after } = job;
  if (after !== undefined)
    await until(`${after.of} is submitted`, () => stage.submitted.has(after.of), settleMs(stage.tier));
  await stage.submit(stage.stack.jobs, job);
}

/** Does a deed as soon as there is something to do it to. A slow computer gets its deeds later, not fewer of them. */
async function doDeed(stage: Stage, kind: string, draws: Draws): Promise<void> {
  // Half of the time to settle, so that a stuck job does not hold up the seed.
  const deadline = Date.now() + settleMs(stage.tier) / 2;
  try {
    const isDone = (): Promise<boolean> => deedOf(kind)(stage, draws).catch(notWhileDown);
    while (!(await isDone())) {
      if (Date.now() > deadline || (await isAllOver(stage)))
        return stage.note('note', `${kind}: there was nobody to do it to`);
      await sleep(LOOK_AGAIN_MS);
    }
  } catch (error) {
    stage.note('note', `${kind}: it was answered ${String(error).split('\n')[0]}`);
  }
}

/** False if the rehearsal is down: a deed that needs it is tried again until it is up. @throws every other error */
function notWhileDown(error: unknown): false {
  if (error instanceof TypeError && error.message === 'fetch failed') return false;
  throw error;
}

async function isAllOver(stage: Stage): Promise<boolean> {
  return [...stage.jobs, ...stage.groups].every(({ id }) => stage.submitted.has(id)) && (await openJobs(stage)) === 0;
}

/** Number of open jobs of both installations, and of open groups. */
async function openJobs(stage: Stage): Promise<number> {
  const { second } = stage.stack;
  const theirs = second === undefined ? [] : await stage.open('job', second.client);
  return (await stage.open('job')).length + (await stage.openGroups()).length + theirs.length;
}

/** Ends all faults and waits. A job or resource that is still there after a while is stuck. */
async function settle(stage: Stage): Promise<void> {
  const { stack, tier } = stage;
  stack.rehearsal.signal('SIGCONT');
  await stack.allUp();
  await stage.heal();
  await stack.allUp();
  await stage.admin.stopRefusing();
  await stage.admin.post('release', {});
  stack.writeQuota(quotaText());
  stage.note('note', 'all faults have ended');
  const deadline = Date.now() + settleMs(tier);
  const left = (): number => Math.max(0, deadline - Date.now());
  // If the claim does not come true, the oracle finds out from its own evidence.
  const hope = (claim: string, look: () => Promise<boolean>, ms: number): Promise<unknown> =>
    until(claim, look, ms).catch(() => undefined);
  await resumeAll(stage);
  await resetUnaware(stage);
  const operator = new Operator(stage);
  const areClosed = async (): Promise<boolean> => {
    await operator.tour();
    return (await openJobs(stage)) === 0;
  };
  await hope('all jobs are closed', areClosed, left());
  const isOver = (await openJobs(stage)) === 0;
  const foreign = stage.deeds.filter(({ kind }) => kind === 'foreign').length;
  const isClean = async (): Promise<boolean> => {
    await operator.tour();
    const { nodes, queuedResources, vms } = await stage.admin.status();
    const inCloud = nodes.length + queuedResources.length + vms.length + (await stage.stack.pods.count());
    if (inCloud > foreign || readMachines(stack.sources).some(({ claim }) => claim !== undefined)) return false;
    return (await allOf(stack, readLeases)).length === 0;
  };
  await hope('nothing is left', isClean, isOver ? left() : 0);
  await hope('all events are told', async () => (await stage.open('notices')).length === 0, isOver ? left() : 0);
}

async function gather(stage: Stage, seed: number, told: () => readonly Told[]): Promise<Evidence> {
  const { stack, tier, jobs, theirs, deeds, submitted, groups, receiver } = stage;
  await stage.tellRest();
  // jobctl's own words are read first. If a job still runs, the other evidence may only be more than they say, never less.
  const results = await allOf(stack, readResults);
  const heard = told();
  const begun = new Set(heard.map(({ job }) => job));
  const ours = results.map(({ id }) => id).filter((id) => begun.has(id) && !theirs.some((each) => each.id === id));
  return {
    seed,
    poolUnits: POOL_UNITS,
    podCpus: POD_CPUS,
    vmUnits: VM_UNITS,
    machines: readMachines(stack.sources),
    // A host stores how its command ended, and tries again while the bucket refuses.
    readWithinMs: spanOf(tier, 'longestFault') + STORED_MS,
    jobs: [...jobs.map(askedOf), ...theirs.filter(({ id }) => submitted.has(id)).map(askedOf)],
    deeds,
    results,
    stored: await allOf(stack, readLogs),
    told: heard,
    groups: groups.map(askedGroupOf),
    groupsSeen: await readGroups(
      stack.sources,
      groups.map(({ id }) => id),
    ),
    metrics: await readMetrics(stack.sources, ours),
    ...(receiver && { notices: receiver.notices }),
    cloud: await readJournal(stack.sources),
    leases: await allOf(stack, readLeases),
    lives: stack.parts.flatMap(({ lives }) => lives),
    ...(stack.second && { theirHost: stack.second.host }),
  };
}

/** Time from an exit to its record in the bucket, on a busy computer. */
const STORED_MS = 5_000;

/** Items of both installations. */
async function allOf<Item>(
  { sources, second }: PrivateStack,
  read: (sources: Sources) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  return [...(await read(sources)), ...(second === undefined ? [] : await read(second.sources))];
}

/** Reads the hosts' own records again and again, because a slice's disks are deleted with it. */
function harvesting(stack: PrivateStack): { readonly stop: () => readonly Told[] } {
  const found = new Map<string, Told>();
  const look = (): void => {
    for (const told of readHostRecords(stack.sources)) found.set(`${told.process} ${told.number}`, told);
  };
  const timer = setInterval(look, HARVEST_MS);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return [...found.values()];
    },
  };
}

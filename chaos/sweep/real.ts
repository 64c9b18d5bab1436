import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/until.js';
import type { AskedJob, Evidence } from '../oracle/evidence.js';
import { readHostRecords, readJournal, readLeases, readLogs, readResults } from '../oracle/gather.js';
import { Listener } from '../oracle/listener.js';
import { Draws } from '../random.js';
import { quotaText } from '../stack/pool.js';
import { PrivateStack } from '../stack/private-stack.js';
import { Stage } from '../stack/stage.js';
import { TIERS } from '../stack/tier.js';
import { GENERATION, ZONES } from '../stack/sections.js';
import { type Point, pointText } from './points.js';
import { type Program, programOf, sweptFile } from './program.js';

/** From the beginning of the command on its last host to the loss of its slice. */
const UNTIL_LOSS_S = 65;
const NOTICE_MS = 30_000;
/** Time until a worker must have read an end: a connection, a call of the runner, and a busy computer. */
const READ_MS = 5_000;
const POOL_UNITS = 2_048;
const HOUR_MS = 3_600_000;
/** Provisioning is short, because no decision about an end depends on it. */
const SETTINGS = { queueMs: 0, provisioningMs: 500, deletingMs: 500, guestNoticeMs: NOTICE_MS };
const READY_MS = 600_000;
/** Time until a cut of the power has reached the VMs. */
const TAKEN_MS = 100;
/** Time until a job must be over, besides an outage of the API. */
const MOST_MS = 900_000;

export interface RealSweep {
  /** Points with their numbers in the usual selection. */
  readonly points: readonly { readonly point: Point; readonly index: number }[];
  /** Jobs that run side by side on the one stack. */
  readonly atOnce: number;
  readonly isApiDown: boolean;
}

interface Played extends AskedJob {
  readonly program: Program;
}

/**
 * Real processes, production's times, one private stack.
 * @returns the evidence, and the folder of logs, removed by `stop(false)`
 */
export async function sweptForReal({ points, atOnce, isApiDown }: RealSweep): Promise<{
  readonly evidence: Evidence;
  /** Programs that could not be played: a fault of the sweep, or of what it runs on. */
  readonly unplayed: readonly string[];
  readonly directory: string;
  readonly stop: (keep: boolean) => Promise<void>;
}> {
  const listener = await Listener.open();
  const stack = await PrivateStack.start(TIERS.full, 1, quotaText(POOL_UNITS));
  const stage = new Stage({ stack, tier: TIERS.full, jobs: [], listener });
  const stop = async (keep: boolean): Promise<void> => {
    await listener.close();
    await stack.stop(keep);
  };
  try {
    await stage.admin.post('configure', SETTINGS);
    const players = points.map(({ point, index }) => pointPlayer(point, index));
    if (!isApiDown) players.push(...others());
    let left = players.length;
    const hasBegun = (): number => (left -= 1);
    const played: Played[] = [];
    const unplayed: string[] = [];
    const playInTurn = async (): Promise<void> => {
      for (let player = players.shift(); player !== undefined; player = players.shift()) {
        played.push(player.asked);
        const { id } = player.asked;
        await player
          .play({ stage, listener, isApiDown, hasBegun })
          .catch((error: unknown) => unplayed.push(`${id} could not be played: ${String(error)}`));
      }
    };
    // All programs must run when the API goes down.
    await Promise.all(Array.from({ length: isApiDown ? points.length : atOnce }, playInTurn));
    const isClean = async (): Promise<boolean> => (await readLeases(stack.sources)).length === 0;
    await until('nothing is left', isClean, 60_000).catch(() => undefined);
    const evidence = await gather(stage, listener, played);
    return { evidence, unplayed, directory: stack.directory, stop };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

async function gather(stage: Stage, listener: Listener, played: readonly Played[]): Promise<Evidence> {
  const { sources } = stage.stack;
  return {
    seed: 1,
    poolUnits: POOL_UNITS,
    readWithinMs: READ_MS,
    jobs: played.map(({ program: _, ...asked }) => asked),
    deeds: stage.deeds,
    told: [...listener.told, ...readHostRecords(sources)],
    cloud: await readJournal(sources),
    stored: await readLogs(sources),
    results: await readResults(sources),
    leases: await readLeases(sources),
  };
}

interface Theatre {
  /** Call it once for each program that has begun. @returns the number of programs that have not begun yet */
  readonly hasBegun: () => number;
  readonly stage: Stage;
  readonly listener: Listener;
  readonly isApiDown: boolean;
}
interface Player {
  readonly asked: Played;
  readonly play: (theatre: Theatre) => Promise<void>;
}

function pointPlayer(point: Point, index: number): Player {
  const draws = new Draws(index + 1);
  const id = `w${index}`;
  const program = programOf(UNTIL_LOSS_S + point.offsetS, draws);
  const asked = { id, slices: point.shape.slices, hosts: point.shape.hosts, taskRetries: 0, program };
  const slice = draws.between(0, point.shape.slices - 1);
  const play = async (theatre: Theatre): Promise<void> => {
    const begunAt = await begun(theatre, asked, pointText(point));
    const { stage, listener, isApiDown, hasBegun } = theatre;
    const node = listener.told.find(({ job, kind, slice: of }) => job === id && kind === 'BEGIN' && of === slice)?.text;
    if (node === undefined) throw new Error(`${id}: no host of slice ${slice} has begun`);
    if (isApiDown && hasBegun() === 0) await apiDown(stage);
    const early = point.kind === 'notice' ? NOTICE_MS : 0;
    await sleep(Math.max(0, begunAt + UNTIL_LOSS_S * 1_000 - early - Date.now()));
    await take(stage, node, point);
    await closed(theatre, id);
  };
  return { asked, play };
}

/** Jobs that end during a warning that clears, and one whose first zone refuses three times while another zone is free. */
function others(): readonly Player[] {
  return [warned('warned1', 1), warned('warned4', 4), refused()];
}

function warned(id: string, hosts: number): Player {
  const asked = { id, slices: 1, hosts, taskRetries: 0, program: programOf(20, new Draws(hosts)) };
  const play = async (theatre: Theatre): Promise<void> => {
    await begun(theatre, asked, 'it ends during a warning that clears');
    const { stage, listener } = theatre;
    await sleep(10_000);
    const name = listener.told.find(({ job, kind }) => job === id && kind === 'BEGIN')?.text ?? '';
    await stage.admin.post('warn', { name, clearAfterMs: 20_000 });
    stage.note('fault', `${name} is UNHEALTHY_MAINTENANCE for 20 s, and nothing comes of it`, { resource: name });
    await closed(theatre, id);
  };
  return { asked, play };
}

function refused(): Player {
  const [zone, runsIn] = ZONES;
  const asked = { id: 'refused', slices: 1, hosts: 1, taskRetries: 0, runsIn, program: programOf(5, new Draws(1)) };
  const play = async (theatre: Theatre): Promise<void> => {
    const { stage } = theatre;
    const message = `There is no more capacity in the zone "${zone}"`;
    const which = { method: 'Create*', zone, nameMatches: 'jc-refused-', times: 3 };
    await stage.admin.post('refuse', { ...which, code: 'RESOURCE_EXHAUSTED', message });
    stage.note('fault', `the next 3 creates of ${asked.id} in ${zone} are refused, ${runsIn} is free`);
    await begun(theatre, asked, 'its first zone refuses three times');
    await closed(theatre, asked.id);
  };
  return { asked, play };
}

/** Submits the job. @returns when its last host began, epoch ms */
async function begun(
  { stage, listener }: Theatre,
  { id, slices, hosts, program }: Played,
  text: string,
): Promise<number> {
  const accelerator = hosts === 4 ? `${GENERATION}-16` : `${GENERATION}-4`;
  await stage.stack.jobs.submit({
    job: sweptFile({ id, accelerator, slices, program, port: listener.port }),
    name: id,
    user: 'alice',
  });
  stage.note('submit', `${id}: ${text}; at SIGTERM it ${program.onTerm}`);
  const begins = (): readonly number[] =>
    listener.told.flatMap(({ job, kind, at }) => (job === id && kind === 'BEGIN' ? [at] : []));
  await until(`${id} has begun on all hosts`, async () => begins().length >= slices * hosts, READY_MS);
  return Math.max(...begins());
}

const closed = async ({ stage, isApiDown }: Theatre, id: string): Promise<unknown> =>
  until(
    `${id} is closed`,
    async () => (await stage.stack.client.workflow.getHandle(id).describe()).status.name !== 'RUNNING',
    (isApiDown ? HOUR_MS : 0) + MOST_MS,
    // The oracle reports a stuck job.
  ).catch(() => undefined);

let queue: Promise<void> = Promise.resolve();
/** Takes one slice at a time: lag and silence are settings of the whole cloud, read at the moment of the loss. */
function take(stage: Stage, name: string, { kind, lagS }: Point): Promise<void> {
  const done = queue.then(async () => {
    const isSilent = kind === 'silent';
    // Without a lag the node would be PREEMPTED, and its connections ended, in the same moment.
    const lag = { preemptedLagMs: Math.max(isSilent ? 1 : 0, lagS * 1_000) };
    await stage.admin.post('configure', { ...lag, sshAtShutdown: isSilent ? 'silent' : 'open' });
    const at = Date.now();
    try {
      await stage.admin.post('preempt', { name, ...(kind === 'notice' ? { noticeMs: NOTICE_MS } : { notice: false }) });
    } catch {
      // The program ended before, and its slice went with it.
      return stage.note('note', `${name} is not there any more to be taken`);
    }
    const text = `the provider takes ${name}: ${kind}, the API says so ${lagS} s later`;
    stage.deeds.push({ at, kind: 'preempt', resource: name, text });
    await sleep(TAKEN_MS);
  });
  queue = done.catch(() => undefined);
  return done;
}

async function apiDown(stage: Stage): Promise<void> {
  for (const method of ['Get*', 'List*', 'Create*', 'Delete*'])
    await stage.admin.post('refuse', {
      method,
      code: 'UNAVAILABLE',
      message: 'The service is unavailable.',
      forMs: HOUR_MS,
    });
  stage.note('fault', 'the TPU API is UNAVAILABLE for an hour');
}

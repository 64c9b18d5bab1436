import { VirtualCloud } from '../model/virtual-cloud.js';
import type { Deed, Evidence } from '../oracle/evidence.js';
import { Draws } from '../random.js';
import { ON_TERM, type Point, pointText } from './points.js';
import { SweptJob } from './swept-job.js';

const STEP_MS = 1_000;
/** Step of the clock while the API is down and nothing else happens. */
const LONG_STEP_MS = 20_000;
/** From the command's beginning to the loss of its slice. */
const UNTIL_LOSS_MS = 65_000;
const NOTICE_MS = 30_000;
const HOUR_MS = 3_600_000;
const MOST_MS = 2 * HOUR_MS;
/** The longest that a worker takes to read an end from a host that it reaches. */
const READ_MS = 3_000;

/** @param isApiDown whether the API is down for an hour, from a minute before the loss */
export function sweptInModel(point: Point, seed: number, isApiDown: boolean): Evidence {
  const draws = new Draws(seed * 7_919 + point.offsetS + 60);
  const cloud = new VirtualCloud(seed, point.lagS * 1_000);
  const id = `w${seed}`;
  const { shape, kind, offsetS } = point;
  const onTerm = draws.pick(ON_TERM);
  // A step passes between an end and the look at it.
  const readMs = draws.between(0, READ_MS / STEP_MS - 1) * STEP_MS;
  const job = new SweptJob(cloud, { id, shape, runsMs: UNTIL_LOSS_MS + offsetS * 1_000, onTerm, readMs });
  const deeds: Deed[] = [{ at: cloud.now, kind: 'note', text: `${pointText(point)}; at SIGTERM it ${onTerm}` }];
  const began = cloud.now;
  const node = draws.between(0, shape.slices - 1);
  // The provider itself may learn of it late.
  const silentMs = kind === 'silent' ? draws.between(0, 60) * 1_000 : 0;
  let isPlanned = false;
  const take = (): void => {
    const resource = job.node(node);
    deeds.push({ at: cloud.now, kind: 'preempt', resource, text: `the provider takes ${resource}: ${kind}` });
    cloud.preempt(resource, kind === 'notice' ? 'notice' : 'silence', silentMs);
  };
  const plan = (): void => {
    isPlanned = true;
    cloud.after(UNTIL_LOSS_MS - (kind === 'notice' ? NOTICE_MS : 0), take);
    if (!isApiDown) return;
    cloud.after(UNTIL_LOSS_MS - 60_000, () => (cloud.isDown = true));
    cloud.after(UNTIL_LOSS_MS - 60_000 + HOUR_MS, () => (cloud.isDown = false));
  };
  let isGone = false;
  while (!isGone && cloud.now - began < MOST_MS) {
    const isIdle = isPlanned && !job.isRunning && cloud.isDown;
    cloud.step(isIdle ? LONG_STEP_MS : STEP_MS);
    job.step();
    if (job.isRunning && !isPlanned) plan();
    isGone = job.outcome !== undefined && job.leave();
  }
  const { outcome } = job;
  return {
    ...{ seed, deeds, poolUnits: 32, told: job.told, cloud: cloud.events, stored: [], leases: [] },
    readWithinMs: READ_MS,
    jobs: [{ id, slices: shape.slices, hosts: shape.hosts, taskRetries: 0 }],
    results: [
      outcome === undefined
        ? { id, isClosed: false, phase: 'running' }
        : { id, isClosed: true, phase: outcome.phase, exitCode: outcome.code, endedAt: outcome.at },
    ],
  };
}

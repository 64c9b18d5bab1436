import { unitsOf } from '../../domain/units.js';
import type { SimulatedJob } from '../../test/quota/simulation.js';
import type { EpochMs } from '../../domain/units.js';
import { Heap } from '../../quota/decision/order-of-service.js';
import { type Month, TYPE } from './month.js';

interface Running {
  readonly endsAt: EpochMs;
  readonly units: number;
}

/**
 * The jobs that count as "in quota" for every policy, by a definition that knows none of the policies. Imagine that each project
 * has its own cluster, of the size of its nominal quota, which serves the project's jobs strictly in order of arrival. A job is
 * in quota if it would start there at once. A job larger than that cluster is over quota, and the cluster does not serve it.
 */
export function entitledJobs({ config, jobs }: Month): ReadonlySet<string> {
  const entitled = new Set<string>();
  for (const { name, nominal } of config.projects) {
    const size = unitsOf(nominal[0] ?? {}, TYPE);
    const ofProject = jobs.filter(({ project, units }) => project === name && unitsOf(units, TYPE) <= size);
    for (const id of startedAtOnce(ofProject, size)) entitled.add(id);
  }
  return entitled;
}

function startedAtOnce(jobs: readonly SimulatedJob[], size: number): string[] {
  const running = new Heap<Running>((a, b) => a.endsAt < b.endsAt);
  const atOnce: string[] = [];
  let free = size;
  let now = 0;
  for (const { id, submitAt, units, workMs = 0 } of jobs) {
    now = Math.max(now, submitAt);
    const asked = unitsOf(units, TYPE);
    for (let first = running.first(); first && (first.endsAt <= now || free < asked); first = running.first()) {
      now = Math.max(now, first.endsAt);
      free += first.units;
      running.pop();
    }
    if (now === submitAt) atOnce.push(id);
    free -= asked;
    running.push({ endsAt: now + workMs, units: asked });
  }
  return atOnce;
}

import { randomUUID } from 'node:crypto';
import type { LeaseMessage, LeaseMessageBody } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';

const ZONE = 'us-central1-a';
const PROJECTS = 20;

/** Messages of one job, which asks for one v5litepod-8. The jobs are of 20 projects and 100 users. */
export interface TrafficJob {
  readonly request: LeaseMessage;
  /** Sent before the job's one slice is created; `chips` is sent when that slice is READY. */
  readonly slice: LeaseMessage;
  readonly chips: LeaseMessage;
}

/** Messages of `jobs` jobs of a pool, as jobs and slices of this version send them. */
export function leaseTraffic(pool: string, jobs: number, now: number): readonly TrafficJob[] {
  return Array.from({ length: jobs }, (_, index) => {
    const job = `train-${index}-${randomUUID().slice(0, 5)}`;
    const lease = { pool, job, run: randomUUID(), number: 1 };
    const submittedAt = now - (jobs - index) * 1_000;
    const say = (sender: string, after: number, body: LeaseMessageBody): LeaseMessage => ({
      lease,
      sender,
      sequence: submittedAt + after,
      body,
    });
    const demand = {
      project: `project-${index % PROJECTS}`,
      user: `user-${index % (5 * PROJECTS)}`,
      priority: 3,
      submittedAt,
      units: { v5litepod: 8 },
      pricing: 'spot',
      zones: [ZONE],
    } as const;
    const ref: MachineRef = {
      kind: 'cloud-tpu',
      googleProject: 'bench',
      zone: ZONE,
      name: `${job}-0-1`,
      mode: 'queued-resources',
    };
    return {
      request: say('job', 150, { kind: 'request', demand, slices: [] }),
      slice: say(ref.name, 2_000 + (index % 997), { kind: 'slice', ref }),
      chips: say('job', 180_000 + (index % 9_973), { kind: 'chips', zone: ZONE }),
    };
  });
}

import type { BenchRehearsal } from './rehearsal-process.js';
import { PARENT, startBenchRehearsal, stateOf } from './rehearsal-process.js';
import type { Row } from './row.js';
import { seconds } from './row.js';

const DAY_MS = 86_400_000;
const DAYS = 30;
const PREEMPTIONS = 20;
/** 30 days take 43 s. */
const TIME_SCALE = 60_000;
const POLL_MS = 10;

/**
 * Keeps one spot slice for 30 days of the cloud's time, while a fault script preempts it 20 times. After each preemption the
 * request is deleted and made anew. Only the cloud's clock is scaled. A Temporal server, whose timers run in real time, has no
 * part in it.
 */
export async function monthOfPreemptions(): Promise<readonly Row[]> {
  const rehearsal = await startBenchRehearsal({});
  try {
    await rehearsal.admin('script', { text: SCRIPT });
    const began = performance.now();
    const clock = await cloudClock(rehearsal);
    const lastRequest = await keepSlice(rehearsal, clock, clock() + DAYS * DAY_MS);
    const wallMs = performance.now() - began;
    const journal = await (await fetch(`${rehearsal.endpoints.admin}/admin/journal`)).text();
    const preempted = journal.split('\n').filter((line) => /"kind":"node-state".*"to":"PREEMPTED"/.test(line)).length;
    return [
      {
        what: `${DAYS} days at ${TIME_SCALE}x, wall time`,
        figure: seconds(wallMs),
        aim: '60 s',
        isMet: wallMs < 60_000,
      },
      {
        what: '  preemptions',
        figure: String(preempted),
        aim: String(PREEMPTIONS),
        isMet: preempted === PREEMPTIONS,
      },
      { what: '  queued resources that were needed', figure: String(lastRequest) },
    ];
  } finally {
    await rehearsal.stop();
  }
}

/** Preempts the slice each time it has been READY for a day and up to six hours more. */
const SCRIPT = `version: 1
seed: 7
timeScale: ${TIME_SCALE}
settings:
  queue: {min: 2m, max: 60m}
  provisioning: {min: 5m, max: 30m}
  suspending: 1m
  deleting: 1m
events:
  - when: {node: '.*', state: READY, for: 24h}
    jitter: 6h
    repeat: ${PREEMPTIONS}
    preempt: {mode: preempted}
`;

/** Returns a function that gives the cloud's time, epoch ms, computed from one reading of its clock. */
async function cloudClock({ endpoints }: BenchRehearsal): Promise<() => number> {
  const { now } = (await (await fetch(`${endpoints.admin}/admin/clock`)).json()) as { readonly now: number };
  const wall = performance.now();
  return () => now + (performance.now() - wall) * TIME_SCALE;
}

/** Acts as a supervisor: asks for a slice, watches its request, deletes it once it is lost. @returns the number of requests */
async function keepSlice({ client }: BenchRehearsal, clock: () => number, end: number): Promise<number> {
  for (let index = 1; ; index += 1) {
    const id = `month-${index}`;
    const name = `${PARENT}/queuedResources/${id}`;
    const node = { acceleratorType: 'v5litepod-16', runtimeVersion: 'v2-alpha-tpuv5-lite' };
    const queuedResource = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: id, node }] }, spot: {} };
    await client.createQueuedResource({ parent: PARENT, queuedResourceId: id, queuedResource });
    for (let state = ''; state !== 'SUSPENDED'; state = await stateOf(client, name)) {
      if (state === 'FAILED') throw new Error(`${name} is FAILED`);
      if (clock() >= end) return index;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    await client.deleteQueuedResource({ name, force: true });
    for (let state = ''; state !== 'gone'; state = await stateOf(client, name)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

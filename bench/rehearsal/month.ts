import type { BenchRehearsal } from './rehearsal-process.js';
import { PARENT, startBenchRehearsal, stateOf } from './rehearsal-process.js';
import type { Row } from './row.js';
import { seconds } from './row.js';

const DAY_MS = 86_400_000;
const DAYS = 30;
const PREEMPTIONS = 20;
/** 30 days in 43 s. */
const TIME_SCALE = 60_000;
const POLL_MS = 10;

/**
 * One spot slice kept up for 30 days of the cloud's time, preempted 20 times by a fault script; whoever keeps it deletes the
 * husk and asks anew. The cloud's clock alone is scaled: no Temporal server, whose timers would run in real time, has a part in it.
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

/** Each time the slice has been READY for a day, and up to six hours more. */
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

/** The cloud's time, epoch ms, reckoned from one look at it. */
async function cloudClock({ endpoints }: BenchRehearsal): Promise<() => number> {
  const { now } = (await (await fetch(`${endpoints.admin}/admin/clock`)).json()) as { readonly now: number };
  const wall = performance.now();
  return () => now + (performance.now() - wall) * TIME_SCALE;
}

/** As a supervisor does it: asks for a slice, watches its request, deletes what was lost. @returns how many requests it took */
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

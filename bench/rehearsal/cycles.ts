import { PARENT, startBenchRehearsal, stateOf } from './rehearsal-process.js';
import type { BenchRehearsal } from './rehearsal-process.js';
import type { Row } from './row.js';

const CYCLES = 300;
const AT_ONCE = 8;
const POLL_MS = 2;

/** Measures cycles of a queued resource with one host: created, ACTIVE, deleted with force, gone. No state has a waiting time. */
export async function createDeleteCycles(): Promise<readonly Row[]> {
  const rehearsal = await startBenchRehearsal({ queueMs: 0, provisioningMs: 0, deletingMs: 0, suspendingMs: 0 });
  try {
    const began = performance.now();
    let next = 0;
    const some = async (): Promise<void> => {
      for (let index = next++; index < CYCLES; index = next++) await cycle(rehearsal, `cycle-${index}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, some));
    const perSecond = CYCLES / ((performance.now() - began) / 1000);
    return [
      { what: `create, ACTIVE, delete, gone: cycles a second (${AT_ONCE} at once)`, figure: perSecond.toFixed(1) },
    ];
  } finally {
    await rehearsal.stop();
  }
}

async function cycle({ client }: BenchRehearsal, id: string): Promise<void> {
  const name = `${PARENT}/queuedResources/${id}`;
  const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
  const queuedResource = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: id, node }] } };
  await client.createQueuedResource({ parent: PARENT, queuedResourceId: id, queuedResource });
  const becomes = async (wanted: string): Promise<void> => {
    for (let seen = await stateOf(client, name); seen !== wanted; seen = await stateOf(client, name)) {
      if (seen === 'FAILED') throw new Error(`${name} is FAILED, wanted ${wanted}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  await becomes('ACTIVE');
  await client.deleteQueuedResource({ name, force: true });
  await becomes('gone');
}

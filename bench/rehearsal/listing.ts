import { processMemory } from '../load/process-memory.js';
import { PARENT, startBenchRehearsal } from './rehearsal-process.js';
import type { Row } from './row.js';
import { megabytes, milliseconds, seconds } from './row.js';

const REQUESTS = 10_000;
const AT_ONCE = 32;
const PAGE_SIZE = 500;

/** Measures 10,000 queued resources that wait for capacity: created by one call each, then listed in pages by Google's client. */
export async function longListing(): Promise<readonly Row[]> {
  const rehearsal = await startBenchRehearsal({ capacity: { 'us-central1-a/v5litepod': 0 } });
  try {
    const { client } = rehearsal;
    const began = performance.now();
    let next = 0;
    const createSome = async (): Promise<void> => {
      for (let index = next++; index < REQUESTS; index = next++) {
        const node = { acceleratorType: 'v5litepod-16', runtimeVersion: 'v2-alpha-tpuv5-lite' };
        const queuedResource = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: `node-${index}`, node }] } };
        await client.createQueuedResource({ parent: PARENT, queuedResourceId: `request-${index}`, queuedResource });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, createSome));
    const createdMs = performance.now() - began;
    const pages: number[] = [];
    const listBegan = performance.now();
    let listed = 0;
    for (let pageToken = '', isFirst = true; isFirst || pageToken !== ''; isFirst = false) {
      const pageBegan = performance.now();
      const request = { parent: PARENT, pageSize: PAGE_SIZE, pageToken };
      const [items, , answer] = await client.listQueuedResources(request, { autoPaginate: false });
      pages.push(performance.now() - pageBegan);
      listed += items.length;
      pageToken = answer?.nextPageToken ?? '';
    }
    const listedMs = performance.now() - listBegan;
    if (listed !== REQUESTS) throw new Error(`${listed} queued resources were listed of ${REQUESTS}`);
    return [
      { what: '10,000 queued resources: created a second', figure: (REQUESTS / (createdMs / 1000)).toFixed(0) },
      { what: `  listed in ${pages.length} pages of ${PAGE_SIZE}`, figure: seconds(listedMs) },
      { what: '  longest page', figure: milliseconds(Math.max(...pages)) },
      { what: '  resident then', figure: megabytes(processMemory(rehearsal.pid).bytes) },
    ];
  } finally {
    await rehearsal.stop();
  }
}

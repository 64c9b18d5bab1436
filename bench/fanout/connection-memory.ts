import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Row } from '../quota/row.js';
import type { FanoutHost } from './inventory.js';
import { execEverywhere, openFleet, readLogins } from './jobctl-fleet.js';
import { output } from './peers.js';
import { makeWork } from './work.js';

const AIM_KIB = 300;
/** Connections made before the measurement, so that it leaves out code and data that are loaded only once. */
const WARM_UP = 4;

/** Measures the memory of a connection, in a separate process that does nothing else. */
export async function connectionMemory(hosts: readonly FanoutHost[]): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-memory-'));
  writeFileSync(join(folder, 'hosts.json'), JSON.stringify(hosts));
  const script = fileURLToPath(new URL('../fanout.ts', import.meta.url));
  const text = await output([process.execPath, '--import', 'tsx', script, '--memory-of', join(folder, 'hosts.json')]);
  rmSync(folder, { recursive: true });
  const kib = Number(text);
  return {
    what: `memory of a connection, ${hosts.length} open`,
    figure: `${kib.toFixed(0)} KiB`,
    aim: `${AIM_KIB} KiB`,
    isMet: kib <= AIM_KIB,
    note: 'resident set of the client, each connection used once',
  };
}

/** Prints KiB of resident memory for each connection beyond the first few. */
export async function printConnectionMemory(hosts: readonly FanoutHost[]): Promise<void> {
  const work = makeWork(1);
  const first = openFleet(await readLogins(hosts.slice(0, WARM_UP)));
  await execEverywhere(await first.connect(), work);
  const before = await residentKib();
  const others = openFleet(await readLogins(hosts.slice(WARM_UP)));
  await execEverywhere(await others.connect(), work);
  console.log((((await residentKib()) - before) / (hosts.length - WARM_UP)).toFixed(1));
}

async function residentKib(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // Freed sockets and buffers are released over several turns of the event loop.
  for (let pass = 0; pass < 3; pass += 1) {
    collect();
    await sleep(100);
  }
  return process.memoryUsage().rss / 1024;
}

/**
 * `npm run bench:rehearsal`: how much the rehearsal cloud carries, and how quickly. Each part talks to a rehearsal process of its
 * own (built: dist/) over the wire. Aims: issue "The rehearsal cloud is a faithful Cloud TPU"; what was seen is in docs/runs.md.
 *   -- --only hosts,month        some of: hosts, list, cycles, month
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { createDeleteCycles } from './rehearsal/cycles.js';
import { manyHosts } from './rehearsal/hosts.js';
import { longListing } from './rehearsal/listing.js';
import { monthOfPreemptions } from './rehearsal/month.js';
import type { Row } from './rehearsal/row.js';

const PARTS: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  hosts: manyHosts,
  list: longListing,
  cycles: createDeleteCycles,
  month: monthOfPreemptions,
};

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.split(',') ?? Object.keys(PARTS);
const unknown = wanted.find((name) => PARTS[name] === undefined);
if (unknown !== undefined) {
  console.error(`--only ${unknown}: there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}

console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before\n`);
for (const name of wanted) {
  for (const { what, figure, aim, isMet } of (await PARTS[name]?.()) ?? []) {
    const note = aim === undefined ? '' : `aim ${aim}${isMet === false ? ', MISSED' : ''}`;
    console.log(`${what.padEnd(52)}${figure.padStart(20)}   ${note}`);
  }
}
process.exit(0);

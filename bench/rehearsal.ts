/**
 * `npm run bench:rehearsal`: measures how many resources the rehearsal cloud carries, and its speed. Each part talks over the
 * wire to its own rehearsal process (built: dist/). Aims: issue "The rehearsal cloud is a faithful Cloud TPU". Results are in
 * docs/runs.md.
 *   -- --only hosts,month        some of: hosts, list, cycles, month
 */
import { rowsOfParts } from './named-parts.js';
import { createDeleteCycles } from './rehearsal/cycles.js';
import { manyHosts } from './rehearsal/hosts.js';
import { longListing } from './rehearsal/listing.js';
import { monthOfPreemptions } from './rehearsal/month.js';
import type { Row } from './rehearsal/row.js';

const rows = rowsOfParts<Row>({
  hosts: manyHosts,
  list: longListing,
  cycles: createDeleteCycles,
  month: monthOfPreemptions,
});
for await (const { what, figure, aim, isMet } of rows) {
  const note = aim === undefined ? '' : `aim ${aim}${isMet === false ? ', MISSED' : ''}`;
  console.log(`${what.padEnd(52)}${figure.padStart(20)}   ${note}`);
}
process.exit(0);

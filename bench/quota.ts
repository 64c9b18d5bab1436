/**
 * `npm run bench:quota`: measures a quota decision, beside Bastion's pass on the same jobs in the same run, and the cost of quota
 * through a Temporal server. Aims: issue "Quota" (results are in docs/runs.md). It needs python3.
 *   -- --only pass,rate        some of: pass, growth, explain, bytes, histories, rate
 */
import { rowsOfParts } from './named-parts.js';
import { carriedBytes } from './quota/carried-bytes.js';
import { comparedPasses, explanation, growth } from './quota/pass-rows.js';
import { poolHistories } from './quota/pool-histories.js';
import { grantRate } from './quota/rate-rows.js';
import { printRow, type Row } from './quota/row.js';

const rows = rowsOfParts<Row>({
  pass: comparedPasses,
  growth,
  explain: explanation,
  bytes: carriedBytes,
  histories: poolHistories,
  rate: grantRate,
});
for await (const row of rows) printRow(row);
process.exit(0);

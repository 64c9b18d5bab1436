/**
 * `npm run bench:quota`: what a decision costs, beside Bastion's pass on the same jobs in the same run, and what quota costs
 * through a Temporal server. Aims: issue "Quota" (in docs/runs.md with what was seen). It needs python3.
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

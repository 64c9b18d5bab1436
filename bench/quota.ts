/**
 * `npm run bench:quota`: what a decision costs, beside Bastion's pass on the same jobs in the same run, and what quota costs
 * through a Temporal server. Aims: issue "Quota" (in docs/runs.md with what was seen). It needs python3.
 *   -- --only pass,rate        some of: pass, growth, explain, bytes, histories, rate
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { carriedBytes } from './quota/carried-bytes.js';
import { comparedPasses, explanation, growth } from './quota/pass-rows.js';
import { poolHistories } from './quota/pool-histories.js';
import { grantRate } from './quota/rate-rows.js';
import { printRow, type Row } from './quota/row.js';

const PARTS: Readonly<Record<string, () => readonly Row[] | Promise<readonly Row[]>>> = {
  pass: comparedPasses,
  growth,
  explain: explanation,
  bytes: carriedBytes,
  histories: poolHistories,
  rate: grantRate,
};

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.split(',') ?? Object.keys(PARTS);
const unknown = wanted.find((name) => PARTS[name] === undefined);
if (unknown !== undefined) {
  console.error(`--only ${unknown}: there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}

console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before\n`);
for (const name of wanted) for (const row of (await PARTS[name]?.()) ?? []) printRow(row);
process.exit(0);

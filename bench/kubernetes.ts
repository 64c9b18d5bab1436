/**
 * `npm run bench:kubernetes`: compares jobctl on a real cluster with the kubectl commands that a user would type instead, and
 * logs of pods with logs over SSH, in turn. Aims: issue "Pods: Kubernetes and Ray". It needs a cluster (`KUBECONFIG`, or
 * kube-node of the tests) and `npm run build`.
 *   -- --rounds 5               rounds of each
 *   -- --hosts 16 --seconds 20  hosts whose output is followed, and the length of each round
 *   -- --only start,follow
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { firstLineRows } from './kubernetes/first-line.js';
import { followRows } from './kubernetes/follow-cost.js';
import { printRow } from './quota/row.js';

const PARTS = { start: firstLineRows, follow: followRows } as const;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    hosts: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '20' },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
  },
});
const only = values.only.split(',');
const unknown = only.find((name) => !Object.hasOwn(PARTS, name));
if (unknown !== undefined) {
  console.error(`--only ${unknown}: there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
const extent = { rounds: Number(values.rounds), hosts: Number(values.hosts), seconds: Number(values.seconds) };
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
for (const [name, rows] of Object.entries(PARTS))
  if (only.includes(name)) for (const row of await rows(extent)) printRow(row);
console.log(`\nload ${load()} after`);
process.exit(0);

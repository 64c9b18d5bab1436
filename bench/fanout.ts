/**
 * `npm run bench:fanout`: runs ten steps on many hosts with jobctl and, in turn, with the tools that a user would pick instead.
 * It also measures the memory of a connection. Aims: issue "Every host set up" (results are in docs/runs.md). It needs OpenSSH,
 * and uses pdsh, ansible and Go if they are installed.
 *   -- --inventory hosts.json   a list of {host, port, user, keyFile, knownHostsFile}; absent: sshd on loopback
 *   -- --hosts 64 --many 256    number of loopback hosts: for the steps, and for the memory of connections
 *   -- --rounds 3 --quick       rounds of the quick tools; slow ones (ansible, a loop of ssh) run once, or never with --quick
 *   -- --only ways,unchanged    some of: ways, unchanged, memory
 */
import { parseArgs } from 'node:util';
import { cpus, loadavg } from 'node:os';
import { readInventory } from './fanout/inventory.js';
import { startLocalFleet } from './fanout/local-fleet.js';
import { connectionMemory, printConnectionMemory } from './fanout/connection-memory.js';
import { unchangedRows, wayRows } from './fanout/rows.js';
import { printRow } from './quota/row.js';

const PARTS = { ways: wayRows, unchanged: unchangedRows } as const;

const { values } = parseArgs({
  options: {
    inventory: { type: 'string' },
    hosts: { type: 'string', default: '64' },
    many: { type: 'string', default: '256' },
    rounds: { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: 'ways,unchanged,memory' },
    'memory-of': { type: 'string' },
  },
});

if (values['memory-of'] !== undefined) {
  // A process of its own, started by `connectionMemory`: one that has done nothing else.
  await printConnectionMemory(readInventory(values['memory-of']));
  process.exit(0);
}
const only = values.only.split(',');
const unknown = only.find((name) => name !== 'memory' && !Object.hasOwn(PARTS, name));
if (unknown !== undefined) {
  console.error(`--only ${unknown}: there are ways, unchanged, memory`);
  process.exit(2);
}

const given = values.inventory === undefined ? undefined : readInventory(values.inventory);
const extent = { rounds: Number(values.rounds), isQuick: values.quick };
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
console.log(`node ${process.version}, ${cpus().length} cores, load ${load()} before\n`);
for (const [name, rows] of Object.entries(PARTS)) {
  if (!only.includes(name)) continue;
  const fleet = given ? undefined : await startLocalFleet(Number(values.hosts));
  for (const row of await rows(given ?? fleet?.hosts ?? [], extent)) printRow(row);
  await fleet?.stop();
}
if (only.includes('memory')) {
  const fleet = given ? undefined : await startLocalFleet(Number(values.many));
  printRow(await connectionMemory(given ?? fleet?.hosts ?? []));
  await fleet?.stop();
}
console.log(`\nload ${load()} after`);
process.exit(0);

import { spawnSync } from 'node:child_process';

/**
 * What test files cost: seconds of processor time, of mocha and of every process that it waited for, which hardly depend on what
 * else runs on the machine. The bound of `npm test` is of these (docs/testing.md).
 *   tsx scripts/test-cost.ts FILE..      one mocha process a file; a row each as it ends, and their sum
 */
interface Cost {
  readonly cpuS: number;
  readonly wallS: number;
  readonly closingLine: string;
  readonly lines: number;
}

/** `times` of a shell counts the processes that it waited for, and those that they waited for; Node has no such call. */
const SCRIPT = 'TIMEFORMAT="%R %U %S"; time npx mocha --forbid-only "$1"';

function costOf(file: string): Cost {
  const { stdout, stderr } = spawnSync('bash', ['-c', SCRIPT, '-', file], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const [wallS = 0, user = 0, system = 0] = (stderr.trimEnd().split('\n').at(-1) ?? '').split(' ').map(Number);
  const lines = `${stdout}${stderr}`.trimEnd().split('\n');
  const closingLine = lines.findLast((line) => /^\d+ passed, \d+ failed/.test(line)) ?? 'no closing line';
  return { cpuS: user + system, wallS, closingLine, lines: lines.length - 1 };
}

const row = (cost: Cost, name: string): string =>
  `${cost.cpuS.toFixed(1).padStart(7)} ${cost.wallS.toFixed(1).padStart(7)} ${String(cost.lines).padStart(6)}  ${name}: ${cost.closingLine}`;

console.log('  CPU s  wall s  lines  file');
let cpuS = 0;
for (const file of process.argv.slice(2)) {
  const cost = costOf(file);
  cpuS += cost.cpuS;
  console.log(row(cost, file));
}
console.log(`${cpuS.toFixed(1).padStart(7)}  all`);

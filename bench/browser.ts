/**
 * `npm run bench:page [-- --runs 5]`: measures the page in Chromium by the browser's own timing: first paint, keys, changes of a
 * board of 1,000 and of 10,000 jobs, and how many lines of a log it draws without a long frame. A fake server answers at once, with
 * JSON of the contract's forms: what is measured is the page. Beside it Temporal's Web UI with 1,000 workflows, from its real server.
 * No test depends on the figures.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Client } from '@temporalio/client';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../test/long/web-ui-page.js';
import { startTestServer } from '../test/temporal-server.js';
import { type FakeServer, startFakeServer } from './browser/fake-server.js';
import { boardLook, firstLook, logLook } from './browser/looks.js';
import { median, percentile } from './start/statistics.js';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });
const RUNS = Number(values.runs);
const BOARDS = [1_000, 10_000] as const;
const UPDATES = 8;
const RATES = [0, 1_000, 5_000, 20_000, 50_000] as const;
const WORKFLOWS = 1_000;
/** A frame after which a person sees a stutter: two of sixty a second were left out. */
const LONG_FRAME_MS = 50;

const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const row = (what: string, ...figures: readonly string[]): void => console.log(`| ${[what, ...figures].join(' | ')} |`);

const browser = await startBrowser();
console.log(
  `Chromium ${browser.version()} without a GPU, node ${process.version}, ${cpus().length} cores, load ${load()} before; a fake server\n`,
);
row('what', 'median', 'p95', 'of');
row('---', '---', '---', '---');
const fake = await startFakeServer();
try {
  for (const jobs of BOARDS) await measureBoard(fake, browser, jobs);
  for (const rate of RATES) await measureLog(fake, browser, rate);
} finally {
  fake.close();
}
await measureTemporal(browser);
await browser.close();
console.log(`\nload ${load()} after`);
process.exit(0);

function times(what: string, all: readonly number[], of: string): void {
  if (all.length === 0) row(what, 'under 16 ms', 'under 16 ms', of);
  else row(what, ms(median(all)), ms(percentile(all, 95)), of);
}

async function firsts(opened: Browser, url: string, name: string): Promise<void> {
  const looks = [];
  for (let run = 0; run < RUNS; run++) looks.push(await firstLook(opened, url));
  times(
    `${name}: first paint`,
    looks.map(({ firstPaintMs }) => firstPaintMs),
    `${RUNS} loads`,
  );
  times(
    `${name}: first rows`,
    looks.map(({ rowsMs }) => rowsMs),
    `${RUNS} loads`,
  );
}

async function measureBoard(server: FakeServer, opened: Browser, jobs: number): Promise<void> {
  server.jobs = jobs;
  const name = `board of ${jobs.toLocaleString('en')}`;
  await firsts(opened, `${server.url}/ui/`, name);
  const { interactionsMs, keys, updatesMs } = await boardLook(opened, `${server.url}/ui/`, UPDATES);
  times(
    `${name}: key to next paint`,
    interactionsMs,
    `${interactionsMs.length} of ${keys} keys that took 16 ms or more`,
  );
  times(`${name}: answer to paint, each row changed`, updatesMs, `${updatesMs.length} answers`);
}

async function measureLog(server: FakeServer, opened: Browser, rate: number): Promise<void> {
  const { framesMs, behind } = await logLook(opened, server, rate);
  const long = framesMs.filter((each) => each > LONG_FRAME_MS).length;
  const name = rate === 0 ? 'log without lines: frame' : `log of ${rate.toLocaleString('en')} lines/s: frame`;
  times(
    name,
    framesMs,
    `${framesMs.length} frames, ${long} over ${LONG_FRAME_MS} ms; ${behind} lines behind at the end`,
  );
}

async function measureTemporal(opened: Browser): Promise<void> {
  const server = await startTestServer();
  try {
    const { workflow } = new Client({ connection: server.connection, namespace: server.namespace });
    const all = Array.from({ length: WORKFLOWS }, (_, index) => `train-${index}`);
    while (all.length > 0)
      await Promise.all(
        all.splice(0, 50).map((workflowId) => workflow.start('train', { workflowId, taskQueue: 'nobody' })),
      );
    await firsts(
      opened,
      `${server.uiUrl}/namespaces/${server.namespace}/workflows`,
      "Temporal's Web UI, 1,000 workflows",
    );
  } finally {
    await server.stop();
  }
}

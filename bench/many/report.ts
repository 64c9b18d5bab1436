import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { NO_PARTS } from '../../domain/counted/usage.js';
import { compactedReportObject } from '../../domain/store-layout.js';
import { utcDay } from '../../domain/units.js';
import { pipInstalled } from '../cli/peers.js';
import { type ProcessCost, processCost } from '../cli/process-cost.js';
import { median } from '../start/statistics.js';
import { JOBCTL } from '../start/local-stack.js';

const DAYS = 30;
const DAY_MS = 86_400_000;
/** Lines of one object, as the worker compacts them. */
const IN_ONE = 2_000;
const PROJECTS = 20;
const ROUNDS = 5;

/** The query of docs/counted.md. It prints a line of JSON for each project. */
const DUCKDB = `
import duckdb, json, sys
page = open(sys.argv[2]).read()
sql = page.split(chr(96) * 3 + 'sql')[1].split(chr(96) * 3)[0].replace('reports/', sys.argv[1] + '/reports/')
for row in duckdb.sql(sql).fetchall(): print(json.dumps(row[:2]))
`;

export interface Compared {
  readonly way: string;
  readonly wallMs: number;
  readonly peakMegabytes: number;
}

/**
 * A report of `jobs` jobs that ended within a month, by jobctl and by DuckDB on the same files.
 * @throws Error if the two differ, or DuckDB cannot be installed
 */
export async function reportBesideDuckDb(
  folder: string,
  jobs: number,
  tell: (step: string) => void,
): Promise<readonly Compared[]> {
  const bucket = pathToFileURL(join(folder, 'bucket')).href;
  await writeDayFiles(bucket, jobs);
  tell('pip install duckdb');
  const { environment } = await pipInstalled('duckdb', folder);
  const python = join(environment, 'bin/python');
  const since = utcDay(Date.now() - (DAYS + 1) * DAY_MS);
  const env = { ...process.env, JOBCTL_HOME: join(folder, 'home'), JOBCTL_BUCKET: bucket };
  const report = [
    process.execPath,
    JOBCTL,
    'report',
    'usage',
    '--ended',
    '--by',
    'project',
    '--since',
    since,
    '-o',
    'json',
  ];
  const query = [python, '-c', DUCKDB, join(folder, 'bucket'), 'docs/counted.md'];
  await mustAgree(report, query, env);
  const ways = { 'jobctl report usage': report, 'DuckDB, the query of counted.md': query };
  const rows: Compared[] = [];
  for (const [way, command] of Object.entries(ways)) {
    const costs: ProcessCost[] = [];
    for (let round = 0; round < ROUNDS; round++) costs.push(await processCost(command, env));
    const of = (key: keyof ProcessCost): number => median(costs.map((cost) => cost[key]));
    rows.push({ way, wallMs: of('wallMs'), peakMegabytes: of('peakMegabytes') });
  }
  return rows;
}

async function writeDayFiles(bucket: string, jobs: number): Promise<void> {
  await ensureStore({ bucket });
  const store = openStore({ bucket });
  const today = Date.now();
  for (let from = 0; from < jobs; from += IN_ONE) {
    const endedAt = today - (1 + ((from / IN_ONE) % DAYS)) * DAY_MS;
    const lines = Array.from({ length: Math.min(IN_ONE, jobs - from) }, (_, at) =>
      JSON.stringify(record(from + at, endedAt)),
    );
    await store.replace(
      compactedReportObject(utcDay(endedAt), String(from)),
      `${lines.join('\n')}\n`,
      'application/x-ndjson',
    );
  }
}

function record(index: number, endedAt: number): JobRecord {
  const charged = 8 * (60 + (index % 3_600));
  const of = { zone: 'us-central1-a', pricing: 'spot' };
  return {
    ...{
      v: 1,
      job: `train-${index}`,
      run: `0199-${index}`,
      user: `user-${index % 50}`,
      project: `project-${index % PROJECTS}`,
    },
    ...{ pool: 'default', kind: 'cloud-tpu', accelerator: 'v5litepod-8', ...of, count: 8, slices: 1, unit: 'chip' },
    ...{ result: 'succeeded', attempts: 1, preemptions: index % 3, lost: 'none', charged, usd: charged / 3_000 },
    ...{ submittedAt: endedAt - 7_200_000, startedAt: endedAt - 3_600_000, endedAt, countedTo: endedAt },
    parts: { ...NO_PARTS, waiting: 100, setUp: 30, useful: charged - 30 },
    places: [{ ...of, charged, usd: charged / 3_000 }],
  };
}

/** Both have the same chip-hours of each project, to a thousandth. */
async function mustAgree(report: readonly string[], query: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const out = async ([program = '', ...args]: readonly string[]): Promise<string> =>
    (await promisify(execFile)(program, args, { env, maxBuffer: 1 << 26 })).stdout;
  const { rows } = JSON.parse(await out(report)) as { rows: readonly { key: string; charged: number }[] };
  const ours = new Map(rows.map(({ key, charged }) => [key, charged / 3_600]));
  const theirs = (await out(query))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [string, number]);
  const isSame = theirs.every(([key, hours]) => Math.abs((ours.get(key) ?? NaN) - hours) < 0.001);
  if (theirs.length !== PROJECTS || ours.size !== PROJECTS || !isSame) throw new Error('jobctl and DuckDB differ');
}

import { readFileSync } from 'node:fs';
import { jobOfLeaseKey, type Demand } from '../../../domain/lease.js';
import { formatProblems } from '../../../domain/problem.js';
import { type EpochMs, count, formatUnits } from '../../../domain/units.js';
import { plainWording } from '../../../quota/explanation/explain-words.js';
import { parsePlanState, planOf, type Plan, configUnder } from '../../../quota/plan.js';
import type { Pool, QuotaConfig } from '../../../quota/quota-config.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import type { OutputFlag } from '../../terminal/options.js';
import { goodFiles, readFiles } from './quota-files.js';
import { publishedPool } from './pool.js';
import { wordingFor } from '../../terminal/render/why.js';
import { terminalWidth, oneLine, renderTable } from '../../terminal/render/columns.js';
import { printErr, printOut } from '../../terminal/print.js';

export interface QuotaPlanFlags extends ContextFlags, OutputFlag {
  /** The quota file. */
  readonly quota?: string;
  /** A made-up pool as JSON; `-`: standard input. Absent: a pool as last published. */
  readonly state?: string;
  /** With `state`: the pool file, like `poolFile`. Without: the name of the pool; absent: `default`. */
  readonly pool?: string;
  readonly poolFile?: string;
}

/** A pool, the time, and a headline. */
interface Planned {
  readonly view: Pool;
  readonly now: EpochMs;
  readonly headline: string;
  /** The name for an id in the answer. */
  nameOf(id: string): string;
}

/** Shows the effect of one decision. Reads files, and without `--state` one object of the bucket; changes nothing. */
export async function quotaPlan(flags: QuotaPlanFlags): Promise<number> {
  const planned = flags.state === undefined ? await published(flags) : madeUp(flags.state, flags);
  const { view, now, nameOf, headline } = planned;
  const isJson = flags.output === 'json';
  const plain = plainWording(view.config);
  const wording = isJson ? plain : wordingFor(plain.hasTiers, Date.now());
  const plan = planOf(view, now, { ...wording, nameOf });
  const width = terminalWidth(process.stdout);
  const text = isJson ? JSON.stringify(plan, null, 2) : renderPlan(plan, view, headline, nameOf, width).join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}

const sameName = (id: string): string => id;

/** Reads a made-up pool; needs no server and no bucket. */
function madeUp(file: string, { quota, pool, poolFile }: QuotaPlanFlags): Planned {
  if (quota === undefined) {
    throw usage('quota plan: --state needs the quota file beside it', 'name it with --quota FILE');
  }
  if (pool !== undefined && poolFile !== undefined) {
    throw usage('quota plan: with --state, --pool and --pool-file are both the pool file', 'name it once');
  }
  const config = readConfig(quota, poolFile ?? pool);
  const parsed = parsePlanState(readState(file), file === '-' ? 'standard input' : file);
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  const { now, waiting, leases } = parsed.state;
  return { view: { config, requests: waiting, leases }, now, headline: `${file}, at ${iso(now)}`, nameOf: sameName };
}

/** Reads the pool as it was published: the decision is the one that its own workflow would take then. */
async function published(flags: QuotaPlanFlags): Promise<Planned> {
  const { quota, pool = 'default', poolFile } = flags;
  if (quota === undefined && poolFile !== undefined) {
    throw usage('quota plan: --pool-file needs the quota file beside it', 'name it with --quota FILE');
  }
  const given = quota === undefined ? undefined : readConfig(quota, poolFile);
  const { view, at } = await publishedPool(resolveContext(flags), pool);
  const config = configUnder(view.config, given && { config: given, hasPoolFile: poolFile !== undefined });
  const changed = quota === undefined ? 'its files in force' : [quota, poolFile].filter((name) => name).join(' and ');
  const headline = `pool ${pool} as of ${iso(at)}, under ${changed}`;
  return { view: { ...view, config }, now: at, headline, nameOf: jobOfLeaseKey };
}

const WANTED = 'jobctl quota plan takes the path of a quota file (TOML), and of a pool file beside it';

function readConfig(quota: string, poolFile: string | undefined): QuotaConfig {
  const { config, warnings } = goodFiles(readFiles(quota, poolFile, WANTED));
  for (const warning of warnings) printErr(`warning: ${warning}\n`);
  return config;
}

/** Reads the state without a limit of its size: a state of ten thousand jobs has some MB. */
function readState(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw usage(
      `${file}: ${(error as Error).message}`,
      'jobctl quota plan --state takes the path of a JSON file, or -',
    );
  }
}

const iso = (at: EpochMs): string => new Date(at).toISOString();
const usage = (what: string, ...rest: readonly string[]): CliError => new CliError(ExitCode.Usage, what, ...rest);

const MOST_ROWS = 20;

/** Renders `jobctl quota plan`: the effect of one decision, for people. @param nameOf names ids as `plan` does */
export function renderPlan(
  plan: Plan,
  view: Pool,
  headline: string,
  nameOf: (id: string) => string,
  width?: number,
): readonly string[] {
  const requests = new Map(view.requests.map((request) => [nameOf(request.id), request]));
  const leases = new Map(view.leases.map((lease) => [nameOf(lease.id), lease]));
  const { hasTiers } = plainWording(view.config);
  const { grants, preemptions, waiting } = plan;
  return [
    `${headline}: ${count(grants.length, 'job')} granted, ${preemptions.length} preempted, ${waiting.length} waiting`,
    ...table(
      ['GRANTED', 'PROJECT', 'USER', 'UNITS', hasTiers ? 'TIER' : ''],
      grants.map(({ id, tier }) => [id, ...who(requests.get(id)), hasTiers ? String(tier + 1) : '']),
      width,
    ),
    ...table(
      ['PREEMPTED', 'PROJECT', 'USER', 'UNITS', 'FOR'],
      preemptions.map(({ id, for: whom }) => [id, ...who(leases.get(id)), whom]),
      width,
    ),
    ...table(
      ['WAITING', 'PROJECT', 'USER', 'UNITS', 'PLACE', 'WHY'],
      waiting.map(({ id, position, reasons }) => [
        id,
        ...who(requests.get(id)),
        String(position),
        reasons.map(oneLine).join('; '),
      ]),
      width,
    ),
  ];
}

const who = (demand: Demand | undefined): readonly string[] =>
  demand === undefined ? ['', '', ''] : [demand.project, demand.user, formatUnits(demand.units)];

function table(head: readonly string[], rows: readonly (readonly string[])[], width?: number): readonly string[] {
  if (rows.length === 0) return [];
  const shown = [head, ...rows.slice(0, MOST_ROWS)].map(([first = '', ...cells]) => [`  ${first}`, ...cells]);
  const hidden = rows.length - MOST_ROWS;
  return ['', ...renderTable(shown, width), ...(hidden > 0 ? [`  .. and ${hidden} more: --output json has all`] : [])];
}

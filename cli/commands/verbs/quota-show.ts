import { chipsOfUnits } from '../../../domain/accelerators.js';
import { chipHolders } from '../../../quota/chip-holders.js';
import { poolAccounts, type PoolAccounts, type ProjectAccount } from '../../../quota/pool-accounts.js';
import type { AdmissionSet, PoolSnapshot, Rebuilding } from '../../../quota/published-state.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { publishedPool, holderLines } from './pool.js';
import { lookOf, type Look, type Colour } from '../../terminal/render/look.js';
import { printPainted, asTyped } from '../../terminal/print.js';
import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import { jobOfLeaseKey } from '../../../domain/lease.js';
import {
  DEFAULT_RULES,
  UNLIMITED_NOTE,
  type LeaseState,
  type PoolRules,
  type QuotaConfig,
} from '../../../quota/quota-config.js';
import { formatDuration, utcMinute } from '../../terminal/render/quantities.js';
import { oneLine, padToWidth, renderTable, textWidth } from '../../terminal/render/columns.js';
import { releaseRemedy } from '../../../quota/explanation/explain-words.js';
import { largest } from '../../../domain/extremes.js';

export interface QuotaShowFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  /** Also shows every job with a lease. */
  readonly jobs?: true;
}

/** Shows a pool. It reads one object of the bucket, needs neither Temporal nor a worker, and disturbs no workflow. */
export async function quotaShow(flags: QuotaShowFlags): Promise<number> {
  const context: CliContext = resolveContext(flags);
  const state = await publishedPool(context, flags.pool);
  const accounts = poolAccounts(state.view);
  const now = Date.now();
  const look = lookOf(process.stdout, process.env);
  const holders = flags.jobs === true ? chipHolders(state.view) : undefined;
  const text =
    flags.output === 'json'
      ? JSON.stringify({ ...asJson(state, accounts, now), ...(holders && { holders }) }, null, 2)
      : [...renderPool(state, accounts, now, look), ...(holders ? ['', ...holderLines(holders, now, look)] : [])].join(
          '\n',
        );
  printPainted(`${text}\n`);
  return ExitCode.Done;
}

/** The JSON form, in quota units; `chipsPerUnit` converts them to chips. */
function asJson(state: PoolSnapshot, { tiers, projects, idle }: PoolAccounts, now: number): object {
  const { view, unstored: _, ...head } = state;
  const types = [...new Set([...tiers, ...projects].map(({ type }) => type))];
  return {
    ...head,
    ageMs: Math.max(0, now - state.at),
    isUnlimited: view.config.kind === 'unlimited',
    chipsPerUnit: Object.fromEntries(types.map((type) => [type, chipsOfUnits(type, 1) ?? null])),
    tiers,
    projects,
    idleProjects: idle,
    jobs: { waiting: view.requests.length, ...leasesByState(view.leases) },
    reservations: view.memory?.reservations ?? [],
    coolDowns: view.memory?.coolDowns ?? [],
  };
}

/** Renders `jobctl quota show`: a pool as last published, with bars on a terminal only. */
export function renderPool(state: PoolSnapshot, accounts: PoolAccounts, now: EpochMs, look: Look): readonly string[] {
  const { config } = state.view;
  return [
    `pool ${state.pool}`,
    ...renderTable(
      poolFacts(state, now).map(([key, value]) => [`  ${key}`, value]),
      look.width,
    ),
    ...section(tierRows(accounts, config)),
    ...projectLines(accounts, look),
    ...notes(accounts, config, look),
    ...section(stuckRows(state, now)),
    ...stuckRemedy(state),
    ...section(reservationRows(state)),
    ...section(coolDownRows(state, now)),
  ];
}

type Fact = readonly [string, string];

function poolFacts(state: PoolSnapshot, now: EpochMs): Fact[] {
  const { admission, admissionReason, admissionSet: set, source, problem, rebuilding, view, at } = state;
  const why = admissionReason === undefined ? '' : `: ${oneLine(admissionReason)}`;
  const files = view.config.kind === 'unlimited' ? UNLIMITED_NOTE : (source ?? 'in force');
  return [
    ...(rebuilding === undefined ? [] : [['REBUILDING', rebuildingNote(rebuilding)] as const]),
    [
      'admission',
      `${ADMISSIONS[admission]}${why}${admission === 'open' || set === undefined ? '' : setText(set, now)}`,
    ],
    ['files', oneLine(files)],
    ...(problem === undefined
      ? []
      : [['problem', `${oneLine(problem)} (the files that were good last are in force)`] as const]),
    ['jobs', `${leaseCounts(view.leases)}, ${view.requests.length} waiting`],
    ['as of', `${formatDuration(now - at)} ago`],
  ];
}

const setText = ({ by, at }: AdmissionSet, now: EpochMs): string =>
  oneLine(` (by ${by}, ${formatDuration(now - at)} ago)`);

/** The note that the pool's workflow is rebuilding its memory, so the rest shows only what it knows so far. */
function rebuildingNote({ since, until, waitsFor, waitsForCount }: Rebuilding): string {
  const more = waitsForCount - waitsFor.length;
  const jobs = oneLine([...waitsFor, ...(more > 0 ? [`${more} more`] : [])].join(', '));
  const who = waitsForCount === 0 ? 'reads what is open' : `waits for ${jobs}`;
  return `since ${utcMinute(since)} UTC: ${who}, until ${utcMinute(until)} UTC at most; nothing is granted, and the numbers below are what it has heard so far`;
}

const ADMISSIONS: Readonly<Record<PoolSnapshot['admission'], string>> = {
  open: 'open',
  frozen: 'FROZEN, nothing new is granted',
  draining: 'DRAINING, nothing new is granted and every lease is asked back',
};

/** `12 with a lease (10 held, 2 asking)`. */
function leaseCounts(leases: PoolSnapshot['view']['leases']): string {
  const counts = Object.entries(leasesByState(leases)).flatMap(([state, number]) =>
    number === 0 ? [] : [`${number} ${state}`],
  );
  return `${leases.length} with a lease${counts.length === 0 ? '' : ` (${counts.join(', ')})`}`;
}

/** Counts of leases by state, in the order in which they are shown. */
function leasesByState(leases: PoolSnapshot['view']['leases']): Readonly<Record<LeaseState, number>> {
  const counts = { held: 0, asking: 0, parked: 0, draining: 0 };
  for (const { state = 'held' } of leases) counts[state]++;
  return counts;
}

function section(rows: readonly (readonly string[])[]): readonly string[] {
  const [titles, ...rest] = rows;
  return titles === undefined || rest.length === 0 ? [] : ['', ...renderTable(rows.map(indented))];
}

const indented = ([first = '', ...rest]: readonly string[]): readonly string[] => [`  ${first}`, ...rest];

function tierRows({ tiers }: PoolAccounts, config: QuotaConfig): readonly (readonly string[])[] {
  const rules = rulesOf(config).tiers;
  const rows = tiers.map(({ tier, type, total, inUse, draining, free }) => [
    String(tier + 1),
    type,
    rules[tier]?.pricing ?? "each job's own",
    ...[total, inUse, draining, free].map((units) => amount(type, units)),
  ]);
  return [['TIER', 'TYPE', 'PRICING', 'UNITS', 'IN USE', 'DRAINING', 'FREE'], ...rows];
}

const COLUMNS = ['nominal', 'used', 'borrowed', 'lent', 'draining', 'waiting'] as const;
/** Columns of an unlimited pool: without nominal quotas nothing is borrowed. */
const UNLIMITED_COLUMNS = ['used', 'draining', 'waiting'] as const;

function projectLines(accounts: PoolAccounts, look: Look): readonly string[] {
  if (accounts.projects.length === 0) return [];
  const shown = accounts.tiers.length === 0 ? UNLIMITED_COLUMNS : COLUMNS;
  const rows = accounts.projects.map((row) => [
    row.project,
    row.type,
    ...shown.map((each) => amount(row.type, row[each])),
  ]);
  const titles = ['PROJECT', 'TYPE', ...shown.map((column) => column.toUpperCase())];
  const lines = renderTable([titles, ...rows].map(indented));
  const width = largest(lines.map(textWidth)) + GAP.length;
  const columns = Math.min(MOST_BAR, (look.width ?? 0) - width);
  if (columns < LEAST_BAR || accounts.tiers.length === 0) return ['', ...lines];
  const [head = '', ...body] = lines;
  const bars = accounts.projects.map((row) => gauge(gaugeRow(row, accounts), columns, look));
  return ['', head, ...body.map((line, index) => `${padToWidth(line, width)}${bars[index] ?? ''}`.trimEnd())];
}

const GAP = '  ';
const LEAST_BAR = 8;
const MOST_BAR = 40;

function gaugeRow({ type, nominal, used, borrowed }: ProjectAccount, { tiers }: PoolAccounts) {
  const whole = tiers.filter((tier) => tier.type === type).reduce((sum, { total }) => sum + total, 0);
  const own = used - borrowed;
  return { own, borrowed, unused: Math.max(0, nominal - own), whole: Math.max(1, whole) };
}

function notes({ projects, tiers, idle }: PoolAccounts, config: QuotaConfig, look: Look): readonly string[] {
  const inCores = [...new Set([...projects, ...tiers].map(({ type }) => type))].filter(
    (type) => chipsOfUnits(type, 1) !== undefined && chipsOfUnits(type, 1) !== 1,
  );
  const { own, borrowed, unused } = look.symbols;
  return [
    ...(look.width === undefined || config.kind === 'unlimited' || projects.length === 0
      ? []
      : [`  ${own} its own quota  ${borrowed} borrowed  ${unused} nominal, not used; a whole bar is the pool`]),
    ...(inCores.length === 0 ? [] : [`  in brackets: chips (${inCores.join(', ')} counted in cores, two a chip)`]),
    ...(idle.length === 0
      ? []
      : [`  ${count(idle.length, 'project')} without quota, use or demand: ${idle.join(', ')}`]),
  ];
}

/** `64`, or with its chips if a unit is not a chip: `64 (32)`. */
function amount(type: string, units: number): string {
  const chips = chipsOfUnits(type, units);
  return chips === undefined || chips === units ? String(units) : `${units} (${chips})`;
}

function reservationRows({ view: { memory, requests, config } }: PoolSnapshot): readonly (readonly string[])[] {
  const { maxGuaranteeDelayMs } = rulesOf(config);
  const byId = new Map(requests.map((request) => [request.id, request]));
  const rows = (memory?.reservations ?? []).map(({ id, tier, madeAt }) => {
    const request = byId.get(id);
    return [
      jobOfLeaseKey(id),
      request?.project ?? '-',
      request === undefined ? '-' : formatUnits(request.units),
      String(tier + 1),
      utcMinute(madeAt),
      utcMinute(madeAt + maxGuaranteeDelayMs),
    ];
  });
  return [['RESERVED FOR', 'PROJECT', 'ASKS FOR', 'TIER', 'SINCE (UTC)', 'UNTIL (UTC)'], ...rows];
}

/** Slices whose chips still count, because their deletion does not end. */
function stuckRows({ stuck = [] }: PoolSnapshot, now: EpochMs): readonly (readonly string[])[] {
  const rows = stuck.map(({ id, slice, since, answer, isFinal }) => [
    jobOfLeaseKey(id),
    slice,
    formatDuration(now - since),
    `${oneLine(answer)}${isFinal ? ' (this does not change by itself)' : ''}`,
  ]);
  return [['STUCK', 'SLICE IN DELETION', 'FOR', 'ANSWERED LAST'], ...rows];
}

function stuckRemedy({ stuck = [], pool }: PoolSnapshot): readonly string[] {
  const [first] = stuck;
  return first === undefined ? [] : [asTyped(`  ${releaseRemedy(jobOfLeaseKey(first.id), pool)}`)];
}

function coolDownRows({ view: { memory } }: PoolSnapshot, now: EpochMs): readonly (readonly string[])[] {
  const rows = (memory?.coolDowns ?? [])
    .filter(({ until }) => until > now)
    .map(({ zone, type, tier, failures, until }) => [
      zone,
      type,
      String(tier + 1),
      count(failures, 'time'),
      formatDuration(until - now),
    ]);
  return [['COOLING DOWN', 'TYPE', 'TIER', 'NO CHIPS', 'FOR'], ...rows];
}

const rulesOf = (config: QuotaConfig): PoolRules =>
  (config.kind === 'limited' ? config.rules : undefined) ?? DEFAULT_RULES;

/** A project's units of one type, beside the pool's total: one row of a gauge. */
interface GaugeRow {
  /** Units in use within the project's nominal quota. */
  readonly own: number;
  readonly borrowed: number;
  /** Unused units of its nominal quota. */
  readonly unused: number;
  readonly whole: number;
}

/**
 * A bar of at most `columns` columns in proportion to the whole; each nonzero part has at least one column. Parts beyond the
 * whole (a pool that was shrunk) end with the bar.
 */
export function gauge({ own, borrowed, unused, whole }: GaugeRow, columns: number, { symbols, paint }: Look): string {
  const parts: readonly (readonly [number, string, Colour])[] = [
    [own, symbols.own, 'green'],
    [borrowed, symbols.borrowed, 'yellow'],
    [unused, symbols.unused, 'dim'],
  ];
  let [sum, drawn, bar] = [0, 0, ''];
  for (const [units, symbol, colour] of parts) {
    if (units <= 0) continue;
    sum += units;
    const end = Math.min(columns, Math.max(drawn + 1, Math.round((sum / whole) * columns)));
    if (end > drawn) bar += paint(colour, symbol.repeat(end - drawn));
    drawn = Math.max(drawn, end);
  }
  return bar;
}

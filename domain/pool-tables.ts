import type { z } from 'zod';
import type { ChoiceLists } from './choices.js';
import { Report } from './job-file/report.js';
import { pricingOf, resolveCapacity } from './machine-kinds/cloud-tpu/capacity-keys.js';
import type { PoolGiven, PoolTable } from './machine-kinds/kind.js';
import { POOL_TABLES } from './machine-kinds/registry.js';
import { MACHINE_KINDS, machineKind } from './machines.js';
import type { Path } from './problem.js';
import type { TierPurchase } from './slice.js';

/** The parts of a pool file that belong to kinds of machines, for code that knows none of them. */

type Tables = typeof POOL_TABLES;
type TableForms = {
  [Name in keyof Tables as Tables[Name] extends PoolTable ? Name : never]: Tables[Name] extends PoolTable<infer Form>
    ? z.ZodOptional<Form>
    : never;
};
/** The parts of a pool file that jobs get. */
export type GivenByPool = Omit<PoolGiven<unknown>, 'table'> & {
  readonly [Name in keyof TableForms]?: z.output<TableForms[Name]>;
};

const tables = Object.entries(POOL_TABLES).flatMap(([name, table]) => (table === undefined ? [] : [{ name, table }]));

/** The forms of the tables, by their names. */
export const poolTableForms = (): TableForms =>
  Object.fromEntries(
    tables.map(({ name, table }) => [
      name,
      table.form().optional().describe(`Defaults for ${name} of a job file, under the job file's own keys.`),
    ]),
  ) as TableForms;

/** Checks what a pool file gives to jobs. */
export function checkPoolTables(file: GivenByPool, report: Report): void {
  for (const { name, table } of tables) table.check({ ...file, table: file[name as keyof TableForms] }, report);
}

/** The values of the tables as choices of the pool's jobs. */
export function givenByTables(file: GivenByPool): ChoiceLists {
  return Object.assign(
    {},
    ...tables.map(({ name, table }) => table.gives(file[name as keyof TableForms] ?? {})),
  ) as ChoiceLists;
}

const ZONE_NAMES = [
  ...new Set(MACHINE_KINDS.map((kind) => machineKind(kind).zoneNames).filter((names) => names !== undefined)),
];

/** Reports a text that is no provider's zone. */
export function checkPoolZone(path: Path, zone: string, report: Report): void {
  if (!ZONE_NAMES.some((names) => names.isName(zone))) ZONE_NAMES[0]?.check(path, zone, report);
}

/**
 * The purchase of a tier's slices. Chips of a named reservation come only through queued resources; the name's form is
 * checked like that of a job's own.
 */
export function tierPurchase(
  tier: { readonly pricing?: string | undefined; readonly reservation?: string | undefined },
  zones: readonly string[],
  path: Path,
  report: Report,
): Partial<TierPurchase> {
  const inTier = new Report([]);
  const { reservation } = resolveCapacity({ ...tier, allocation_mode: 'queued-resources' }, zones, inTier);
  for (const problem of inTier.problems)
    report.problem([...path, ...problem.path.slice(1)], problem.value, problem.message, problem.hint);
  const pricing = pricingOf(tier);
  return { ...(pricing !== undefined && { pricing }), ...(reservation !== undefined && { reservation }) };
}

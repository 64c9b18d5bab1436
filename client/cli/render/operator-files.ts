import type { PoolDefaults } from '../../../domain/job-file/pool-defaults.js';
import type { QuotaUnits } from '../../../domain/units.js';
import type { QuotaConfig } from '../../../quota/quota-config.js';
import { renderTable } from './table.js';

/** What a pool file comes to. */
export function poolEssentials({ googleProject, zones, tpu = {} }: PoolDefaults): readonly string[] {
  const defaults = Object.entries(tpu).map(([key, value]) => [`  tpu.${key}`, asText(value)]);
  return renderTable([
    ['  google_project', googleProject ?? "each job's, else the worker's"],
    ['  zones', zones?.join(', ') ?? "each job's"],
    ...defaults,
  ]);
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What a quota file comes to: tiers, and each project's whole units in them, best tier first. */
export function quotaEssentials(config: QuotaConfig): readonly string[] {
  if (config.kind === 'unlimited') return ['  no limit'];
  const { tiers, projects } = config;
  return renderTable([
    ...tiers.map((units, index) => [`  tier ${index + 1}`, unitsOf(units), '']),
    ...projects.map(({ name, nominal, members }) => [
      `  ${name}`,
      nominal.map(unitsOf).join('; '),
      members.length === 0 ? 'nobody' : members.join(' '),
    ]),
  ]);
}

function unitsOf(units: QuotaUnits): string {
  const parts = Object.entries(units).map(([type, amount]) => `${amount} ${type}`);
  return parts.length === 0 ? '-' : parts.join(', ');
}

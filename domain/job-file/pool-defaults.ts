import { z } from 'zod';
import { GENERATIONS, type AcceleratorType, canonicalGeneration } from '../accelerators.js';
import { ANY_PRICING, pricingNamed, pricingWord } from '../machine-kinds/cloud-tpu/capacity-keys.js';
import type { QuotaUnits } from '../units.js';
import { section, text } from './fields.js';
import type { Report } from './report.js';
import { tpuSection, type TpuForm } from '../machine-kinds/cloud-tpu/words.js';

/** `v5e` is Google's other word for v5litepod, as everywhere. */
const VERSION_KEYS = [...GENERATIONS, 'v5e'] as const;
type VersionKey = (typeof VERSION_KEYS)[number];
const versions = section(
  Object.fromEntries(VERSION_KEYS.map((key) => [key, text().optional()])) as Record<
    VersionKey,
    z.ZodOptional<z.ZodString>
  >,
);

const schema = tpuSection()
  .pick({
    allocation_mode: true,
    pricing: true,
    run_duration: true,
    valid_until: true,
    startup_script: true,
    tags: true,
    metadata: true,
    labels: true,
    network: true,
    subnetwork: true,
    external_ips: true,
    service_account: true,
    scopes: true,
    reservation: true,
    hedge: true,
    data_disks: true,
  })
  .extend({
    version: z.union([text(), versions], { error: 'a runtime version, or a table of them by generation' }).nullish(),
  });

/** The keys of `tpu` for which a pool can have defaults: all but those of one job only, such as accelerator and topology. */
export const poolTpuSection = (): typeof schema => schema;

/** Defaults from a pool's file, for jobs that leave the keys out. Plain JSON. */
export interface PoolDefaults {
  readonly pool: string;
  /** The pool file, for messages. Absent: the pool has none. */
  readonly file?: string;
  readonly googleProject?: string;
  /** In order of preference. */
  readonly zones?: readonly string[];
  /** All zones that the file names. They exist even if jobctl does not know them. */
  readonly listedZones?: readonly string[];
  /** Units of the largest slice by zone and type, from the file. A zone or type that it does not name has no bound. */
  readonly largestSlice?: Readonly<Record<string, QuotaUnits>>;
  readonly tpu?: z.infer<typeof schema>;
}

/** Keys of a job's `tpu` that a pool file may give. */
export const POOL_KEYS: readonly string[] = ['zone', 'project', ...Object.keys(schema.shape)];

/**
 * Adds the pool's defaults to a job's `tpu`. The job's own value wins. Labels and metadata are merged key by key, and the tags
 * of both are taken. `report` learns which values the pool gave, so that a problem in them names its file.
 * @param type its generation selects the default runtime; undefined if the job's type is not known
 */
export function withPoolDefaults(
  own: TpuForm,
  pool: PoolDefaults,
  type: AcceleratorType | undefined,
  report: Report,
): TpuForm {
  const given = present(own);
  const defaults = present(defaultsFor(given, pool, type));
  report.givenBy(
    pool.file ?? `pool '${pool.pool}'`,
    Object.keys(defaults)
      .filter((key) => !(key in given))
      .map((key) => ['tpu', key]),
  );
  const { labels, metadata, tags } = defaults;
  return {
    ...defaults,
    ...given,
    ...(labels && { labels: { ...labels, ...given.labels } }),
    ...(metadata && { metadata: { ...metadata, ...given.metadata } }),
    ...(tags && { tags: [...new Set([...tags, ...(given.tags ?? [])])] }),
  };
}

/** The pool's defaults, except those that belong to a choice that the job has made differently. */
function defaultsFor(own: TpuForm, pool: PoolDefaults, type: AcceleratorType | undefined): TpuForm {
  const { version, ...tpu } = pool.tpu ?? {};
  const defaults: TpuForm = {
    ...tpu,
    ...(version && { version: typeof version === 'string' ? version : type && versionFor(type, version) }),
    ...(own.zone === undefined && own.zones === undefined && pool.zones && { zones: [...pool.zones] }),
    ...(pool.googleProject !== undefined && { project: pool.googleProject }),
  };
  // A reservation determines these keys. A subnetwork is a part of its network.
  if (own.reservation !== undefined) Object.assign(defaults, { pricing: null, allocation_mode: null });
  if (own.network !== undefined) Object.assign(defaults, { subnetwork: null });
  if (own.run_duration !== undefined) Object.assign(defaults, { pricing: null });
  // A pool's reservation and run duration are for jobs of that pricing, its deadline for jobs that wait in Google's queue.
  const word = pricingWord(own) ?? pricingWord(tpu) ?? ANY_PRICING;
  const pricing = pricingNamed(word);
  if (pricing !== 'reserved') Object.assign(defaults, { reservation: null });
  if (pricing === 'flex-start') Object.assign(defaults, { allocation_mode: null });
  else if (pricing !== undefined) Object.assign(defaults, { run_duration: null });
  if (own.allocation_mode === 'tpu-vm') Object.assign(defaults, { valid_until: null });
  return defaults;
}

function versionFor({ generation }: AcceleratorType, byGeneration: z.infer<typeof versions>): string | undefined {
  return VERSION_KEYS.flatMap((key) => (canonicalGeneration(key) === generation ? (byGeneration[key] ?? []) : [])).at(
    0,
  );
}

/** `null` is the same as absent. */
function present(form: TpuForm): TpuForm {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== null && value !== undefined));
}

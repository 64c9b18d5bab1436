import { z } from 'zod';
import { GENERATIONS } from '../accelerators.js';
import type { AcceleratorType } from '../accelerators.js';
import { canonicalGeneration } from './accelerator.js';
import { ANY_PRICING, pricingNamed, pricingWord } from '../machine-kinds/cloud-tpu/capacity-keys.js';
import type { QuotaUnits } from '../units.js';
import { section, text } from './fields.js';
import type { Report } from './report.js';
import { tpuSection } from '../machine-kinds/cloud-tpu/section-form.js';
import type { TpuForm } from '../machine-kinds/cloud-tpu/section-form.js';

/** `v5e` is Google's other word for v5litepod, here as everywhere. */
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

/** The keys of `tpu` for which a pool can have defaults: those that are no job's own, as accelerator and topology are. */
export const poolTpuSection = (): typeof schema => schema;

/** What a pool's file gives to jobs that leave it out. Plain JSON. */
export interface PoolDefaults {
  readonly pool: string;
  /** The pool file, for messages; absent: the pool has none. */
  readonly file?: string;
  readonly googleProject?: string;
  /** In order of preference. */
  readonly zones?: readonly string[];
  /** All that the file names: they exist, whatever jobctl knows of Google's. */
  readonly listedZones?: readonly string[];
  /** Units of the largest slice by zone and type, as the file says; a zone or type that is not named has no bound. */
  readonly largestSlice?: Readonly<Record<string, QuotaUnits>>;
  readonly tpu?: z.infer<typeof schema>;
}

/** Keys of a job's `tpu` that a pool file may give. */
export const POOL_KEYS: readonly string[] = ['zone', 'project', ...Object.keys(schema.shape)];

/**
 * A job's `tpu` with the pool's defaults below it. The job's own value wins; labels and metadata are joined key by key, the
 * tags of both are taken. `report` learns what the pool gave, so that a problem names its file.
 * @param type of which generation the default runtime is; undefined where the job's is not known
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

/** The pool's defaults without those that belong to a choice which the job has made otherwise. */
function defaultsFor(own: TpuForm, pool: PoolDefaults, type: AcceleratorType | undefined): TpuForm {
  const { version, ...tpu } = pool.tpu ?? {};
  const defaults: TpuForm = {
    ...tpu,
    ...(version && { version: typeof version === 'string' ? version : type && versionFor(type, version) }),
    ...(own.zone === undefined && own.zones === undefined && pool.zones && { zones: [...pool.zones] }),
    ...(pool.googleProject !== undefined && { project: pool.googleProject }),
  };
  // What a reservation needs comes with its name; a subnetwork is a part of its network.
  if (own.reservation !== undefined) Object.assign(defaults, { pricing: null, allocation_mode: null });
  if (own.network !== undefined) Object.assign(defaults, { subnetwork: null });
  if (own.run_duration !== undefined) Object.assign(defaults, { pricing: null });
  // A pool's reservation and run duration are for its jobs of that pricing, its deadline for those that wait in Google's queue.
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

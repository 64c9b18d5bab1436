import type { AcceleratorType } from '../accelerators.js';
import type { Path } from '../problem.js';
import type { DataDisk } from '../slice.js';
import { namesIn, referenceHint, regionOf, RESOURCE_NAME } from './cloud-path.js';
import type { Report } from './report.js';
import type { TpuForm } from './tpu-form.js';

/** Google's limits with the boot disk (cloud.google.com/tpu/docs/setup-persistent-disk, 2026). */
const MOST_DISKS: Partial<Record<AcceleratorType['generation'], number>> = { v6e: 32 };
const MOST_DISKS_OF_OTHERS = 128;

const SOURCE_FORMS =
  "a disk's name, for the disk of that name in the slice's zone, or its path projects/P/zones/ZONE/disks/NAME";

/** What a job's disks have to fit. */
export interface DiskUse {
  readonly zones: readonly string[];
  /** Undefined: any, as for a pool's defaults. */
  readonly type: AcceleratorType | undefined;
  readonly slices: number;
}

/**
 * Disks that exist and are attached to every host. A disk lies in one zone, which must be the slice's, and is written to by
 * one VM at a time or read by several (the same page, "Access modes").
 */
export function resolveDataDisks(tpu: TpuForm, use: DiskUse, report: Report): readonly DataDisk[] | undefined {
  const forms = tpu.data_disks ?? [];
  if (forms.length === 0) return undefined;
  const { type, zones } = use;
  const most = ((type && MOST_DISKS[type.generation]) ?? MOST_DISKS_OF_OTHERS) - 1;
  if (forms.length > most)
    report.problem(['tpu', 'data_disks'], forms, `has ${forms.length} disks`, `a host takes ${most} at most`);
  return forms.map(({ source, mode }, index) => {
    const path = ['tpu', 'data_disks', index];
    checkSource(source, [...path, 'source'], zones, report);
    if (forms.findIndex((other) => other.source === source) !== index)
      report.wrong([...path, 'source'], source, 'named twice');
    if ((mode ?? DEFAULT_MODE) === 'read-write') checkOneWriter(mode, [...path, 'mode'], use, report);
    return { source, mode: mode ?? DEFAULT_MODE };
  });
}

/** Google's. */
const DEFAULT_MODE: DataDisk['mode'] = 'read-write';

function checkSource(source: string, path: Path, zones: readonly string[], report: Report): void {
  if (RESOURCE_NAME.test(source)) return;
  const zonal = namesIn(source, ['projects', 'zones', 'disks']);
  const regional = namesIn(source, ['projects', 'regions', 'disks']);
  if (zonal === undefined && regional === undefined) {
    report.wrong(path, source, 'no disk', referenceHint(source, SOURCE_FORMS));
    return;
  }
  const elsewhere = zones.find((zone) => (zonal ? zone !== zonal.zones : regionOf(zone) !== regional?.regions));
  if (elsewhere === undefined) return;
  const place = zonal ? `zone ${zonal.zones}` : `region ${regional?.regions}`;
  const message = `lies in ${place}, and the job may run in zone ${elsewhere}`;
  report.problem(path, source, message, 'a name alone means the disk of that name in whichever zone the slice is');
}

function checkOneWriter(mode: string | null | undefined, path: Path, { type, slices }: DiskUse, report: Report): void {
  const hosts = (type?.hosts ?? 1) * slices;
  if (hosts === 1) return;
  const said = mode ? '' : ` (${DEFAULT_MODE} where no mode is given)`;
  const message = `only one host can write to a disk, and the job has ${hosts} hosts${said}`;
  report.problem(path, mode ?? undefined, message, 'write mode: read-only');
}

import type { Draws } from '../random.js';
import { spanOf, type Tier } from './tier.js';

export const ZONES = ['us-central1-a', 'us-west4-a'] as const;
export const POOL_UNITS = 64;
export const GENERATION = 'v5litepod';
/** CPUs of the pool for jobs of pods. */
export const POD_CPUS = 10;
/** The type by which the pool counts VMs of Compute Engine: each VM has one such GPU. */
export const VM_GPU = 'l4';
export const VM_TYPE = 'g2-standard-4';
export const VM_UNITS = 6;
/** Accelerator type of those machines of the pool's own that have one. */
export const RACK_ACCELERATOR = 'tpu-rack';
/** Number of the pool's own machines, without an accelerator and with one. */
export const RACK_SIZE = { plain: 3, [RACK_ACCELERATOR]: 2 } as const;

/** The section of a job file that asks for machines, and the numbers that follow from it. */
export interface DrawnSection {
  readonly machines: Readonly<Record<string, unknown>>;
  readonly hosts: number;
  readonly slices: number;
  readonly shape: string;
}

const TPU_SHAPES = [
  { accelerator: 'v5litepod-4', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-4', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-8', hosts: 1, slices: 1 },
  { accelerator: 'v5litepod-16', hosts: 4, slices: 1 },
  { accelerator: 'v5litepod-4', hosts: 1, slices: 2 },
] as const;
const POD_SHAPES = [
  { workers: 1, cpus: 2, slices: 1 },
  { workers: 4, cpus: 1, slices: 1 },
  { workers: 2, cpus: 1, slices: 2 },
] as const;
const VM_SHAPES = [
  { count: 1, slices: 1 },
  { count: 3, slices: 1 },
  { count: 1, slices: 2 },
] as const;
const RACK_SHAPES = [
  { accelerator: undefined, hosts: 1, slices: 1 },
  { accelerator: undefined, hosts: 2, slices: 1 },
  { accelerator: undefined, hosts: 1, slices: 2 },
  { accelerator: RACK_ACCELERATOR, hosts: 1, slices: 1 },
  { accelerator: RACK_ACCELERATOR, hosts: 2, slices: 1 },
] as const;

export const JOB_KINDS = ['tpu', 'pods', 'vms', 'machines'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

interface SectionDraw {
  readonly tier: Tier;
  readonly isOfSecond: boolean;
  readonly kind?: JobKind | undefined;
}

/** A section of one host in one slice. */
export function drawSmallSection(draws: Draws, of: SectionDraw): DrawnSection {
  for (;;) {
    const section = drawSection(draws, of);
    if (section.hosts * section.slices === 1) return section;
  }
}

/** Two jobs in ten run on pods, two on VMs, two on the pool's own machines. The second installation's jobs run on TPUs alone. */
export function drawSection(draws: Draws, { tier, isOfSecond, kind }: SectionDraw): DrawnSection {
  const drawn = drawKind(isOfSecond ? 1 : draws.next());
  switch (isOfSecond ? drawn : (kind ?? drawn)) {
    case 'pods':
      return drawPods(draws, tier);
    case 'vms':
      return drawVms(draws);
    case 'machines':
      return drawMachines(draws);
    case 'tpu':
      return drawTpu(draws);
  }
}

function drawKind(of: number): JobKind {
  if (of < 0.2) return 'pods';
  if (of < 0.4) return 'vms';
  return of < 0.6 ? 'machines' : 'tpu';
}

const drawZones = (draws: Draws): readonly string[] => (draws.chance(0.5) ? ZONES : ZONES.toReversed());

function drawTpu(draws: Draws): DrawnSection {
  const { accelerator, hosts, slices } = draws.pick(TPU_SHAPES);
  const zones = drawZones(draws);
  const tpu = { accelerator, zones, allocation_mode: draws.pick(['queued-resources', 'tpu-vm']), pricing: 'spot' };
  return { machines: { tpu }, hosts, slices, shape: accelerator };
}

function drawPods(draws: Draws, tier: Tier): DrawnSection {
  const { workers, cpus, slices } = draws.pick(POD_SHAPES);
  // As short as it may be: what does not start is given back several times in a seed.
  const gangSeconds = Math.max(10, Math.round(spanOf(tier, 'gang') / 1_000));
  const kubernetes = { image: 'chaos:1', workers, cpus, gang_timeout: `${gangSeconds}s` };
  return { machines: { kubernetes }, hosts: workers, slices, shape: `${workers} pods of ${cpus} CPUs` };
}

function drawVms(draws: Draws): DrawnSection {
  const { count, slices } = draws.pick(VM_SHAPES);
  const zones = drawZones(draws);
  const compute_engine = { machine_type: VM_TYPE, count, zones, pricing: draws.pick(['spot', 'spot', 'ondemand']) };
  return { machines: { compute_engine }, hosts: count, slices, shape: `${count} ${compute_engine.pricing} VMs` };
}

function drawMachines(draws: Draws): DrawnSection {
  const { accelerator, hosts, slices } = draws.pick(RACK_SHAPES);
  const machines = { hosts, ...(accelerator !== undefined && { accelerator, count: hosts }) };
  return { machines: { machines }, hosts, slices, shape: `${hosts} ${accelerator ?? 'plain'} machines` };
}

import { acceleratorNamed } from '../accelerator.js';
import { OPEN, type Translation } from './translation.js';

/** The machines that a task of another tool asks for. */
export interface AskedMachines {
  /** Name as its user wrote it: `tpu-v4-32`, `A100`. */
  readonly accelerator?: string | undefined;
  /** GPUs of each machine. */
  readonly count?: number | undefined;
  readonly nodes: number;
  readonly image?: string | undefined;
  readonly zones?: readonly string[];
  readonly region?: string | undefined;
  readonly pricing: string;
  /** Further keys of `tpu`. */
  readonly tpu?: Readonly<Record<string, unknown>>;
}

/** Whether a name is that of a TPU, known or not. */
export const isTpu = (name: string): boolean => /^tpu/i.test(name) || acceleratorNamed(name) !== undefined;

/** Writes the section of the machines: `tpu` for a TPU, `kubernetes` with the GPUs of each pod for all others. */
export function putMachines(into: Translation, asked: AskedMachines): 'tpu' | 'kubernetes' {
  const { accelerator, nodes, image, count = 1 } = asked;
  if (accelerator !== undefined && isTpu(accelerator)) {
    if (nodes > 1) into.set('slices', nodes);
    return OF_GKE.test(accelerator) ? putGkeTpu(into, accelerator, asked) : putTpu(into, accelerator, asked);
  }
  const gpus = accelerator === undefined ? {} : { gpus: count, gpu_type: accelerator.toLowerCase() };
  const place = 'compute_engine is for VMs of Google Cloud, machines for your own';
  const remark = accelerator === undefined ? `pods without an accelerator; ${place}` : `GPUs in pods; ${place}`;
  into.set('kubernetes', { image: image ?? OPEN, ...(nodes > 1 && { workers: nodes }), ...gpus }, remark);
  return 'kubernetes';
}

const OF_GKE = /^tpu-.*-(podslice|slice|device)$/;

/** Reason why a node with that many chips stays open: the file does not say the topology. */
function putGkeTpu(into: Translation, accelerator: string, { image = OPEN, count = 1 }: AskedMachines): 'kubernetes' {
  into.set('kubernetes', { image, tpu: { accelerator, topology: OPEN } }, `${count} on a node`);
  return 'kubernetes';
}

function putTpu(into: Translation, name: string, asked: AskedMachines): 'tpu' {
  const { zones = [], region, pricing, tpu = {}, image } = asked;
  const accelerator = acceleratorNamed(name)?.type ?? name.replace(/^tpu-/i, '');
  const [zone = OPEN, ...more] = zones;
  const place = more.length === 0 ? { zone } : { zones };
  const remark = zones.length === 0 && region !== undefined ? `a zone of ${region}` : undefined;
  into.set('tpu', { accelerator, ...place, pricing, ...tpu }, remark);
  if (image !== undefined) into.set('docker', { image });
  return 'tpu';
}

interface Asked {
  readonly setup: string | undefined;
  readonly run: string | undefined;
  /** The keys that have them, for messages. */
  readonly names: readonly [setup: string, run: string];
  /** The command runs in an image: what is installed on a host is not in it. */
  readonly isInImage: boolean;
  readonly hasFolder: boolean;
}

/** Writes what is run before the command, and the command. */
export function putScripts(into: Translation, { setup, run, names, isInImage, hasFolder }: Asked): void {
  const [ofSetup, ofRun] = names;
  if (setup !== undefined && isInImage) {
    // A shell of its own, as with the other tool: a folder that it enters is not that of the command.
    into.script('command.run', `(\n${setup.trim()}\n) || exit\n${run ?? ''}`, `${ofSetup}, then of ${ofRun}`);
    return;
  }
  if (setup !== undefined) into.script(hasFolder ? 'bundle.install' : 'script.run', setup, ofSetup);
  if (run !== undefined) into.script('command.run', run, ofRun);
}

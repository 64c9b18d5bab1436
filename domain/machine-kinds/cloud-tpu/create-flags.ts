import { DISK_MODES } from './words.js';
import type { Report } from '../../job-file/report.js';
import type { DataDiskForm, TpuForm } from './section-form.js';

/** Returns undefined if there is no such value. */
type ReadFlag = (value: string) => Partial<TpuForm> | undefined;

/** Flags of `gcloud compute tpus tpu-vm create` that have a key in `tpu` (gcloud reference, 2026), and their readers. */
const FLAGS: Readonly<Record<string, ReadFlag>> = {
  '--network': (network) => ({ network }),
  '--subnetwork': (subnetwork) => ({ subnetwork }),
  '--service-account': (service_account) => ({ service_account }),
  '--scopes': (scopes) => ({ scopes: scopes.split(',') }),
  '--tags': (tags) => ({ tags: tags.split(',') }),
  '--labels': (labels) => ({ labels: pairsOf(labels) }),
  '--metadata': (metadata) => ({ metadata: pairsOf(metadata) }),
  '--version': (version) => ({ version }),
  '--type': (accelerator) => ({ accelerator }),
  '--topology': (topology) => ({ topology }),
  '--data-disk': diskOf,
  '--reservation': (reservation) => ({ reservation }),
  '--internal-ips': () => ({ external_ips: false }),
  '--spot': () => ({ pricing: 'spot' }),
  '--preemptible': () => ({ pricing: 'preemptible' }),
  '--reserved': () => ({ pricing: 'reserved' }),
};
const WITHOUT_VALUE = new Set(['--internal-ips', '--spot', '--preemptible', '--reserved']);

/** Reads `a=1,b=2`. A part without `=` gets an empty value, which the check of its key then refuses or accepts. */
function pairsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

/** Reads one disk, such as `source=NAME,mode=read-only`. The flag may be given several times. */
function diskOf(text: string): Partial<TpuForm> | undefined {
  const { source, mode = 'read-write', ...others } = pairsOf(text);
  const known = DISK_MODES.find((word) => word === mode);
  if (!source || known === undefined || Object.keys(others).length > 0) return undefined;
  return { data_disks: [{ source, mode: known }] };
}

/** Adds to `tpu` the keys that its `flags` stand for. The file's own keys win. A flag without a key is a problem. */
export function applyCreateFlags(tpu: TpuForm, report: Report): TpuForm {
  const given = Object.fromEntries(Object.entries(tpu).filter(([, value]) => value !== null && value !== undefined));
  const flags = (tpu.flags ?? []).map((flag, index) => keysOf(flag, index, report));
  const data_disks: DataDiskForm[] = flags.flatMap((keys) => keys.data_disks ?? []);
  const once = flags.reduceRight<TpuForm>((later, keys) => ({ ...later, ...keys }), {});
  return { ...once, ...(data_disks.length > 0 && { data_disks }), ...given };
}

function keysOf(flag: string, index: number, report: Report): Partial<TpuForm> {
  const [name = '', value] = flag.trim().split(/[= ](.*)/s);
  const read = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
  const path = ['tpu', 'flags', index];
  if (read === undefined) {
    report.wrong(path, flag, 'no flag that jobctl understands', `understood: ${Object.keys(FLAGS).join(', ')}`);
    return {};
  }
  if (WITHOUT_VALUE.has(name) === (value === undefined)) {
    const keys = read(value ?? '');
    if (keys === undefined) report.wrong(path, flag, 'no disk', 'write --data-disk=source=DISK,mode=read-only');
    return keys ?? {};
  }
  const hint = WITHOUT_VALUE.has(name) ? `write ${name}` : `write ${name}=VALUE`;
  report.wrong(path, flag, WITHOUT_VALUE.has(name) ? 'a flag that takes no value' : 'a flag without its value', hint);
  return {};
}

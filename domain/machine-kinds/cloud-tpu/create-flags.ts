import { acceleratorNamed } from '../../accelerators.js';
import { secondsOf, textValues } from '../../job-file/fields.js';
import { isMapping } from '../../job-file/plain-tree.js';
import type { Report } from '../../job-file/report.js';
import { type Path, showValue } from '../../problem.js';
import { scopeUrls } from './google-resources.js';
import { type DataDiskForm, DISK_MODES, type TpuForm } from './words.js';

/** Returns undefined if the flag does not take this value. */
type ReadFlag = (value: string) => Partial<TpuForm> | undefined;

/** Flags of gcloud for new TPU VMs and queued resources that have a key in `tpu` (gcloud reference, 2026), and their readers. */
const FLAGS: Readonly<Record<string, ReadFlag>> = {
  '--network': (network) => ({ network }),
  '--subnetwork': (subnetwork) => ({ subnetwork }),
  '--service-account': (service_account) => ({ service_account }),
  '--scopes': (scopes) => ({ scopes: scopes.split(',') }),
  '--tags': (tags) => ({ tags: tags.split(',') }),
  '--labels': (labels) => ({ labels: pairsOf(labels) }),
  '--metadata': metadataOf,
  '--zone': (zone) => ({ zone }),
  '--project': (project) => ({ project }),
  '--version': (version) => ({ version }),
  '--runtime-version': (version) => ({ version }),
  '--accelerator-type': (accelerator) => ({ accelerator }),
  '--type': (accelerator) => ({ accelerator }),
  '--topology': (topology) => ({ topology }),
  '--data-disk': diskOf,
  '--reservation': (reservation) => ({ reservation }),
  '--internal-ips': () => ({ external_ips: false }),
  '--spot': () => ({ pricing: 'spot' }),
  '--preemptible': () => ({ pricing: 'preemptible' }),
  '--best-effort': () => ({ pricing: 'spot' }),
  '--reserved': () => ({ pricing: 'reserved' }),
  '--guaranteed': () => ({ pricing: 'ondemand' }),
  '--provisioning-model': modelOf,
  '--max-run-duration': (run_duration) => ({ run_duration }),
  '--valid-until-duration': (valid_until) => ({ valid_until }),
};
const WITHOUT_VALUE = new Set([
  ...['--internal-ips', '--spot', '--preemptible', '--best-effort', '--reserved', '--guaranteed'],
]);
/** Flags of gcloud's own prompts and output, which have no effect in jobctl. */
const OF_GCLOUD = new Set([
  '--quiet',
  '-q',
  '--async',
  '--format',
  '--verbosity',
  '--log-http',
  '--no-user-output-enabled',
]);

const MODELS: Readonly<Record<string, Partial<TpuForm>>> = {
  standard: { pricing: 'ondemand' },
  spot: { pricing: 'spot' },
  'flex-start': { pricing: 'flex-start' },
  'reservation-bound': { pricing: 'reserved', reservation_bound: true },
};
function modelOf(model: string): Partial<TpuForm> | undefined {
  const name = model.toLowerCase().replaceAll('_', '-');
  return Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
}

/** The keys that a flag of gcloud stands for. Empty: the flag has no effect here. Undefined: it has no counterpart. */
export function readCreateFlag(name: string, value: string): Partial<TpuForm> | undefined {
  if (OF_GCLOUD.has(name)) return {};
  return Object.hasOwn(FLAGS, name) ? FLAGS[name]?.(value) : undefined;
}

/** Reads `a=1,b=2`. A part without `=` gets an empty value, which the check of its key then refuses or accepts. */
function pairsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

function metadataOf(text: string): Partial<TpuForm> {
  const { 'startup-script': startup_script, ...metadata } = pairsOf(text);
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(startup_script !== undefined && { startup_script }),
  };
}

/** Reads one disk, such as `source=NAME,mode=read-only`. The flag may be given several times. */
function diskOf(text: string): Partial<TpuForm> | undefined {
  const { source, mode = 'read-write', ...others } = pairsOf(text);
  const known = DISK_MODES.find((word) => word === mode);
  if (!source || known === undefined || Object.keys(others).length > 0) return undefined;
  return { data_disks: [{ source, mode: known }] };
}

function reportValue(name: string, path: Path, flag: string, report: Report): void {
  if (name === '--data-disk') report.wrong(path, flag, 'no disk', 'write --data-disk=source=DISK,mode=read-only');
  else report.wrong(path, flag, 'no provisioning model', `known: ${Object.keys(MODELS).join(', ')}`);
}

/**
 * Adds to `tpu` the keys that its `flags` stand for. A flag without a key is a problem, and so is one that contradicts a key or
 * an earlier flag: gcloud would take the last of them, but a reader of the file may expect another.
 */
export function applyCreateFlags(tpu: TpuForm, report: Report): TpuForm {
  const given = Object.fromEntries(Object.entries(tpu).filter(([, value]) => value !== null && value !== undefined));
  const said = new Map<string, Said>(Object.entries(given).map(([key, value]) => [key, { by: `tpu.${key}`, value }]));
  const disks: DataDiskForm[] = [];
  for (const [index, flag] of (tpu.flags ?? []).entries()) {
    const { data_disks, ...keys } = keysOf(flag, index, report);
    const [name = ''] = flag.trim().split(/[= ]/);
    const refuse = (by: string): void => {
      const message = `${name} contradicts ${by}`;
      report.problem(
        ['tpu', 'flags', index],
        flag,
        message,
        'gcloud takes the last of them: keep the one that you mean',
      );
    };
    if (data_disks !== undefined && given['data_disks'] !== undefined) refuse('tpu.data_disks');
    disks.push(...(data_disks ?? []));
    for (const [key, value] of Object.entries(keys)) {
      const before = said.get(key) ?? (key === 'zone' ? said.get('zones') : undefined);
      if (before === undefined) said.set(key, { by: name, value });
      else if (comparable(key, before.value) !== comparable(key, value)) refuse(shownBy(key, before));
    }
  }
  const values = Object.fromEntries([...said].map(([key, { value }]) => [key, value]));
  return { ...(disks.length > 0 && { data_disks: disks }), ...values };
}

/** A value that the section has so far. */
interface Said {
  /** The key or flag that gave the value. */
  readonly by: string;
  readonly value: unknown;
}

/** An earlier value, for messages. Scripts and metadata are not shown: they may hold secrets, and are long. */
const shownBy = (key: string, { by, value }: Said): string =>
  ['metadata', 'startup_script'].includes(key) || WITHOUT_VALUE.has(by) ? by : `${by}, which is ${showValue(value)}`;

/** A text that is equal for values of a key with the same meaning. */
function comparable(key: string, value: unknown): string {
  if (isMapping(value)) {
    const pairs = Object.entries(textValues(value as Record<string, string>));
    return JSON.stringify(pairs.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }
  const meant = [value].flat().map((each) => {
    const text = String(each).trim();
    if (key === 'accelerator') return acceleratorNamed(text)?.type ?? text;
    if (key === 'scopes') return scopeUrls(text);
    return /^\d+(\.\d+)?[smh]$/.test(text) ? String(secondsOf(text)) : text;
  });
  return JSON.stringify(meant.flat());
}

function keysOf(flag: string, index: number, report: Report): Partial<TpuForm> {
  const [name = '', value] = flag.trim().split(/[= ](.*)/s);
  const read = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
  const path = ['tpu', 'flags', index];
  if (OF_GCLOUD.has(name)) {
    report.warn(path, `${name} is gcloud's own and does nothing here`);
    return {};
  }
  if (read === undefined) {
    report.wrong(path, flag, 'no flag that jobctl understands', `understood: ${Object.keys(FLAGS).join(', ')}`);
    return {};
  }
  if (WITHOUT_VALUE.has(name) === (value === undefined)) {
    const keys = read(value ?? '');
    if (keys === undefined) reportValue(name, path, flag, report);
    return keys ?? {};
  }
  const hint = WITHOUT_VALUE.has(name) ? `write ${name}` : `write ${name}=VALUE`;
  report.wrong(path, flag, WITHOUT_VALUE.has(name) ? 'a flag that takes no value' : 'a flag without its value', hint);
  return {};
}

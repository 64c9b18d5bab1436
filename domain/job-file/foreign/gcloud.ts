import { readCreateFlag } from '../../machine-kinds/cloud-tpu/create-flags.js';
import { isKnown, knownValue, type Launch } from './script.js';
import { countOf, OPEN, Translation } from './translation.js';

/** The lines of a job file that stand for a script which makes TPU VMs by gcloud, logs in to them, or does both. */
export function gcloudLines(launches: readonly Launch[]): readonly string[] {
  const into = new Translation();
  const [create, ...others] = launches.filter(({ verb }) => verb.endsWith('create'));
  if (create !== undefined) putCreate(into, create);
  else putUse(into, launches);
  into.lose(
    'a job asks again by itself, in each of tpu.zones',
    ...others.map(({ verb, line }) => `${verb} of line ${line}`),
  );
  putCommand(
    into,
    launches.filter(({ verb }) => verb.endsWith('ssh')),
  );
  const copies = launches.filter(({ verb }) => verb.endsWith('scp'));
  into.lose('files or bundle', ...copies.map(({ line }) => `tpu-vm scp of line ${line}`));
  return into.lines();
}

function putCreate(into: Translation, { verb, flags }: Launch): void {
  const tpu: Record<string, unknown> = { accelerator: OPEN, zone: OPEN, pricing: 'ondemand' };
  if (verb.includes('queued-resources')) tpu['allocation_mode'] = 'queued-resources';
  for (const [name, values] of flags) {
    const value = values.at(-1) ?? '';
    if (NAMES.includes(name)) continue;
    if (!isKnown(value)) into.lose('write the value that the script works out', `${name}=${value}`);
    else if (name === '--node-count') into.set('slices', countOf(value) ?? OPEN);
    else {
      const keys = readCreateFlag(name, value);
      if (keys === undefined) into.lose('', name);
      else Object.assign(tpu, keys);
    }
  }
  into.set('tpu', tpu);
}

/** jobctl names slices by their job. */
const NAMES = ['--node-id', '--node-prefix'];

function putUse(into: Translation, launches: readonly Launch[]): void {
  const zone = launches.map((launch) => knownValue(launch, '--zone')).find((one) => one !== undefined) ?? OPEN;
  const project = launches.map((launch) => knownValue(launch, '--project')).find((one) => one !== undefined);
  const remark = 'type and pricing of the TPU VM that is there: a job has a slice of its own';
  into.set('tpu', { accelerator: OPEN, zone, pricing: OPEN, ...(project !== undefined && { project }) }, remark);
}

/** Texts of `--command`, one for each login, in their order. */
function putCommand(into: Translation, logins: readonly Launch[]): void {
  const commands = logins.flatMap((login) => login.flags.get('--command') ?? []).map((command) => command.trim());
  const known = commands.filter((command) => command !== '' && !/^\$\{?\w+\}?$/.test(command));
  if (known.length === 0) into.set('command.run', OPEN, 'what is run on the hosts');
  else into.script('command.run', known.join('\n'), '--command');
  if (known.some((command) => /\$[A-Za-z_{]/.test(command)))
    into.note('`$NAME` of the command is what the script or its caller set: write the value');
  const workers = new Set(logins.map((login) => knownValue(login, '--worker') ?? '0'));
  const [worker] = workers;
  if (workers.size === 1 && worker !== undefined && /^\d+$/.test(worker) && known.length > 0)
    into.set('command.workers', [Number(worker)]);
}

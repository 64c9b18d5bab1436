import { readCreateFlag } from '../../machine-kinds/cloud-tpu/create-flags.js';
import { tellLoops } from './loops.js';
import { asGiven, isKnown, knownValue, type Launch, openNames } from './script.js';
import { countOf, OPEN, Translation } from './translation.js';

/** The lines of a job file that stand for a script which makes TPU VMs by gcloud, logs in to them, or does both. */
export function gcloudLines(launches: readonly Launch[]): readonly string[] {
  const into = new Translation();
  const creates = launches.filter(({ verb }) => verb.endsWith('create'));
  const [create, ...others] = creates;
  if (create !== undefined) putCreate(into, create);
  else putUse(into, launches);
  tellLoops(into, creates);
  for (const other of others) {
    const isSame = create !== undefined && machineOf(other) === machineOf(create);
    const why = isSame ? 'a job asks again by itself, in each of tpu.zones' : 'other machines are another job';
    into.lose(why, `${other.verb} of line ${other.line}`);
  }
  putCommand(
    into,
    launches.filter(({ verb }) => verb.endsWith('ssh')),
  );
  const copies = launches.filter(({ verb }) => verb.endsWith('scp'));
  into.lose('files or bundle', ...copies.map(({ line }) => `tpu-vm scp of line ${line}`));
  return into.lines();
}

/** The values that tell one machine from another: its name, type and number. */
const machineOf = ({ name, flags }: Launch): string =>
  JSON.stringify([
    flags.get('--node-id') ?? flags.get('--node-prefix') ?? [name],
    flags.get('--accelerator-type') ?? [flags.get('--type'), flags.get('--topology')],
    flags.get('--node-count'),
  ]);

function putCreate(into: Translation, { verb, flags }: Launch): void {
  const tpu: Record<string, unknown> = { accelerator: OPEN, zone: OPEN, pricing: 'ondemand' };
  if (verb.includes('queued-resources')) tpu['allocation_mode'] = 'queued-resources';
  for (const [name, values] of flags) {
    const written = values.at(-1) ?? '';
    const value = asGiven(written);
    if (NAMES.includes(name)) continue;
    if (!isKnown(written)) into.lose('write the value that the script works out', `${name}=${value}`);
    else if (name === '--node-count') into.set('slices', countOf(value) ?? OPEN);
    else {
      const keys = readCreateFlag(name, value);
      if (keys === undefined) into.lose(INSTEAD[name] ?? '', name);
      else Object.assign(tpu, keys);
    }
  }
  into.set('tpu', tpu);
}

const INSTEAD: Readonly<Record<string, string>> = {
  '--metadata-from-file': 'tpu.startup_script and tpu.metadata have texts: put the text of the file there',
};

/** jobctl names slices by their job. */
const NAMES = ['--node-id', '--node-prefix'];

function putUse(into: Translation, launches: readonly Launch[]): void {
  const zone = launches.map((launch) => knownValue(launch, '--zone')).find((one) => one !== undefined) ?? OPEN;
  const project = launches.map((launch) => knownValue(launch, '--project')).find((one) => one !== undefined);
  const remark = 'type and pricing of the TPU VM that is there: a job has a slice of its own';
  into.set('tpu', { accelerator: OPEN, zone, pricing: OPEN, ...(project !== undefined && { project }) }, remark);
}

/** Logins one after another on the same hosts: their lines are one script, since each ends before the next begins. */
interface Step {
  readonly workers: string;
  readonly line: number;
  readonly commands: string[];
}

/** Writes the texts of `--command`: the last hosts run the command, and what all hosts ran before it is their set-up. */
function putCommand(into: Translation, logins: readonly Launch[]): void {
  const steps: Step[] = [];
  for (const { line, flags } of logins) {
    const workers = asGiven(flags.get('--worker')?.at(-1) ?? '0');
    const commands = (flags.get('--command') ?? []).map((command) => command.trim());
    const known = commands.filter((command) => command !== '' && !/^\$\{?\w+\}?$/.test(command));
    const before = steps.at(-1);
    if (known.length === 0) continue;
    if (before?.workers === workers) before.commands.push(...known);
    else steps.push({ workers, line, commands: known });
  }
  const main = steps.pop();
  const isSetUp = steps.length === 1 && steps[0]?.workers === 'all';
  const lost = isSetUp ? [] : steps.map(({ workers, line }) => `tpu-vm ssh --worker=${workers} of line ${line}`);
  into.lose('command.workers is of the whole command, which is that of the last login', ...lost);
  if (main === undefined) return into.set('command.run', OPEN, 'what is run on the hosts');
  const [setUp] = isSetUp ? steps : [];
  if (setUp !== undefined) into.script('script.run', scriptOf(setUp), '--command');
  into.script('command.run', scriptOf(main), '--command');
  const names = openNames([...(setUp?.commands ?? []), ...main.commands].join('\n'));
  if (names.length > 0)
    into.note(`${names.join(', ')} of the command is what the script or its caller set: write the value`);
  putWorkers(into, main.workers);
}

/** Each login is a shell of its own: a folder that it enters is not that of the next one. */
function scriptOf({ commands }: Step): string {
  const last = commands.length - 1;
  const leavesTraces = (text: string): boolean =>
    /(^|[;&\n] *)(cd|export|set|source|\.|[A-Za-z_]\w*=\S*;?) ?/.test(text);
  const parts = commands.map((text, at) => (at < last && leavesTraces(text) ? `(\n${text}\n)` : text));
  return asGiven(parts.join('\n'));
}

function putWorkers(into: Translation, workers: string): void {
  if (workers === 'all') return;
  if (/^\d+(,\d+)*$/.test(workers)) into.set('command.workers', workers.split(',').map(Number));
  else into.lose('command.workers: [0, 1] in a job file', `--worker=${workers}`);
}

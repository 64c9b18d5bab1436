import { readCreateFlag } from '../../machine-kinds/cloud-tpu/create-flags.js';
import { RAY } from './ray.js';
import {
  commandsOf,
  type Launch,
  type ScriptCommand,
  asGiven,
  isKnown,
  knownValue,
  openNames,
  tellLoops,
} from './script.js';
import { countOf, OPEN, Translation, isTpu } from './translation.js';
import { noteVariables, putVariables } from './variables.js';

interface Launcher {
  readonly programs: readonly string[];
  /** The first words behind the program, without flags. */
  readonly verbs: readonly string[];
  readonly does: string;
  /** @param all launches of this launcher in the script, in its order */
  readonly lines: (all: readonly Launch[]) => readonly string[];
}

const infront = ([first]: readonly Launch[]): readonly string[] => [
  `write jobctl in front of the line ${first?.line ?? 1}: it runs, or the message holds the line that does the same`,
];
const ofFile = (): readonly string[] => ['its own file says what to write: jobctl validate FILE'];
const JOB = (): readonly string[] => ['a job file names the machines and the command: `jobctl init` writes one'];

/** Launchers by priority: the first that has a command in the script describes the script. */
const LAUNCHERS: readonly Launcher[] = [
  {
    programs: ['gcloud'],
    verbs: [
      ...['tpu-vm create', 'queued-resources create', 'create', 'execution-groups create'],
      ...['tpu-vm ssh', 'tpu-vm scp', 'tpu-vm start'],
    ].map((verb) => `compute tpus ${verb}`),
    does: 'makes TPU VMs, or logs in to them, by gcloud',
    lines: gcloudLines,
  },
  {
    programs: ['xpk', 'xpk.py'],
    verbs: ['workload create', 'workload create-pathways'],
    does: 'starts a workload of xpk',
    lines: xpkLines,
  },
  {
    programs: ['axlearn'],
    verbs: ['gcp launch', 'gcp gke', 'gcp bastion'],
    does: 'starts a job of AXLearn',
    lines: infront,
  },
  { programs: ['sky'], verbs: ['launch', 'jobs launch', 'exec'], does: 'starts a task of SkyPilot', lines: ofFile },
  { programs: ['dstack'], verbs: ['apply', 'run'], does: 'starts a run of dstack', lines: ofFile },
  { programs: ['kubectl'], verbs: ['apply', 'create'], does: 'makes objects of Kubernetes', lines: ofFile },
  { programs: ['jobman'], verbs: ['create'], does: 'starts a job of JobMan', lines: infront },
  { programs: ['sbatch', 'qsub', 'bsub'], verbs: [''], does: 'submits batch scripts', lines: ofFile },
  { programs: ['ray'], verbs: ['up', 'submit', 'job submit'], does: 'starts a job of Ray', lines: () => RAY },
  {
    programs: ['gcloud'],
    verbs: ['ai custom-jobs create', 'ai-platform jobs submit', 'batch jobs submit'],
    does: 'starts a job by gcloud',
    lines: JOB,
  },
];

/** Describes a shell script that asks for machines: each host that ran it would ask again. Undefined for any other script. */
export function launchScript(script: string): { readonly does: string; readonly lines: readonly string[] } | undefined {
  const commands = commandsOf(script).flatMap(partsOf);
  for (const { programs, verbs, does, lines } of LAUNCHERS) {
    const launches = commands.flatMap((command) => launchIn(command, programs, verbs) ?? []);
    if (launches.length > 0) return { does, lines: lines(launches) };
  }
  const makesVms = script.split('\n').some((line) => !line.trimStart().startsWith('#') && MAKES_VMS.test(line));
  return makesVms ? { does: 'makes TPU VMs by gcloud', lines: JOB() } : undefined;
}

/** Matches a create command even if the script builds it in variables or quotes. */
const MAKES_VMS = /\btpus (?:tpu-vm|queued-resources) create\b/;

/** Words that end a command inside a line. */
const ENDS = ['&&', '||', '|', ';', '&', ';;', 'do', 'then', '}', ')'];

/** The commands of a line, which may have several. */
function partsOf(command: ScriptCommand): readonly ScriptCommand[] {
  const parts: string[][] = [[]];
  for (const word of command.words) {
    if (!ENDS.includes(word)) parts.at(-1)?.push(word);
    // A text for a shell, which is one word here, may end with a semicolon of its own.
    if (ENDS.includes(word) || (word.endsWith(';') && !/\s/.test(word))) parts.push([]);
  }
  return parts.map((words) => ({ ...command, words }));
}

function launchIn(
  { line, words, loop }: ScriptCommand,
  programs: readonly string[],
  verbs: readonly string[],
): Launch | undefined {
  const at = words.findIndex((word) => programs.includes(word.split('/').at(-1) ?? ''));
  if (at === -1) return undefined;
  const rest = words.slice(at + 1);
  const end = rest.findIndex((word) => word.startsWith('2>'));
  const own = (end === -1 ? rest : rest.slice(0, end)).map((word) => word.replace(/;$/, ''));
  const plain = own.filter((word) => !word.startsWith('-') && !RELEASES.includes(word));
  const verb = verbs.find((each) => each === '' || `${plain.join(' ')} `.startsWith(`${each} `));
  if (verb === undefined) return undefined;
  const last = verb.split(' ').at(-1) ?? '';
  const args = own.slice(own.indexOf(last) + 1);
  const name = args[0]?.startsWith('-') === false ? args[0] : undefined;
  const by = words.slice(0, at).find((word) => word === 'xargs' || word === 'parallel');
  const around = by === undefined ? loop : { line, text: by };
  return { line, verb, name, loop: around, flags: flagsOf(args) };
}

const RELEASES = ['alpha', 'beta'];

function flagsOf(words: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const flags = new Map<string, string[]>();
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) continue;
    const equals = word.indexOf('=');
    const name = equals === -1 ? word : word.slice(0, equals);
    const next = words[at + 1] ?? '-';
    const value = equals !== -1 ? word.slice(equals + 1) : next.startsWith('-') ? '' : next;
    flags.set(name, [...(flags.get(name) ?? []), value]);
  }
  return flags;
}

/** The lines of a job file that stand for a script which makes TPU VMs by gcloud, logs in to them, or does both. */
function gcloudLines(launches: readonly Launch[]): readonly string[] {
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

/** Flags that are not needed: jobctl names slices after their job. */
const NAMES = ['--node-id', '--node-prefix'];

function putUse(into: Translation, launches: readonly Launch[]): void {
  const zone = launches.map((launch) => knownValue(launch, '--zone')).find((one) => one !== undefined) ?? OPEN;
  const project = launches.map((launch) => knownValue(launch, '--project')).find((one) => one !== undefined);
  const remark = 'type and pricing of the TPU VM that is there: a job has a slice of its own';
  into.set('tpu', { accelerator: OPEN, zone, pricing: OPEN, ...(project !== undefined && { project }) }, remark);
}

/** Successive logins on the same hosts. Each ends before the next begins, so their commands make one script. */
interface Step {
  readonly workers: string;
  readonly line: number;
  readonly commands: string[];
}

/** Writes the texts of `--command`. The last login is the command. An earlier login on all hosts is their set-up. */
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

/** Joins the commands of a step. Each login has its own shell, so a folder that one enters must not carry over to the next. */
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

/** The lines of a job file that stand for a workload of xpk, which runs an image on a node pool of GKE. */
function xpkLines([workload, ...others]: readonly Launch[]): readonly string[] {
  if (workload === undefined) return [];
  const into = new Translation();
  into.name(knownValue(workload, '--workload'));
  const slices = countOf(knownValue(workload, '--num-slices')) ?? 1;
  if (slices > 1) into.set('slices', slices);
  into.set('kubernetes', { image: imageOf(into, workload), ...devicesOf(workload) });
  const env = (workload.flags.get('--env') ?? []).map((pair) => {
    const [name = '', ...value] = asGiven(pair).split('=');
    return [name, value.length === 0 ? undefined : value.join('=')] as const;
  });
  putVariables(into, env);
  const restarts = countOf(knownValue(workload, '--max-restarts'));
  if (restarts !== undefined) into.set('retries.task', restarts);
  const command = workload.flags.get('--command')?.at(-1);
  if (command === undefined) into.set('command.run', OPEN);
  else into.script('command.run', asGiven(command), '--command');
  tellLoops(into, [workload]);
  into.lose('another workload is another job', ...others.map(({ verb, line }) => `${verb} of line ${line}`));
  noteVariables(into, 'xpk', asGiven(command ?? ''));
  const names = openNames(command ?? '');
  if (names.length > 0)
    into.note(`${names.join(', ')} of the command is what the script or its caller set: write the value`);
  into.lose('kubernetes.context is the name that kubectl has for the cluster', ...given(workload, OF_CLUSTER));
  into.lose('the node pool has it', ...given(workload, OF_NODES));
  into.lose('priority: 1 (high) to 5', ...given(workload, ['--priority']));
  const unknown = [...workload.flags].filter(([flag, values]) => FOR_MACHINES.includes(flag) && !values.every(isKnown));
  into.lose('write the value that the script works out', ...unknown.map(([flag, [value = '']]) => `${flag}=${value}`));
  into.lose('', ...[...workload.flags.keys()].filter((flag) => !KNOWN.includes(flag)));
  if (workload.verb.endsWith('pathways'))
    into.note('Pathways runs one program for all hosts: jobctl runs the command on each');
  return into.lines();
}

const FOR_MACHINES = ['--tpu-type', '--device-type', '--num-slices', '--num-nodes', '--docker-image'];
const OF_CLUSTER = ['--cluster', '--project', '--zone'];
const OF_NODES = ['--spot', '--on-demand', '--reservation', '--flex'];
const OF_WORKLOAD = ['--workload', '--base-docker-image', '--command', '--env', '--max-restarts', '--priority'];
const KNOWN = [...FOR_MACHINES, ...OF_CLUSTER, ...OF_NODES, ...OF_WORKLOAD];

const given = ({ flags }: Launch, names: readonly string[]): readonly string[] =>
  names.filter((name) => flags.has(name));

function imageOf(into: Translation, workload: Launch): string {
  if (workload.flags.has('--base-docker-image'))
    into.lose('build: {image: ..} builds the image of the folder, which xpk does by itself', '--base-docker-image');
  return knownValue(workload, '--docker-image') ?? OPEN;
}

/** Reads `v6e-256` as a slice, and `h100-mega-80gb-8` as nodes with 8 GPUs each. */
function devicesOf(workload: Launch): Readonly<Record<string, unknown>> {
  const type = knownValue(workload, '--tpu-type', '--device-type');
  const isGpu = type !== undefined && !isTpu(type);
  if (!isGpu) return { tpu: { accelerator: type ?? OPEN } };
  const [, name = type, count = '1'] = /^(.+)-(\d+)$/.exec(type) ?? [];
  const nodes = countOf(knownValue(workload, '--num-nodes')) ?? 1;
  return { ...(nodes > 1 && { workers: nodes }), gpus: countOf(count) ?? 1, gpu_type: name };
}

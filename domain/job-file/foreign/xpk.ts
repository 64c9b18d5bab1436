import { isTpu } from './asked-machines.js';
import { tellLoops } from './loops.js';
import { asGiven, isKnown, knownValue, type Launch, openNames } from './script.js';
import { countOf, OPEN, Translation } from './translation.js';
import { noteVariables, putVariables } from './variables.js';

/** The lines of a job file that stand for a workload of xpk, which runs an image on a node pool of GKE. */
export function xpkLines([workload, ...others]: readonly Launch[]): readonly string[] {
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

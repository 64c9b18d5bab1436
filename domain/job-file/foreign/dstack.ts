import { type Mapping } from '../plain-tree.js';
import {
  isTpu,
  putMachines,
  putScripts,
  countOf,
  keysBeside,
  listOf,
  mappingOf,
  shownOf,
  textOf,
  Translation,
} from './translation.js';
import { type Given, noteVariables, putVariables } from './variables.js';

/** Configurations that are no job: they make machines or volumes. */
const OF_MACHINES = ['fleet', 'volume', 'gateway'];

/** The lines of a job file that stand for a configuration of dstack. */
export function dstackLines(configuration: Mapping): readonly string[] {
  const type = shownOf(configuration['type']);
  if (OF_MACHINES.includes(type))
    return [`a ${type} is no job: jobctl makes the machines of each job, and deletes them`];
  const into = new Translation();
  into.name(configuration['name']);
  const section = putResources(into, configuration);
  into.set('bundle', { dir: '.' }, 'the folder of the repository, as dstack brings it');
  putPython(into, configuration['python'], section);
  putVariables(into, variablesOf(configuration['env']));
  const [commands, setup] = [
    linesOf(configuration['commands']),
    linesOf(configuration['setup'] ?? configuration['build']),
  ];
  const isInImage = section === 'kubernetes' || into.has('docker');
  putScripts(into, { setup, run: commands, names: ['setup', 'commands'], isInImage, hasFolder: true });
  noteVariables(into, 'dstack', setup, commands, ...Object.values(mappingOf(configuration['env'])));
  if (type === 'dev-environment') putWorkspace(into, configuration);
  else if (commands === undefined)
    into.note('without commands the job holds its machines until it is cancelled: jobctl ssh JOB logs in');
  const seconds = textOf(configuration['max_duration']);
  if (seconds !== undefined && seconds !== 'off')
    into.set('timeouts.run', /^\d+$/.test(seconds) ? `${seconds}s` : seconds);
  if (type === 'service') into.lose('a job serves nobody: it ends with its command', 'type: service');
  into.lose('', ...keysBeside(KNOWN, configuration));
  return into.lines();
}

/** dstack ends one without connections after `inactivity_duration`: `2h`, `1d`, a number of seconds or `off`. */
function putWorkspace(into: Translation, configuration: Mapping): void {
  const [, count, unit = 's'] = /^(\d+)([smhdw]?)$/.exec(shownOf(configuration['inactivity_duration'] ?? '')) ?? [];
  const hours = { d: 24, w: 168 }[unit];
  if (count === undefined) into.set('workspace', {}, 'in place of commands; given back after an hour without use');
  else into.set('workspace.idle', hours === undefined ? `${count}${unit || 's'}` : `${Number(count) * hours}h`);
  into.note('`jobctl workspace FILE` names its hosts for ssh and VS Code');
}

const KNOWN = [
  ...['type', 'name', 'resources', 'nodes', 'image', 'python', 'env', 'commands', 'setup', 'build', 'spot_policy'],
  ...['availability_zones', 'regions', 'max_duration', 'ide', 'inactivity_duration'],
];

/** Joins commands so that the first failure ends all, as in dstack. */
function linesOf(commands: unknown): string | undefined {
  const lines = listOf(commands).map((line) => shownOf(line).trim());
  return lines.length === 0 ? undefined : [...(lines.length > 1 ? ['set -e'] : []), ...lines].join('\n');
}

/** Reads `NAME=value`, `NAME` with the submitter's value, or a section. */
function variablesOf(env: unknown): Given {
  if (!Array.isArray(env)) return Object.entries(mappingOf(env));
  return env.map(shownOf).map((line) => {
    const [name = '', ...value] = line.split('=');
    return [name.trim(), value.length === 0 ? undefined : value.join('=')] as const;
  });
}

const PRICING: Readonly<Record<string, string>> = { spot: 'spot', auto: 'any' };

function putResources(into: Translation, configuration: Mapping): 'tpu' | 'kubernetes' {
  const resources = mappingOf(configuration['resources']);
  const { name, count, memory } = gpuOf(resources['gpu']);
  const isOfTpu = name !== undefined && isTpu(name);
  const section = putMachines(into, {
    accelerator: name ?? (memory === undefined && count === undefined ? undefined : '..'),
    count,
    nodes: countOf(configuration['nodes']) ?? 1,
    image: textOf(configuration['image']),
    zones: listOf(configuration['availability_zones']).map(shownOf),
    regions: listOf(configuration['regions']).map(shownOf),
    pricing: PRICING[shownOf(configuration['spot_policy'])] ?? 'ondemand',
  });
  if (memory !== undefined) into.lose('name the type of GPU', `resources.gpu of ${memory}`);
  const own = isOfTpu ? 'hosts have what their type has' : 'write kubernetes.cpus, kubernetes.memory and volumes';
  into.lose(own, ...keysBeside(['gpu'], resources, 'resources.'));
  const ofCluster = ['spot_policy', 'regions', 'availability_zones'].filter((key) => configuration[key] !== undefined);
  if (!isOfTpu) into.lose('the nodes of the cluster decide', ...ofCluster);
  return section;
}

interface Gpu {
  readonly name?: string | undefined;
  readonly count?: number | undefined;
  readonly memory?: string | undefined;
}

/** Reads `v5litepod-8`, `A100:80GB:2`, `24GB..80GB:1`, a number, a list of names, or a section of these. */
function gpuOf(gpu: unknown): Gpu {
  if (gpu === 0) return {};
  if (typeof gpu === 'number') return { count: gpu };
  if (typeof gpu !== 'string' && !Array.isArray(gpu)) {
    const { name, count, memory } = mappingOf(gpu);
    const [least] = shownOf(count ?? 1).split('..');
    return {
      name: textOf(listOf(name)[0]),
      count: gpu === undefined ? undefined : (countOf(least) ?? 1),
      memory: textOf(memory),
    };
  }
  const parts = shownOf(listOf(gpu)[0]).split(':');
  if (parts.at(-1) === 'tpu') return { name: 'tpu-..' };
  const name = parts.find((part) => /^[A-Za-z]/.test(part) && part !== 'tpu' && part !== 'nvidia');
  const memory = parts.find((part) => /^\d+(GB|MB)/i.test(part));
  const count = parts.find((part) => /^\d+$/.test(part));
  return { name, memory, count: countOf(count) ?? 1 };
}

function putPython(into: Translation, python: unknown, section: 'tpu' | 'kubernetes'): void {
  // YAML reads 3.10 as a number.
  const version = python === 3.1 ? '3.10' : textOf(python);
  if (version === undefined) return;
  if (section === 'tpu' && !into.has('docker')) into.set('venv', { name: 'venv', python: version });
  else into.lose('the image has its own', `python ${version}`);
}

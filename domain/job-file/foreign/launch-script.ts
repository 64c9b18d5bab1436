import { gcloudLines } from './gcloud.js';
import { RAY } from './manifest.js';
import { commandsOf, type Launch, type ScriptCommand } from './script.js';
import { xpkLines } from './xpk.js';

interface Launcher {
  readonly programs: readonly string[];
  /** The first words behind the program that are no flags. */
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

/** Launchers by priority: the first with a command in the script describes it. */
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

/** Describes a shell script that asks for machines: each host that runs it would ask again. Undefined for any other. */
export function launchScript(script: string): { readonly does: string; readonly lines: readonly string[] } | undefined {
  const commands = commandsOf(script).flatMap(partsOf);
  for (const { programs, verbs, does, lines } of LAUNCHERS) {
    const launches = commands.flatMap((command) => launchIn(command, programs, verbs) ?? []);
    if (launches.length > 0) return { does, lines: lines(launches) };
  }
  const makesVms = script.split('\n').some((line) => !line.trimStart().startsWith('#') && MAKES_VMS.test(line));
  return makesVms ? { does: 'makes TPU VMs by gcloud', lines: JOB() } : undefined;
}

/** Recognizes commands that are put together in variables, or in quotes. */
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

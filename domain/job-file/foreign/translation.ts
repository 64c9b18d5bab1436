import { stringify } from 'yaml';
import { jobNameFrom } from '../../identity.js';
import { shellWords, splitShellWords } from '../../shell-quote.js';
import { acceleratorNamed } from '../../accelerators.js';
import { asLiteral } from '../interpolation.js';
import { isMapping, mapStrings, type Mapping, valueAt } from '../plain-tree.js';
import { holdsSecret } from '../secret-looks.js';
import { detachOptions } from '../shell-text.js';

/** Stands for a value that the file of the other tool does not say. */
export const OPEN = '..';

/** Most lines of a text that a message repeats. The reader already has longer ones in a file. */
const MOST_LINES = 12;
const LINE_WIDTH = 110;

/** A job file made from another tool's, for a message: its lines, and the names of whatever has no place in them. */
export class Translation {
  readonly #tree: Record<string, unknown> = {};
  readonly #remarks = new Map<string, Set<string>>();
  readonly #lost = new Map<string, string[]>();
  readonly #notes = new Set<string>();

  /** @param path a key, or a section and its key. @param remark stands behind the line, as a comment */
  set(path: string, value: unknown, remark?: string): void {
    const [key = path, below] = path.split('.');
    const section = this.#tree[key];
    if (below === undefined) this.#tree[key] = value;
    else this.#tree[key] = { ...(isMapping(section) ? section : {}), [below]: value };
    if (remark !== undefined) this.#remarks.set(key, (this.#remarks.get(key) ?? new Set<string>()).add(remark));
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#tree, key);
  }

  name(name: unknown): void {
    if (typeof name === 'string' && name !== '' && !name.includes('$')) this.set('name', jobNameFrom(name));
  }

  /** Writes a user's script. @param source the other tool's key of the script, which is named in place of a long one */
  script(path: string, written: string, source: string): void {
    const front = path === 'command.run' ? inForeground(written) : undefined;
    if (front !== undefined) this.note(front.note);
    if (front !== undefined && front.text === undefined) return this.set(path, OPEN, `of ${source}`);
    const text = front?.text ?? written;
    const lines = text.trim().split('\n');
    const secret = holdsSecret(text) ? ', with a secret: `jobctl secret put NAME --from-file FILE` keeps it' : '';
    if (lines.length > MOST_LINES || secret !== '')
      this.set(
        path,
        OPEN,
        `${lines.length === 1 ? 'the line' : `the ${lines.length} lines`} of ${source}${secret || ', as they stand'}`,
      );
    else this.set(path, lines.join('\n'));
  }

  /** Keys that have no place in the job file. @param why what to do instead; empty: jobctl has nothing like them */
  lose(why: string, ...keys: readonly string[]): void {
    if (keys.length > 0) this.#lost.set(why, [...(this.#lost.get(why) ?? []), ...keys]);
  }

  note(text: string): void {
    this.#notes.add(text);
  }

  lines(): readonly string[] {
    const lost = [...this.#lost].map(
      ([why, keys]) => `  ${[...new Set(keys)].join(', ')}${why === '' ? '' : `: ${why}`}`,
    );
    return [
      'in a job file it is:',
      ...Object.entries(this.#tree).flatMap(([key, value]) => this.#linesOf(key, mapStrings(value, asLiteral))),
      ...(lost.length === 0 ? [] : ['not carried over:', ...lost]),
      ...this.#notes,
    ];
  }

  #linesOf(key: string, value: unknown): readonly string[] {
    const remarks = [...(this.#remarks.get(key) ?? [])];
    const remark = remarks.length === 0 ? '' : ` # ${remarks.join('; ')}`;
    const line = `  ${key}: ${stringify(value, IN_LINE).trimEnd()}`;
    if (line.length <= LINE_WIDTH && !/\n|\\n/.test(line)) return [`${line}${remark}`];
    const [first = '', ...rest] = stringify({ [key]: value }, { lineWidth: 0 })
      .trimEnd()
      .split('\n');
    return [`  ${first}${remark}`, ...rest.map((each) => `  ${each}`.trimEnd())];
  }
}

const IN_LINE = {
  collectionStyle: 'flow',
  flowCollectionPadding: false,
  lineWidth: 0,
  blockQuote: false,
  doubleQuotedAsJSON: true,
} as const;

export const mappingOf = (value: unknown): Mapping => (isMapping(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : value === undefined || value === null ? [] : [value];
/** Text of a value that is a text or number and not empty. */
export const textOf = (value: unknown): string | undefined =>
  (typeof value === 'string' && value.trim() !== '') || typeof value === 'number' ? String(value).trim() : undefined;
/** Any value as it stands in a message. */
export const shownOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
/** Number of a value that is a whole number of 1 or more, however it is written. */
export const countOf = (value: unknown): number | undefined =>
  /^[1-9]\d{0,5}$/.test(textOf(value) ?? '') ? Number(value) : undefined;
/** The keys that have a value and are none of `known`. @param prefix of the section that they are in, with its dot */
export const keysBeside = (known: readonly string[], section: Mapping, prefix = ''): readonly string[] =>
  Object.entries(section).flatMap(([key, value]) =>
    known.includes(key) || value === null || value === undefined ? [] : [`${prefix}${key}`],
  );

interface Foreground {
  /** The command with its program in the foreground; undefined if the line does not say which program that is. */
  readonly text: string | undefined;
  readonly note: string;
}

const ENDS_WITH_JOB = 'what the line leaves in the background is the command here: a job ends with it';
const TO_FILE = 'its output goes to a file of the host: without `> FILE` `jobctl logs JOB` has it';
/** Lines that follow a program in the background and do nothing for it. */
const IDLE = /^(echo|sleep|exit|disown|true|jobs|ps)\b/;
const IN_BACKGROUND = /(?<![&|>])&[ \t]*(?:disown(?:[ \t]+\S+)?)?$/;

/** Moves a program that a command leaves in the background to the foreground, because a job would end it there. */
function inForeground(command: string): Foreground | undefined {
  const lines = command.trim().split('\n');
  if (lines.some((line) => /(^|[;&|(] *)(tmux|screen) /.test(line))) return ofTerminal(lines);
  const last = lines.findLastIndex((line) => !IDLE.test(line.trim()));
  const [before, line = ''] = [lines.slice(0, Math.max(last, 0)), lines[last]?.trim()];
  if (IN_BACKGROUND.test(line)) {
    const front = line.replace(IN_BACKGROUND, '').replaceAll(/(^|[ ;&|(])(?:nohup|setsid) +/g, '$1');
    const isToFile = /(^|[ \w])>{1,2} *(?!\/dev\/null)[\w./$~{]/.test(front);
    return {
      text: [...before, front.trim()].join('\n'),
      note: isToFile ? `${ENDS_WITH_JOB}; ${TO_FILE}` : ENDS_WITH_JOB,
    };
  }
  const attached = withoutDetach(line);
  return attached === line ? undefined : { text: [...before, attached].join('\n'), note: ENDS_WITH_JOB };
}

/** Takes `-d` from `docker run`. */
function withoutDetach(line: string): string {
  const words = line.split(' ');
  const run = words.findIndex((word, at) => word === 'run' && words[at - 1] === 'docker');
  if (run === -1) return line;
  const detaching = new Set(detachOptions(words.slice(run + 1)).map((at) => run + 1 + at));
  return words.filter((_, at) => !detaching.has(at)).join(' ');
}

const WITH_VALUE = /^-\w*[snctxyeFSTh]$/;

/** Finds the program of `tmux new -d -s NAME 'COMMAND'` or `screen -dmS NAME COMMAND` at the end of a command of one line. */
function ofTerminal(lines: readonly string[]): Foreground {
  const [line = '', ...more] = lines;
  const at = line.search(/(?:tmux|screen) /);
  const [program, ...rest] = splitShellWords(line.slice(at)) ?? [];
  const isNew = program === 'screen' || rest[0] === 'new' || rest[0] === 'new-session';
  const words = program === 'tmux' ? rest.slice(1) : rest;
  let next = 0;
  while (words[next]?.startsWith('-') === true) next += WITH_VALUE.test(words[next] ?? '') ? 2 : 1;
  const own = words.slice(next);
  const isOne = isNew && more.length === 0 && own.length > 0 && !own.some((word) => /^(&&|\|\||;|\||&)$|;$/.test(word));
  if (!isOne)
    return { text: undefined, note: `${ENDS_WITH_JOB}: write the program that is to run in ${program ?? ''}` };
  const run = own.length === 1 ? (own[0] ?? '') : shellWords(own);
  return { text: `${line.slice(0, at)}${run}`, note: ENDS_WITH_JOB };
}

/** The machines that a task of another tool asks for. */
interface AskedMachines {
  /** Name as its user wrote it: `tpu-v4-32`, `A100`. */
  readonly accelerator?: string | undefined;
  /** GPUs of each machine. */
  readonly count?: number | undefined;
  readonly nodes: number;
  readonly image?: string | undefined;
  readonly zones?: readonly string[];
  /** In the order of preference. */
  readonly regions?: readonly string[];
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

/** Leaves the topology open: the other tool's file says only how many chips a node has. */
function putGkeTpu(into: Translation, accelerator: string, { image = OPEN, count = 1 }: AskedMachines): 'kubernetes' {
  into.set('kubernetes', { image, tpu: { accelerator, topology: OPEN } }, `${count} on a node`);
  return 'kubernetes';
}

function putTpu(into: Translation, name: string, asked: AskedMachines): 'tpu' {
  const { zones = [], regions = [], pricing, tpu = {}, image } = asked;
  const accelerator = acceleratorNamed(name)?.type ?? name.replace(/^tpu-/i, '');
  const [zone = OPEN, ...more] = zones;
  const place = more.length === 0 ? { zone } : { zones };
  const open = [...new Set(regions)].filter((region) => !zones.some((each) => each.startsWith(`${region}-`)));
  const several = open.length > 1 ? '; zones: [..] takes one of each' : '';
  const remark = zones.length === 0 && open.length > 0 ? `a zone of ${open.join(', or of ')}${several}` : undefined;
  if (zones.length > 0) into.lose('write a zone of it too, in tpu.zones', ...open.map((region) => `region ${region}`));
  into.set('tpu', { accelerator, ...place, pricing, ...tpu }, remark);
  if (image !== undefined) into.set('docker', { image });
  return 'tpu';
}

interface Asked {
  readonly setup: string | undefined;
  readonly run: string | undefined;
  /** The other tool's keys of the two scripts, for messages. */
  readonly names: readonly [setup: string, run: string];
  /** The command runs in an image, which does not have what is installed on a host. */
  readonly isInImage: boolean;
  readonly hasFolder: boolean;
}

/** Writes the set-up and the command. */
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

export const GKE = 'cloud.google.com/gke-';

/** Resources that a container asks for. If one has both a request and a limit, the limit counts. */
export const askedOf = (container: Mapping): Mapping => ({
  ...mappingOf(valueAt(container, ['resources', 'requests'])),
  ...mappingOf(valueAt(container, ['resources', 'limits'])),
});

/** The keys `gpus`, `gpu_type`, `cpus` and `memory` of a pod, as `kubernetes` and `ray_cluster.workers` take them. */
export function podSizeOf(pod: Mapping, container: Mapping): Mapping {
  const { 'nvidia.com/gpu': gpus, cpu, memory } = askedOf(container);
  const isOfGpus = textOf(gpus) !== undefined && textOf(gpus) !== '0';
  const type = textOf(mappingOf(pod['nodeSelector'])[`${GKE}accelerator`])?.replace(/^nvidia-(tesla-)?/, '');
  const quantity = (key: string, value: unknown): Mapping => {
    const text = textOf(value);
    return text === undefined ? {} : { [key]: /^\d+$/.test(text) ? Number(text) : text };
  };
  return {
    ...(isOfGpus && { gpus: countOf(gpus) ?? OPEN, gpu_type: type ?? OPEN }),
    ...quantity('cpus', cpu),
    ...quantity('memory', memory),
  };
}

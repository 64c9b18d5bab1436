import type * as ClientEnvironment from '../../../rehearsal/client-environment.js';
import { shellQuote } from '../../../domain/shell-quote.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { stackHome } from '../../terminal/home.js';
import { loadFrom } from '../../place/packages.js';
import type { OutputFlag } from '../../terminal/options.js';
import {
  type ClockState,
  sliceNamed,
  placeOf,
  type RehearsalStatus,
  type RehearsedNode,
  type RehearsedQueuedResource,
  type RehearsedVm,
  endpointsOf,
  localRehearsal,
} from '../../local/rehearsal/rehearsal-admin.js';
import { terminalWidth, oneLine, renderTable } from '../../terminal/render/columns.js';
import { asTyped, printOut } from '../../terminal/print.js';
import { count } from '../../../domain/units.js';
import { formatDuration } from '../../terminal/render/quantities.js';

/** Verbs of `jobctl rehearsal` that make one query or change. Durations are in milliseconds. */

export async function status({ output }: OutputFlag): Promise<number> {
  const { admin, stack } = localRehearsal();
  const [seen, clock] = await Promise.all([admin.status(), admin.get('clock') as Promise<ClockState>]);
  const width = terminalWidth(process.stdout);
  const adminUrl = stack.rehearsal?.adminUrl ?? '';
  print(output, { ...seen, adminUrl, clock }, () => renderRehearsal(seen, clock, adminUrl, width));
  return ExitCode.Done;
}

export interface PreemptFlags extends OutputFlag {
  /** Milliseconds of notice; `true`: as the rehearsal's settings say. */
  readonly notice?: number | true;
  readonly vanish?: true;
}

export async function preempt(word: string, { notice, vanish, output }: PreemptFlags): Promise<number> {
  const { admin } = localRehearsal();
  const name = sliceNamed(word, await admin.status());
  const answer = await admin.post('preempt', {
    name,
    ...(notice === undefined ? {} : { notice: true }),
    ...(typeof notice === 'number' ? { noticeMs: notice } : {}),
    ...(vanish === true ? { mode: 'vanish' } : {}),
  });
  print(output, answer, () => [preempted(answer as Preempted)]);
  return ExitCode.Done;
}

interface Preempted {
  readonly name: string;
  readonly state: string;
  readonly preemptAt?: number;
}

function preempted({ name, state, preemptAt }: Preempted): string {
  if (preemptAt === undefined) return `${name} is preempted: ${state}`;
  return `${name} was given notice: it is preempted at ${new Date(preemptAt).toISOString()} of the cloud's clock`;
}

export interface WarnFlags extends OutputFlag {
  readonly clearAfter?: number;
  readonly clear?: true;
}

export async function warn(word: string, { clearAfter, clear, output }: WarnFlags): Promise<number> {
  const { admin } = localRehearsal();
  const name = sliceNamed(word, await admin.status());
  const answer = await admin.post('warn', { name, clearAfterMs: clearAfter, clear });
  const said = clear === true ? 'is healthy again' : 'is UNHEALTHY_MAINTENANCE';
  print(output, answer, () => [`${(answer as { readonly name?: string }).name ?? name} ${said}`]);
  return ExitCode.Done;
}

export interface CapacityPlace {
  readonly zone: string;
  readonly generation: string;
  readonly tier?: string;
}

/** Sets the capacity of a place. @param chips null: no limit */
export async function capacity(place: CapacityPlace, chips: number | null, { output }: OutputFlag): Promise<number> {
  const { admin } = localRehearsal();
  const answer = await admin.post('capacity', { ...place, chips });
  const { zone, generation, tier } = place;
  const where = `${zone}/${generation}${tier === undefined ? '' : `/${tier}`}`;
  print(output, answer, () => [`${where}: ${chips === null ? 'no limit' : `${chips} chips`}`]);
  return ExitCode.Done;
}

export interface FailFlags extends OutputFlag {
  readonly code: string;
  readonly message?: string;
  readonly times?: number;
  readonly for?: number;
  readonly answerLost?: true;
  readonly nameMatches?: string;
  readonly stop?: true;
}

export async function fail(method: string | undefined, flags: FailFlags): Promise<number> {
  const { code, message, times, answerLost, nameMatches, output } = flags;
  if (flags.stop === true) {
    print(output, await localRehearsal().admin.delete('refuse'), () => ['no calls fail any more']);
    return ExitCode.Done;
  }
  if (method === undefined) {
    const what = 'jobctl rehearsal fail: which calls are to fail?';
    throw new CliError(ExitCode.Usage, what, "such as CreateQueuedResource, objects.insert, or '*' for all; --stop");
  }
  const { admin } = localRehearsal();
  const body = { method, code, message, times, forMs: flags.for, nameMatches };
  const answer = await admin.post('fail', { ...body, ...(answerLost === true ? { afterEffect: true } : {}) });
  print(output, answer, () => [failing(method, flags)]);
  return ExitCode.Done;
}

function failing(method: string, { code, times, for: forMs, answerLost }: FailFlags): string {
  const many = times === undefined ? 'each call' : times === 1 ? 'the next call' : `each of the next ${times} calls`;
  const long = forMs === undefined ? '' : ` for ${forMs / 1000} s of the cloud's clock`;
  const bounded = times === undefined && forMs === undefined ? asTyped('; `jobctl rehearsal fail --stop` ends it') : '';
  const how =
    answerLost === true ? `what it should, and its answer is lost (${code})` : `nothing and fails with ${code}`;
  return `${many} of ${method} does ${how}${long}${bounded}`;
}

export interface ClockFlags extends OutputFlag {
  readonly scale?: number;
  readonly freeze?: true;
  readonly thaw?: true;
  readonly step?: number;
}

export async function clock({ scale, freeze, thaw, step, output }: ClockFlags): Promise<number> {
  const { admin } = localRehearsal();
  const frozen = freeze === true ? true : thaw === true ? false : undefined;
  const isAsked = scale === undefined && frozen === undefined && step === undefined;
  const state = isAsked ? await admin.get('clock') : await admin.post('clock', { scale, frozen, stepMs: step });
  print(output, state, () => [renderClock(state as ClockState)]);
  return ExitCode.Done;
}

export interface EnvFlags extends OutputFlag {
  readonly project?: string;
  readonly zone: string;
  readonly unset?: true;
}

/** Prints the variables for other tools. Works even if the rehearsal is not running: its addresses stay the same. */
export async function env({ project, zone, unset, output }: EnvFlags): Promise<number> {
  const { stack } = localRehearsal();
  const { clientEnvironment } = await loadFrom<typeof ClientEnvironment>(
    '@jobctl/cloud-tpu-rehearsal',
    'client-environment',
  );
  const place = { project: project ?? stack.googleProject ?? '', zone, gcloudConfig: stackHome().gcloudDir };
  const variables = clientEnvironment(endpointsOf(stack), place);
  print(output, variables, () => (unset === true ? unsetLines(variables) : exportLines(variables)));
  return ExitCode.Done;
}

const exportLines = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(variables).map(([name, value]) => `export ${name}=${shellQuote(value)}`);

const unsetLines = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(variables).map((name) => `unset ${name}`);

function print(output: OutputFlag['output'], answer: object, text: () => readonly string[]): void {
  printOut(`${output === 'json' ? JSON.stringify(answer, null, 2) : text().join('\n')}\n`);
}

/** Renders `jobctl rehearsal status`. @param width the terminal's; absent in a pipe */
function renderRehearsal(
  { nodes, queuedResources, vms, settings, refusals, holds }: RehearsalStatus,
  clock: ClockState,
  adminUrl: string,
  width?: number,
): readonly string[] {
  return [
    `REHEARSAL at ${adminUrl}: a cloud on this computer, nothing of it is billed`,
    `  ${renderClock(clock)}`,
    ...section(requestRows(queuedResources), width),
    ...section(nodeRows(nodes), width),
    ...section(vmRows(vms), width),
    ...(queuedResources.length + nodes.length === 0 ? ['', '  no queued resources and no nodes'] : []),
    ...section(settingRows(settings), width),
    ...faults('fails', refusals),
    ...faults('held', holds),
  ];
}

function renderClock(clock: ClockState): string {
  const now = new Date(clock.now).toISOString();
  if (clock.frozen) return `clock ${now}, frozen`;
  return `clock ${now}${clock.scale === 1 ? '' : `, ${clock.scale} times as fast as this computer's`}`;
}

function section(rows: readonly (readonly string[])[], width: number | undefined): readonly string[] {
  return rows.length === 0 ? [] : ['', ...renderTable(rows, width).map((line) => `  ${line}`)];
}

function requestRows(all: readonly RehearsedQueuedResource[]): readonly (readonly string[])[] {
  if (all.length === 0) return [];
  const rows = all.map(({ name, state, chips }) => {
    const { id, zone } = placeOf(name);
    return [id, zone, String(chips), state];
  });
  return [['QUEUED RESOURCE', 'ZONE', 'CHIPS', 'STATE'], ...rows];
}

function nodeRows(all: readonly RehearsedNode[]): readonly (readonly string[])[] {
  if (all.length === 0) return [];
  const rows = all.map((node) => {
    const { id, zone } = placeOf(node.name);
    const state = node.health === undefined || node.health === 'HEALTHY' ? node.state : `${node.state}, ${node.health}`;
    return [id, zone, node.acceleratorType, node.labels['jobctl-job'] ?? '-', state, hostsOf(node)];
  });
  return [['NODE', 'ZONE', 'TYPE', 'JOB', 'STATE', 'HOSTS'], ...rows];
}

function vmRows(all: readonly RehearsedVm[]): readonly (readonly string[])[] {
  if (all.length === 0) return [];
  const rows = all.map(({ name, machineType, labels, state, address }) => {
    const { id, zone } = placeOf(name);
    return [id, zone, machineType, labels['jobctl-job'] ?? '-', state, address];
  });
  return [['VM', 'ZONE', 'MACHINE TYPE', 'JOB', 'STATE', 'ADDRESS'], ...rows];
}

function hostsOf({ hosts }: RehearsedNode): string {
  const running = hosts.filter(({ process }) => process === 'running').length;
  const [first] = hosts;
  const where = first === undefined ? '' : `, the first at ${first.address}`;
  return `${running} of ${count(hosts.length, 'host')} run${where}`;
}

/** Rows for the settings that have a value: durations in words, tables as they are. */
function settingRows(settings: RehearsalStatus['settings']): readonly (readonly string[])[] {
  const rows = Object.entries(settings).flatMap(([name, value]) => {
    const text = shown(name, value);
    return text === '' ? [] : [[name.replace(/Ms$/, ''), text]];
  });
  return rows.length === 0 ? [] : [['SETTING', 'VALUE'], ...rows];
}

function shown(name: string, value: unknown): string {
  if (typeof value === 'number') return name.endsWith('Ms') ? duration(value) : String(value);
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const entries = Object.entries(value);
  if (name.endsWith('Ms')) return entries.map(([key, each]) => `${key} ${duration(Number(each))}`).join(', ');
  return entries
    .map(([key, each]) => `${key} ${typeof each === 'object' ? JSON.stringify(each) : String(each)}`)
    .join(', ');
}

const duration = (ms: number): string => (ms < 10_000 ? `${ms} ms` : formatDuration(ms));

function faults(title: string, all: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return all.map((fault, index) => `${index === 0 ? '\n' : ''}  ${title}: ${oneLine(JSON.stringify(fault))}`);
}

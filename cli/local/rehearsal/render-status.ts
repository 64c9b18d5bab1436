import { count } from '../../../domain/units.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { oneLine, renderTable } from '../../terminal/render/columns.js';
import { placeOf } from './admin-answers.js';
import type {
  ClockState,
  RehearsalStatus,
  RehearsedNode,
  RehearsedQueuedResource,
  RehearsedVm,
} from './admin-answers.js';

/**
 * `jobctl rehearsal status`.
 * @param width the terminal's; absent in a pipe
 */
export function renderRehearsal(
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

export function renderClock(clock: ClockState): string {
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

/** Rows for settings that are set: durations in words, tables as they are. */
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

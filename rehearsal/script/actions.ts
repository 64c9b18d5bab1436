import type { Random } from '../random.js';
import type { Settings } from '../tpu/settings.js';
import { DEFAULT_SETTINGS, TIERS } from '../tpu/settings.js';
import { lastSegment } from '../tpu/resource-name.js';
import type { PlaceTable } from './fields.js';
import type { Script, ScriptEvent } from './read-script.js';
import type { ActionBody, ActionName, WrittenScript } from './schema.js';

/** One verb of the admin interface with its body. Plain JSON: pending calls outlive a restart. */
export interface Call {
  readonly verb: string;
  readonly body: object;
}

export interface Effects {
  readonly calls: readonly Call[];
  /** Calls that end the effects, each `afterMs` later. */
  readonly later: readonly { readonly afterMs: number; readonly call: Call }[];
}

/** The state that an action may read. */
export interface Scene {
  readonly settings: Settings;
  /** All names are full names. */
  readonly nodes: readonly { readonly name: string; readonly queuedResource: string | undefined }[];
  /** Full names. */
  readonly queuedResources: readonly string[];
  /** Full name of the node or queued resource that triggered the event. */
  readonly subject: string | undefined;
  readonly random: Random;
}

/** The admin calls of an event; empty if nothing matches. */
export function effectsOf(event: ScriptEvent, scene: Scene): Effects {
  const run = RUNS[event.action] as (body: unknown, scene: Scene) => Partial<Effects>;
  return { calls: [], later: [], ...run(event[event.action], scene) };
}

/** Changes that a script makes as it begins. */
export function setupOf({ timeScale, ...script }: Script, settings: Settings): readonly Call[] {
  const clock = timeScale === undefined ? [] : [{ verb: 'clock', body: { scale: timeScale } }];
  const changes = {
    ...(script.settings && settingsOf(script.settings)),
    ...(script.capacity && { capacity: laidOver(settings.capacity, script.capacity) }),
    ...(script.quota && { quota: laidOver(settings.quota, quotaKeys(script.quota)) }),
  };
  return [...clock, ...(Object.keys(changes).length > 0 ? [{ verb: 'configure', body: changes }] : [])];
}

type Runs = { readonly [Name in ActionName]: (body: ActionBody<Name>, scene: Scene) => Partial<Effects> };

const RUNS: Runs = {
  capacity: (table, { settings }) => configure({ capacity: laidOver(settings.capacity, table) }),
  quota: (table, { settings }) => configure({ quota: laidOver(settings.quota, quotaKeys(table)) }),
  settings: (body) => configure(settingsOf(body)),
  clock: (body) => ({ calls: [{ verb: 'clock', body }] }),
  preempt: ({ notice, mode, ...target }, scene) => {
    const how = notice === 'none' ? { mode } : { noticeMs: notice };
    return { calls: nodesOf(target, scene).map((name) => ({ verb: 'preempt', body: { name, ...how } })) };
  },
  warn: ({ clearAfter, ...target }, scene) => {
    const how = clearAfter === undefined ? {} : { clearAfterMs: clearAfter };
    return { calls: nodesOf(target, scene).map((name) => ({ verb: 'warn', body: { name, ...how } })) };
  },
  maintenance: ({ kind, ...target }, scene) => ({
    calls: nodesOf(target, scene).map((name) => ({ verb: 'maintenance', body: { name, kind } })),
  }),
  fail: ({ queuedResource, code, message }, scene) => ({
    calls: requestsOf(queuedResource, scene).map((name) => ({ verb: 'fail-request', body: { name, code, message } })),
  }),
  sendBack: ({ queuedResource }, scene) => ({
    calls: requestsOf(queuedResource, scene).map((name) => ({ verb: 'send-back', body: { name } })),
  }),
  stall: ({ state, names, for: ms }) => {
    const body = { state, ...namesMatch(names) };
    return { calls: [{ verb: 'hold', body }], later: after(ms, { verb: 'release', body }) };
  },
  refuse: (body) => ({ calls: refusals(body.method, body) }),
  unavailable: ({ for: ms, methods, zone, message }) => ({
    calls: refusals(methods, { code: 'UNAVAILABLE', for: ms, zone, message: message ?? UNAVAILABLE }),
  }),
  error: (body) => ({ calls: refusals(body.method, body) }),
  answerLost: ({ method, ...body }) => ({
    calls: refusals([method], { ...body, message: body.message ?? ANSWER_LOST, afterEffect: true }),
  }),
  ssh: ({ is, host, delay, for: ms, ...target }, scene) => {
    const { action, end } = SSH[is];
    const how = is === 'slow' ? { delayMs: delay ?? SLOW_MS } : {};
    return onHosts(nodesOf(target, scene), { host, action, ...how }, ms, { host, ...end });
  },
  fullDisk: ({ host, for: ms, ...target }, scene) =>
    onHosts(nodesOf(target, scene), { host, action: 'fill-disk' }, ms, { host, action: 'free-disk' }),
  freeze: ({ host, for: ms, ...target }, scene) =>
    onHosts(nodesOf(target, scene), { host, action: 'freeze' }, ms, { host, action: 'thaw' }),
  stopProcesses: ({ host, ...target }, scene) => onHosts(nodesOf(target, scene), { host, action: 'kill-processes' }),
  // An empty list ends the fault.
  missingWorker: ({ names, workers }, { settings }) => {
    const entry = { ...namesMatch(names), workers };
    return configure({ missingWorkers: workers.length === 0 ? [] : [...settings.missingWorkers, entry] });
  },
  bootFailure: ({ names, message }, { settings }) =>
    configure({ bootFailures: [...settings.bootFailures, defined({ ...namesMatch(names), message })] }),
  guestAttributes: ({ names, after: ms, forbidden }, { settings }) => {
    const entry = defined({ ...namesMatch(names), afterMs: ms, forbidden });
    return configure({ guestAttributes: [...settings.guestAttributes, entry] });
  },
  recycledIp: (isOn) => configure({ recycleAddresses: isOn }),
  listLag: ({ lag, for: ms }) => ({
    calls: [{ verb: 'list-lag', body: { lagMs: lag } }],
    later: after(ms, { verb: 'list-lag', body: { lagMs: 0 } }),
  }),
};

const UNAVAILABLE = 'The service is currently unavailable.';
const ANSWER_LOST = 'The connection was lost before an answer came.';
const SLOW_MS = 5000;

const SSH = {
  slow: { action: 'slow-ssh', end: { action: 'slow-ssh', delayMs: 0 } },
  dead: { action: 'unreachable', end: { action: 'reachable' } },
  reset: { action: 'refuse-ssh', end: { action: 'accept-ssh' } },
} as const;

function configure(body: object): Partial<Effects> {
  return { calls: [{ verb: 'configure', body }] };
}

function after(ms: number | undefined, call: Call): Effects['later'] {
  return ms === undefined ? [] : [{ afterMs: ms, call }];
}

function onHosts(names: readonly string[], body: object, ms?: number, end: object = {}): Effects {
  const calls = names.map((name) => ({ verb: 'hosts', body: { name, ...body } }));
  return { calls, later: names.flatMap((name) => after(ms, { verb: 'hosts', body: { name, ...end } })) };
}

interface RefusalBody {
  readonly code: string | number;
  readonly message?: string | undefined;
  readonly names?: string | undefined;
  readonly zone?: string | undefined;
  readonly times?: number | undefined;
  readonly for?: number | undefined;
  readonly afterEffect?: boolean;
  readonly reason?: string | undefined;
  readonly as?: 'operation' | 'request' | undefined;
}

function refusals(methods: readonly string[], given: RefusalBody): readonly Call[] {
  const { names, for: forMs, ...rest } = given;
  const { code, message, reason, zone, times, afterEffect, as } = rest;
  const body = defined({ code, message, reason, zone, times, forMs, afterEffect, as, ...namesMatch(names) });
  return methods.map((method) => ({ verb: 'refuse', body: { method, ...body } }));
}

/** Full names of the nodes that an action is about: all matches, or one that the seed draws. */
function nodesOf(
  { node, which }: { readonly node?: string | undefined; readonly which: 'all' | 'one' },
  scene: Scene,
): readonly string[] {
  const { subject, random } = scene;
  const isMeant = (each: Scene['nodes'][number]): boolean =>
    node === undefined ? each.name === subject || each.queuedResource === subject : isNamed(each.name, node);
  const found = scene.nodes.filter(isMeant).map(({ name }) => name);
  return which === 'all' ? found : found.slice(...oneOf(found.length, random));
}

function oneOf(count: number, random: Random): readonly [number, number] {
  const index = count <= 1 ? 0 : random.integer(0, count - 1);
  return [index, index + 1];
}

function requestsOf(pattern: string | undefined, { subject, queuedResources, nodes }: Scene): readonly string[] {
  const owner = nodes.find(({ name }) => name === subject)?.queuedResource;
  return queuedResources.filter((name) =>
    pattern === undefined ? name === subject || name === owner : isNamed(name, pattern),
  );
}

/** Compares a script's pattern with the whole last part of a name. */
export function isNamed(name: string, pattern: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(lastSegment(name));
}

function namesMatch(pattern: string | undefined): { readonly nameMatches?: string } {
  return pattern === undefined ? {} : { nameMatches: `/(?:${pattern})$` };
}

/** Adds the unit to settings that are times, as the admin interface names them. */
function settingsOf(written: NonNullable<WrittenScript['settings']>): object {
  const named = Object.entries(written).map(
    ([key, value]) => [`${key}Ms` in DEFAULT_SETTINGS ? `${key}Ms` : key, value] as const,
  );
  return defined(Object.fromEntries(named));
}

/** Merges limits into a table; `null` removes a limit. */
function laidOver(table: Readonly<Record<string, number>>, changes: PlaceTable): Readonly<Record<string, number>> {
  return defined({ ...table, ...changes }) as Readonly<Record<string, number>>;
}

/** Expands a quota without a tier to one for each tier. */
function quotaKeys(table: PlaceTable): PlaceTable {
  const entries = Object.entries(table).flatMap(([key, chips]) =>
    key.split('/').length > 3 ? [[key, chips] as const] : TIERS.map((tier) => [`${key}/${tier}`, chips] as const),
  );
  return Object.fromEntries(entries);
}

function defined(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
}

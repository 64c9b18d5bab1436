import type { Client, Connection } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
import { claimQueue, foreignQueueText, takeQueueOver } from '../cloud/temporal/queue-claim.js';
import { JOB_SEARCH_ATTRIBUTES, serverTooOld } from '../domain/temporal-server.js';
import { janitorScheduleId } from '../contract/janitor.js';
import { TemporalRefused } from './errors.js';
import { ensureJanitorSchedule, ensureOwner, type InstallationOwner, JANITOR_EVERY_MS } from './installation.js';
import {
  createNamespace,
  raiseRetention,
  retentionOf,
  ensureSearchAttributes,
  missingSearchAttributes,
} from './namespace.js';
import { bucketUrl } from '../domain/store-place.js';
import {
  ACTIVATION_DELAY_MS,
  type Change,
  CHANGES,
  type ChangeSwitches,
  isSwitchedOn,
  olderThan,
  readSwitches,
  switched,
} from '../contract/changes.js';
import { changesObject } from '../domain/store-layout.js';

export interface ServerSetup {
  readonly connection: Connection;
  readonly client: Client;
  readonly namespace: string;
  /** Store that keeps the owner id. */
  readonly store: StorePort;
  readonly taskQueue: string;
  readonly retentionMs: number;
  /** True takes the task queue from another installation that has claimed it. */
  readonly isTakenOver?: boolean;
  /** True for Temporal Cloud, whose own tools create namespaces and search attributes, not this API. */
  readonly isCloud: boolean;
}

/** One thing that jobctl needs of the server. `by-hand`: `commands` holds the commands to run. `advice`: optional. */
export interface SetupStep {
  readonly what: string;
  readonly state: 'done' | 'was-there' | 'by-hand' | 'advice';
  readonly detail: string;
  readonly commands?: readonly string[];
}

/**
 * Prepares a Temporal namespace and a bucket for workers, step by step. Each step can be repeated and leaves existing things
 * alone. Steps that may not be done over the API are returned as commands.
 * @throws TemporalRefused if the server is too old, SearchAttributeTypeConflict, the store's own errors
 */
export async function* setUpServer(setup: ServerSetup): AsyncGenerator<SetupStep> {
  yield await serverStep(setup);
  const namespace = await byHandIfRefused(setup, {
    what: namespaceName(setup),
    step: namespaceStep,
    commands: namespaceCommands,
  });
  yield namespace;
  if (namespace.state === 'by-hand' && (await retentionOf(setup.connection, setup.namespace)) === undefined) return;
  yield await byHandIfRefused(setup, {
    what: ATTRIBUTES,
    step: attributesStep,
    commands: attributeCommands,
  });
  yield await callersStep(setup);
  const owner = await ensureOwner(setup.store);
  yield ownerStep(setup, owner);
  yield await claimStep(setup, owner.id);
  yield await scheduleStep(setup);
  yield visibilityAdvice(setup);
}

async function serverStep({ connection, isCloud }: ServerSetup): Promise<SetupStep> {
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  const tooOld = serverTooOld(serverVersion);
  if (tooOld !== undefined) throw new TemporalRefused(tooOld);
  const detail = `version ${serverVersion}${isCloud ? ', Temporal Cloud' : ''}`;
  return { what: 'Temporal server', state: 'was-there', detail };
}

/** Finds out whether the server demands an API key, by one call with a key that does not exist. */
async function callersStep({ connection, namespace }: ServerSetup): Promise<SetupStep> {
  const what = 'who may call';
  try {
    await connection.withApiKey('none', () => connection.workflowService.describeNamespace({ namespace }));
  } catch (error) {
    if (!REFUSED.includes((error as { code?: number }).code ?? -1)) throw error;
    return { what, state: 'was-there', detail: 'whoever has an API key; its role says what for' };
  }
  return {
    what,
    state: 'advice',
    detail: 'the server asks for no API key: whoever reaches it may start, signal and end every job (docs/security.md)',
    commands: [`jobctl setup api-keys --folder api-keys --namespace ${namespace}`],
  };
}

/** gRPC: PERMISSION_DENIED, UNAUTHENTICATED. */
const REFUSED = [7, 16];

/** gRPC: UNIMPLEMENTED, PERMISSION_DENIED, UNAUTHENTICATED. */
const NOT_OVER_THIS_API = [12, 7, 16];

/** Runs a step, or returns its commands if the server refuses it. @param by name, function and commands of the step */
async function byHandIfRefused(
  setup: ServerSetup,
  by: {
    readonly what: string;
    readonly step: (setup: ServerSetup) => Promise<SetupStep>;
    readonly commands: (setup: ServerSetup) => readonly string[];
  },
): Promise<SetupStep> {
  try {
    return await by.step(setup);
  } catch (error) {
    const { code = -1, details = '' } = error as { code?: number; details?: string };
    if (!NOT_OVER_THIS_API.includes(code)) throw error;
    return {
      what: by.what,
      state: 'by-hand',
      detail: `the server refuses: ${details}`,
      commands: by.commands(setup),
    };
  }
}

const ATTRIBUTES = 'search attributes';
const namespaceName = ({ namespace }: ServerSetup): string => `namespace ${namespace}`;

const DAY_MS = 86_400_000;
const days = (ms: number): number => Math.ceil(ms / DAY_MS);
const kept = (ms: number): string => `keeps closed workflows ${days(ms)} days`;

async function namespaceStep(setup: ServerSetup): Promise<SetupStep> {
  const { connection, namespace, retentionMs, isCloud } = setup;
  const what = namespaceName(setup);
  const before = await retentionOf(connection, namespace);
  if (before !== undefined && before >= retentionMs) return { what, state: 'was-there', detail: kept(before) };
  if (isCloud) {
    const detail = before === undefined ? 'is not there' : `${kept(before)}, ${days(retentionMs)} are wanted`;
    return { what, state: 'by-hand', detail, commands: namespaceCommands(setup) };
  }
  if (before === undefined) {
    await createNamespace(connection, namespace, retentionMs);
    return { what, state: 'done', detail: `made; ${kept(retentionMs)}` };
  }
  await raiseRetention(connection, namespace, retentionMs);
  return { what, state: 'done', detail: `${kept(retentionMs)} (before: ${days(before)})` };
}

function namespaceCommands({ namespace, retentionMs, isCloud }: ServerSetup): readonly string[] {
  if (!isCloud)
    return [`temporal operator namespace create --namespace ${namespace} --retention ${days(retentionMs)}d`];
  return [
    `tcld namespace create --namespace ${namespace} --region REGION --retention-days ${days(retentionMs)}`,
    `tcld namespace retention set --namespace ${namespace} --retention-days ${days(retentionMs)}`,
  ];
}

async function attributesStep(setup: ServerSetup): Promise<SetupStep> {
  const { connection, namespace, isCloud } = setup;
  const what = ATTRIBUTES;
  if (isCloud) {
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length > 0)
      return { what, state: 'by-hand', detail: `missing: ${missing.join(', ')}`, commands: attributeCommands(setup) };
  }
  const added = await ensureSearchAttributes(connection, namespace);
  const detail = added.length === 0 ? JOB_SEARCH_ATTRIBUTES.join(', ') : `added ${added.join(', ')}`;
  return { what, state: added.length === 0 ? 'was-there' : 'done', detail };
}

function attributeCommands({ namespace, isCloud }: ServerSetup): readonly string[] {
  return JOB_SEARCH_ATTRIBUTES.map((name) =>
    isCloud
      ? `tcld namespace search-attributes add --namespace ${namespace} --search-attribute "${name}=Keyword"`
      : `temporal operator search-attribute create --namespace ${namespace} --name ${name} --type Keyword`,
  );
}

function ownerStep({ store }: ServerSetup, { id, isNew }: InstallationOwner): SetupStep {
  const detail = `${id}, in ${bucketUrl(store.bucket)}: what carries it in its labels is ours`;
  return { what: 'owner id', state: isNew ? 'done' : 'was-there', detail };
}

/** Claims the task queue. Workers of another installation take no tasks from a claimed queue (docs/adr/0103). */
async function claimStep(setup: ServerSetup, owner: string): Promise<SetupStep> {
  const what = `task queue ${setup.taskQueue}`;
  const holder = await claimQueue(setup, owner);
  if (holder === owner) return { what, state: 'was-there', detail: `is installation ${owner}` };
  if (setup.isTakenOver !== true)
    return { what, state: 'by-hand', detail: foreignQueueText(setup, holder, owner), commands: [TAKE_OVER] };
  await takeQueueOver(setup, owner);
  return { what, state: 'done', detail: `is installation ${owner} now; it was '${holder}'` };
}

const TAKE_OVER = 'jobctl setup server --take-over';

async function scheduleStep({ client, taskQueue }: ServerSetup): Promise<SetupStep> {
  const what = `schedule ${janitorScheduleId(taskQueue)}`;
  const state = await ensureJanitorSchedule(client, taskQueue);
  const every = `sweeps every ${JANITOR_EVERY_MS / 60_000} minutes for what no workflow looks after, and within five where a worker sees it`;
  switch (state) {
    case 'created':
      return { what, state: 'done', detail: every };
    case 'exists':
      return { what, state: 'was-there', detail: 'as it is set in Temporal' };
    case 'paused':
      return {
        what,
        state: 'by-hand',
        detail: 'is paused: nobody looks for what is left behind',
        commands: [`temporal schedule toggle --schedule-id ${janitorScheduleId(taskQueue)} --unpause`],
      };
  }
}

/** The default is 10 list calls a second. A list of 10,000 jobs took 17 s in pages, with 200 calls below 1 s (docs/facts.md). */
function visibilityAdvice({ namespace, isCloud }: ServerSetup): SetupStep {
  const what = 'visibility rate';
  if (isCloud) return { what, state: 'advice', detail: 'Temporal Cloud allows 30 calls a second; more by its support' };
  return {
    what,
    state: 'advice',
    detail: 'a server allows 10 list calls a second unless its dynamic configuration says more; no API tells',
    commands: [`frontend.namespaceRPS.visibility: [{value: 200, constraints: {namespace: ${namespace}}}]`],
  };
}

export interface SwitchMove {
  readonly id: string;
  readonly to: 'on' | 'off';
  readonly by: string;
}

/**
 * Moves the installation's switch of a change (docs/adr/0037). A change that is switched on comes into force after
 * `ACTIVATION_DELAY_MS`: within that time, a worker that does not know it reads the switches and takes no more work.
 * @throws Error if this build does not know the change, or if another caller moved a switch at the same time
 */
async function moveSwitch(store: StorePort, { id, to, by }: SwitchMove, now = Date.now()): Promise<ChangeSwitches> {
  const stored = await store.stat(changesObject);
  const before = readSwitches((await store.read(changesObject))?.toString('utf8'));
  if (to === 'on' && !Object.hasOwn(CHANGES, id)) throw new Error(notKnown(id));
  const after = switched(before, { id, to, by, at: to === 'on' ? now + ACTIVATION_DELAY_MS : now });
  if (after.changes === before.changes) return before;
  const expected = stored === undefined ? 'absent' : { generation: stored.generation };
  const { kind } = await store.write(changesObject, JSON.stringify(after), expected, 'application/json');
  if (kind === 'conflict') throw new Error(`${changesObject}: somebody else moved a switch just now; try again`);
  return after;
}

function notKnown(id: string): string {
  const known = Object.keys(CHANGES);
  const these = known.length === 0 ? 'It knows of none' : `It knows ${known.join(', ')}`;
  return `this build of jobctl does not know change '${id}'. ${these}`;
}

/** Describes each change of this build, and whether an open workflow still needs its old behavior. */
export async function* changeSteps(
  setup: { readonly client: Client; readonly store: StorePort; readonly taskQueue: string },
  moves: readonly SwitchMove[],
  known: Readonly<Record<string, Change>> = CHANGES,
): AsyncGenerator<SetupStep> {
  for (const move of moves) await moveSwitch(setup.store, move);
  const { changes } = readSwitches((await setup.store.read(changesObject))?.toString('utf8'));
  for (const [id, change] of Object.entries(known)) {
    const state = changes[id];
    const what = `change ${id}`;
    const isRequired = change.phase === 'required';
    if (state === undefined || !isSwitchedOn(state)) {
      const when = isRequired
        ? ', and workers of this version take no work until it is:'
        : `. Once every worker is of ${change.since} or newer:`;
      const detail = `${change.what}; not active${when}`;
      const commands = [`jobctl setup server --activate ${id}`];
      yield { what, state: isRequired ? 'by-hand' : 'advice', detail, commands };
      continue;
    }
    const since = new Date(state.activeFrom).toISOString();
    const older = await openOf(setup, olderThan(change, state));
    const left = older === 0 ? 'no open workflow began before it' : `${older} open workflows began before it`;
    const isHeldUp = isRequired && older > 0;
    const until = isHeldUp ? '; until they have ended, workers of this version take no work' : '';
    yield {
      what,
      state: isHeldUp ? 'by-hand' : 'was-there',
      detail: `${change.what}; active from ${since}, ${left}${until}`,
    };
  }
}

async function openOf(
  { client, taskQueue }: { readonly client: Client; readonly taskQueue: string },
  query: string,
): Promise<number> {
  const { count } = await client.workflow.count(
    `ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue}' AND ${query}`,
  );
  return count;
}

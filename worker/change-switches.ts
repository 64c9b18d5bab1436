import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import {
  type Change,
  CHANGES,
  type ChangeSwitch,
  type ChangeSwitches,
  isInForce,
  isSwitchedOn,
  NO_SWITCHES,
  olderThan,
  readSwitches,
} from '../contract/changes.js';
import { abortable } from '../cloud/abort.js';
import type { StoreReader } from '../cloud/store/port.js';
import { changesObject } from '../domain/store-layout.js';

/** The place in which the workflows of an installation are listed. */
export interface InstallationWorkflows {
  readonly connection: Pick<NativeConnection, 'workflowService'>;
  readonly namespace: string;
  readonly taskQueue: string;
}

/**
 * One worker's copy of the installation's switches for changes of workflow code (docs/adr/0037). Read before the worker takes
 * work, and every `REREAD_MS` after that. Between two readings the last one counts.
 */
export class WorkerChanges {
  static readonly REREAD_MS = 30_000;
  readonly #store: Pick<StoreReader, 'read'>;
  readonly #known: Readonly<Record<string, Change>>;
  readonly #rereadMs: number;
  #switches: ChangeSwitches = NO_SWITCHES;

  /** @param known the changes that this build has @param rereadMs time between two readings of the switches */
  constructor(
    store: Pick<StoreReader, 'read'>,
    known: Readonly<Record<string, Change>> = CHANGES,
    rereadMs = WorkerChanges.REREAD_MS,
  ) {
    this.#store = store;
    this.#known = known;
    this.#rereadMs = rereadMs;
  }

  /**
   * For the SDK's `patchActivationCallback`: returns whether a live workflow may write the marker of this change.
   * @throws Error if the change is not registered, since it could never be switched on then
   */
  readonly isActive = ({ patchId }: { readonly patchId: string }): boolean => {
    if (!Object.hasOwn(this.#known, patchId)) throw new Error(`change '${patchId}' is not in contract/changes.ts`);
    return isInForce(this.#switches, patchId, Date.now());
  };

  /**
   * Reads the switches and returns one sentence for each change that forbids this build to take work; empty if it may. There are
   * two such cases. The build does not know the change, and an open workflow carries its marker or may get it. Or the build no
   * longer has the old way, and an open workflow may need it.
   */
  async refusals(place: InstallationWorkflows): Promise<readonly string[]> {
    const stored = await this.#store.read(changesObject);
    this.#switches = readSwitches(stored?.toString('utf8'));
    const open = (query: string) => openWorkflows(place, query);
    const { changes } = this.#switches;
    const unknown = Object.entries(changes).filter(([id]) => !Object.hasOwn(this.#known, id));
    const required = Object.entries(this.#known).filter(([, { phase }]) => phase === 'required');
    const sentences = await Promise.all([
      ...unknown.map(([id, state]) => whyUnknown(id, state, open)),
      ...required.map(([id, change]) => whyRequired(id, change, changes[id], open)),
    ]);
    return sentences.filter((sentence) => sentence !== undefined);
  }

  /** Repeats the reading until the build may take no more work, and returns the reasons; empty if `stop` is aborted first. */
  async untilRefused(place: InstallationWorkflows, stop: AbortSignal): Promise<readonly string[]> {
    for (;;) {
      await sleep(this.#rereadMs, undefined, { signal: stop }).catch(() => undefined);
      if (stop.aborted) return [];
      // If the store or Temporal is away, the last reading counts and no job stops. A reading does not delay the worker's end
      // either.
      const refusals = await abortable(this.refusals(place), stop).catch(() => []);
      if (refusals.length > 0) return refusals;
    }
  }
}

type CountOpen = (query: string) => Promise<{ readonly count: number; readonly example: string | undefined }>;

async function whyUnknown(id: string, state: ChangeSwitch, open: CountOpen): Promise<string | undefined> {
  const carriers = await open(`TemporalChangeVersion = '${id}'`);
  const carried =
    carriers.count === 0 ? '' : ` ${carriers.count} open workflows carry it, such as ${carriers.example}.`;
  if (isSwitchedOn(state))
    return `this build does not know change '${id}', active since ${timeOf(state.activeFrom)}.${carried} Update it`;
  if (carriers.count === 0) return undefined;
  return `this build does not know change '${id}'.${carried} Update it, or wait until they have ended`;
}

/** Returns why a build that has only the new way of a change may not take work, or undefined if it may. */
async function whyRequired(
  id: string,
  change: Change,
  state: ChangeSwitch | undefined,
  open: CountOpen,
): Promise<string | undefined> {
  const only = `this build has only the new way of change '${id}'`;
  if (state === undefined || !isSwitchedOn(state))
    return `${only}, which is not active: run 'jobctl setup server --activate ${id}'`;
  if (Date.now() < state.activeFrom) return `${only}, which comes into force at ${timeOf(state.activeFrom)}`;
  const older = await open(olderThan(change, state));
  if (older.count === 0) return undefined;
  const began = `${older.count} open workflows began before it was active (${timeOf(state.activeFrom)})`;
  return `${only}, and ${began}, such as ${older.example}. Go back to a version that has both ways until they have ended`;
}

async function openWorkflows({ connection, namespace, taskQueue }: InstallationWorkflows, query: string) {
  const { workflowService } = connection;
  const open = `ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue}' AND ${query}`;
  const { count } = await workflowService.countWorkflowExecutions({ namespace, query: open });
  if (Number(count) === 0) return { count: 0, example: undefined };
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, query: open, pageSize: 1 });
  return { count: Number(count), example: executions?.[0]?.execution?.workflowId ?? undefined };
}

const timeOf = (at: number): string => new Date(at).toISOString();

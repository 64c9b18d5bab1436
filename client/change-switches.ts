import type { Client } from '@temporalio/client';
import type { StorePort } from '../cloud/store/port.js';
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
import type { SetupStep } from './setup-server.js';

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
export async function moveSwitch(
  store: StorePort,
  { id, to, by }: SwitchMove,
  now = Date.now(),
): Promise<ChangeSwitches> {
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

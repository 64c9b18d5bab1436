import assert from 'node:assert/strict';
import {
  type Change,
  type ChangeSwitches,
  isInForce,
  NO_SWITCHES,
  readSwitches,
  switched,
  switchesOfNewInstallation,
} from '../../contract/changes.js';
import { changeSteps } from '../../client/setup-server.js';
import { ensureOwner } from '../../client/installation.js';
import { changesObject, ownerObject } from '../../domain/store-layout.js';
import { WorkerChanges } from '../../worker/change-switches.js';

const AT = Date.UTC(2020, 0, 2);
const on = switched(NO_SWITCHES, { id: 'x', to: 'on', by: 'ann', at: AT });
const off = switched(on, { id: 'x', to: 'off', by: 'ben', at: AT + 1_000 });
const KNOWN: Readonly<Record<string, Change>> = {
  x: { what: 'a timer', since: '1.0.0', workflows: ['job'], phase: 'known' },
};

describe('switches of changes of workflow code', () => {
  it('one comes into force at its time, and switched on again keeps that time', () => {
    assert.deepEqual(
      [isInForce(on, 'x', AT - 1), isInForce(on, 'x', AT), isInForce(off, 'x', AT)],
      [false, true, false],
    );
    assert.equal(switched(on, { id: 'x', to: 'on', by: 'ben', at: AT + 5 }).changes, on.changes);
    assert.equal(isInForce(on, 'toString', AT), false);
  });

  it('a form that this build does not know is refused, not guessed at', () => {
    assert.deepEqual(readSwitches(undefined), NO_SWITCHES);
    assert.throws(() => readSwitches('{"v": 2, "changes": {}}'), /v is 2, not 1: a newer jobctl wrote it/);
  });

  const asked: string[] = [];
  let onRead: () => void;
  /** Visibility with so many open workflows that carry the marker, or began before. */
  const refusals = (switches: ChangeSwitches, known: Readonly<Record<string, Change>>, found: number) => {
    const workflowService = {
      countWorkflowExecutions: async ({ query }: { readonly query: string }) => {
        asked.push(query);
        return { count: found };
      },
      listWorkflowExecutions: async () => ({ executions: [{ execution: { workflowId: 'train-1' } }] }),
    };
    const store = { read: async () => Buffer.from(JSON.stringify(switches)) };
    const connection = { workflowService } as never;
    return new WorkerChanges(store, known).refusals({ connection, namespace: 'default', taskQueue: 'q' });
  };

  it('keep a build out that does not know one that is on, or whose marker an open workflow carries', async () => {
    assert.deepEqual(await refusals(on, KNOWN, 1), []);
    assert.match((await refusals(on, {}, 0)).join(), /^this build does not know change 'x', active since 2020-01-02T/);
    assert.match(
      (await refusals(off, {}, 3)).join(),
      /3 open workflows carry it, such as train-1.*wait until they have/,
    );
    assert.deepEqual(await refusals(off, {}, 0), []);
  });

  it('keep a build out that has lost the old way, until nothing open began before the new way was active', async () => {
    const required = { x: { ...KNOWN['x'], workflows: ['job', 'slice'], phase: 'required' } } as typeof KNOWN;
    const only = "this build has only the new way of change 'x', ";
    assert.deepEqual(await refusals(on, required, 0), []);
    assert.equal(
      asked.at(-1),
      "ExecutionStatus = 'Running' AND TaskQueue = 'q' AND WorkflowType IN ('job', 'slice') AND StartTime < '2020-01-02T00:00:00.000Z'",
    );
    assert.deepEqual(await refusals(on, required, 2), [
      `${only}and 2 open workflows began before it was active (2020-01-02T00:00:00.000Z), such as train-1. ` +
        'Go back to a version that has both ways until they have ended',
    ]);
    const notActive = [`${only}which is not active: run 'jobctl setup server --activate x'`];
    assert.deepEqual(await refusals(off, required, 0), notActive);
    assert.deepEqual(await refusals(NO_SWITCHES, required, 0), notActive);
    const soon = switched(NO_SWITCHES, { id: 'x', to: 'on', by: 'ann', at: Date.now() + 60_000 });
    assert.match((await refusals(soon, required, 0)).join(), /x', which comes into force at 20/);
  });

  const REQUIRED = { x: { ...KNOWN['x'], phase: 'required' } } as typeof KNOWN;

  it('do not hold up the end of a worker while the store does not answer', async () => {
    const stop = new AbortController();
    const asked = new Promise<void>((resolve) => (onRead = resolve));
    const store = { read: () => (onRead(), new Promise<never>(() => undefined)) };
    const place = { connection: { workflowService: {} } as never, namespace: 'default', taskQueue: 'q' };
    const refused = new WorkerChanges(store, KNOWN, 1).untilRefused(place, stop.signal);
    await asked;
    stop.abort();
    assert.deepEqual(await refused, []);
  });

  it('of a new installation are on for what its build requires, and for nothing else', async () => {
    const known = { ...REQUIRED, y: KNOWN['x'] } as typeof KNOWN;
    assert.deepEqual(switchesOfNewInstallation(known, AT).changes, { x: { activeFrom: AT, by: 'setup' } });
    const written: string[] = [];
    const store = (owner: Buffer | undefined) =>
      ({
        bucket: 'b',
        read: async () => owner,
        write: async (name: string) => ({ kind: 'written', generation: String(written.push(name)) }),
      }) as never;
    // Before the owner id: a set-up that breaks off between them is a new installation's still.
    assert.equal((await ensureOwner(store(undefined), known)).isNew, true);
    assert.deepEqual(written.splice(0), [changesObject, ownerObject]);
    await ensureOwner(store(undefined), KNOWN);
    assert.deepEqual(written.splice(0), [ownerObject]);
    await ensureOwner(store(Buffer.from('0123')), known);
    assert.deepEqual(written, []);
  });

  it('are told by setup server, and what of it holds workers up is to be done by hand', async () => {
    const told = async (switches: ChangeSwitches, known: typeof KNOWN, older: number) => {
      const client = { workflow: { count: async () => ({ count: older }) } };
      const store = { read: async () => Buffer.from(JSON.stringify(switches)) };
      const steps = changeSteps({ client, store, taskQueue: 'q' } as never, [], known);
      const lines: string[] = [];
      for await (const { state, detail } of steps) lines.push(`${state}: ${detail}`);
      return lines.join();
    };
    const since = 'a timer; active from 2020-01-02T00:00:00.000Z, ';
    assert.equal(
      await told(NO_SWITCHES, KNOWN, 1),
      'advice: a timer; not active. Once every worker is of 1.0.0 or newer:',
    );
    assert.equal(
      await told(off, REQUIRED, 0),
      'by-hand: a timer; not active, and workers of this version take no work until it is:',
    );
    assert.equal(await told(on, KNOWN, 2), `was-there: ${since}2 open workflows began before it`);
    assert.equal(await told(on, REQUIRED, 0), `was-there: ${since}no open workflow began before it`);
    assert.equal(
      await told(on, REQUIRED, 2),
      `by-hand: ${since}2 open workflows began before it; until they have ended, workers of this version take no work`,
    );
  });

  it('a change that is not registered is an error of this build, and not an old way for ever', () => {
    const changes = new WorkerChanges({ read: async () => undefined }, KNOWN);
    assert.equal(changes.isActive({ patchId: 'x' }), false);
    assert.throws(() => changes.isActive({ patchId: 'y' }), /change 'y' is not in contract\/changes\.ts/);
  });
});

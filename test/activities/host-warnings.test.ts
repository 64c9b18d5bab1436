import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { AttemptHost, HostCaller } from '../../activities/attempt/attempt-hosts.js';
import { HostWarnings } from '../../activities/attempt/host-warnings.js';
import type { SliceGuard } from '../../activities/attempt/slice-guard.js';
import type { RunStatus } from '../../cloud/hosts/port.js';

const host = (number: number): AttemptHost => ({ number, target: { slice: number, index: 0 } }) as AttemptHost;
const running = (more: object = {}): RunStatus => ({ kind: 'running', startedAt: 1, outputBytes: 0, ...more });
const REASON = 'the provider says UNHEALTHY_MAINTENANCE of this slice';

describe("the provider's warning of a slice", () => {
  let warning: ReturnType<SliceGuard['warningOf']>;
  let told: unknown[];
  let logged: string[];
  let abort: AbortController;
  let answer: () => void;
  beforeEach(() => {
    [warning, told, logged, abort, answer] = [{ reason: undefined }, [], [], new AbortController(), () => undefined];
  });
  /** Runs a story on the warnings of slices 0 and 1. */
  async function play(story: (warnings: HostWarnings, settled: () => Promise<void>) => Promise<void>): Promise<void> {
    const caller = {
      on: async ({ slice }: AttemptHost['target'], call: (connection: unknown) => Promise<void>) =>
        call({ warnRun: async (run: string, reason?: string) => (answer(), void told.push([slice, run, reason])) }),
    } as unknown as HostCaller;
    const guard = { warningOf: () => warning } as unknown as SliceGuard;
    const warn = (message: string): void => void logged.push(message);
    const none = (): void => undefined;
    const logger = { log: none, trace: none, debug: none, info: none, warn, error: warn };
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await new MockActivityEnvironment({}, { logger }).run(async () => {
      await story(new HostWarnings('train-a1', caller, guard, abort.signal), settled);
      await settled();
    });
  }

  it('is told to the commands of that slice alone, once, and taken back when it is over', async () => {
    await play(async (warnings, settled) => {
      for (const each of [host(0), host(1)]) warnings.attached(each, running());
      await settled();
      assert.deepEqual(told, []);
      warning = { reason: REASON };
      warnings.changed(0);
      warnings.changed(0);
      await settled();
      assert.deepEqual(told, [[0, 'train-a1', REASON]]);
      warning = { reason: undefined };
      warnings.changed(0);
    });
    assert.deepEqual(told, [
      [0, 'train-a1', REASON],
      [0, 'train-a1', undefined],
    ]);
  });

  it('is told to a host that is attached to later, and taken back where another worker had told it', async () => {
    warning = { reason: REASON };
    await play(async (warnings) => warnings.attached(host(0), running()));
    warning = { reason: undefined };
    await play(async (warnings) => warnings.attached(host(0), running({ isWarned: true })));
    await play(async (warnings) => warnings.attached(host(0), { kind: 'lost', outputBytes: 0 }));
    assert.deepEqual(told, [
      [0, 'train-a1', REASON],
      [0, 'train-a1', undefined],
    ]);
  });

  it('is left as it is while nobody has asked the provider', async () => {
    warning = 'not seen';
    await play(async (warnings) => warnings.attached(host(0), running({ isWarned: true })));
    assert.deepEqual(told, []);
  });

  it('that cannot be told costs nothing; that is logged, unless the attempt is over', async () => {
    warning = { reason: REASON };
    answer = () => assert.fail('no answer');
    await play(async (warnings) => warnings.attached(host(0), running()));
    assert.deepEqual(logged, ['the command could not be warned: no answer']);
    abort.abort();
    await play(async (warnings) => warnings.attached(host(0), running()));
    assert.equal(logged.length, 1);
  });
});

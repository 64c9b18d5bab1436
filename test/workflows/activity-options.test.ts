import assert from 'node:assert/strict';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { hooking } from '../../workflows/activity-options.js';
import { BareRun } from './bare-run.js';

describe('the time of a hook', () => {
  after(() => BareRun.end());

  for (const [limitMs, heartbeatTimeoutMs] of [
    [15_000, 90_000],
    [300_000, 90_000],
    [15_000, 20_000],
  ] as const)
    it(`of ${limitMs / 1000} s is enough for another worker, with heartbeats of ${heartbeatTimeoutMs / 1000} s`, () => {
      const run = new BareRun();
      void hooking(limitMs, heartbeatTimeoutMs)('run the hook').runHook({} as never);
      const [{ scheduleActivity } = {}] = run.commands();
      assert.equal(tsToMs(scheduleActivity?.heartbeatTimeout), heartbeatTimeoutMs);
      const connectMs = 20_000;
      assert.ok(tsToMs(scheduleActivity?.scheduleToCloseTimeout) > limitMs + heartbeatTimeoutMs + connectMs);
    });
});

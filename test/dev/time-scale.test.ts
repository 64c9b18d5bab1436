import assert from 'node:assert/strict';
import { workerConfigOf } from '../../cli/place/stack/context.js';
import { stackHome } from '../../cli/terminal/home.js';
import type { StackRecord } from '../../cli/place/stack/stack-record.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import type { Timings } from '../../domain/timings.js';

interface WorkerConfig {
  readonly cloud: { readonly listingPeriods?: { readonly urgentMs: number; readonly quietMs: number } };
  readonly timings: Partial<Timings>;
  readonly ssh: { readonly readsKeyFiles?: boolean };
}

const ports = {
  temporal: 1,
  temporalUi: 2,
  tpu: 3,
  tpuRest: 4,
  store: 5,
  admin: 6,
  health: 7,
  ssh: 8,
  kubernetes: 10,
  metrics: 11,
};

function configAt(timeScale?: number): WorkerConfig {
  const scale = timeScale === undefined ? {} : { timeScale };
  const record: StackRecord = {
    ...{ v: 1, addresses: { ...ports, subnetOctet: 9 }, temporalAddress: null, quotaFile: null, parts: {} },
    ...scale,
  };
  return workerConfigOf(stackHome({ JOBCTL_HOME: '/nonexistent' }), record) as WorkerConfig;
}

describe('a stack whose cloud runs faster', () => {
  const [plain, fast] = [configAt(), configAt(10)];

  it('waits for the cloud so many times shorter', () => {
    for (const name of ['createSettleMs', 'notFoundApartMs', 'reconcileMs', 'poolLookMs', 'zoneBackoffMs'] as const)
      assert.equal(fast.timings[name], (plain.timings[name] ?? Number.NaN) / 10, name);
    assert.equal(fast.timings.zoneBackoffMaxMs, DEFAULT_TIMINGS.zoneBackoffMaxMs / 10);
    assert.deepEqual(
      [plain.cloud.listingPeriods, fast.cloud.listingPeriods],
      [undefined, { urgentMs: 200, quietMs: 1000 }],
    );
  });

  it('waits for its own processes as ever, and never without a pause', () => {
    assert.equal(fast.timings.heartbeatTimeoutMs, plain.timings.heartbeatTimeoutMs);
    assert.equal(fast.timings.claimTimeoutMs, plain.timings.claimTimeoutMs);
    assert.equal(configAt(1_000).timings.notFoundApartMs, 50);
  });
});

it('a local stack reads the key files that jobs name: they are those of who runs it', () => {
  assert.equal(configAt().ssh.readsKeyFiles, true);
});

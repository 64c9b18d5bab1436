import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { type AttemptHost, HostCaller } from '../../activities/attempt/attempt-hosts.js';
import { type StacksPlace, storeStacks } from '../../activities/attempt/silent-stacks.js';
import type { SliceGuard } from '../../activities/attempt/slice-guard.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { parseStacks } from '../../domain/stacks/stack.js';
import { NOTICE, request } from '../hosts/run.js';
import { never, ourKey, withHost } from '../hosts/session.js';
import { until } from '../until.js';
import { Bucket } from './log-bucket.js';

const RUN = 'train-x1-a1';
const INPUT = { job: { id: 'train-x1' }, attempt: 1 } as AttemptInput;
const SILENT = new DefaultLogger('ERROR', () => undefined);
const GUARD = { suspect: () => undefined } as unknown as SliceGuard;
const objectOf = (host: number): string => `jobs/train-x1/logs/a1/stacks/host-${host}.000000000000000`;

describe('the stacks of a silent command', function () {
  this.timeout(60_000);

  /** Two hosts, of which the second cannot be reached. */
  const onTwoHosts = (
    bucket: Bucket,
    work: (hosts: readonly AttemptHost[], place: StacksPlace) => Promise<void>,
  ): Promise<void> =>
    withHost(async (session) => {
      await session.connection.startRun(request('touch hangs; exec sleep 600'));
      await until('it hangs', async () => (existsSync(join(session.host.home, 'hangs')) ? true : undefined));
      const fleet = createSshHosts({ port: session.host.port, hostKeys: memoryHostKeyPins() });
      const key = { privateKey: ourKey.private };
      const callerUntil = (signal: AbortSignal): HostCaller => new HostCaller(fleet, key, signal, GUARD);
      const { target } = session.host;
      // Port 9 of this computer: nobody listens there.
      const gone = { ...target, uid: 'gone', own: { port: 9, lastingUid: 'machine-lab-gone' } };
      const hosts = [target, gone].map((each, number) => ({ number, target: each }));
      const place = { store: bucket.port, callerUntil, limitMs: 4_000, signal: never };
      try {
        await new MockActivityEnvironment({}, { logger: SILENT }).run(() => work(hosts, place));
      } finally {
        fleet.release();
        await session.connection.stopRun(RUN, 0, NOTICE);
      }
    });

  it('are stored of each host that answers; one that does not, holds up nothing but its own', async () => {
    const bucket = new Bucket();
    await onTwoHosts(bucket, async (hosts, place) => {
      assert.equal(await storeStacks(place, INPUT, hosts), 1);
      assert.deepEqual([...bucket.objects.keys()], [objectOf(0)]);
      const { processes } = parseStacks(String(bucket.objects.get(objectOf(0))), 0);
      assert.deepEqual(
        processes.map(({ name }) => name),
        ['sleep'],
      );
    });
  });

  it('that another worker has stored are not stored again, and count', async () => {
    const bucket = new Bucket();
    await onTwoHosts(bucket, async ([first], place) => {
      bucket.objects.set(objectOf(0), Buffer.from('process 1: earlier (state S)\n'));
      assert.equal(await storeStacks(place, INPUT, [first as AttemptHost]), 1);
      assert.match(String(bucket.objects.get(objectOf(0))), /earlier/);
    });
  });

  it('are none if the store takes nothing: its failure is not thrown', async () => {
    const bucket = new Bucket();
    bucket.beforeWrite = () => Promise.reject(new Error('the store is away'));
    await onTwoHosts(bucket, async (hosts, place) => assert.equal(await storeStacks(place, INPUT, hosts), 0));
  });

  it('of a store that never answers are given up when their time is over', async () => {
    const bucket = new Bucket();
    bucket.beforeWrite = () => new Promise(() => undefined);
    await onTwoHosts(bucket, async (hosts, place) => assert.equal(await storeStacks(place, INPUT, hosts), 0));
  });

  it('are given up with their supervision, which hears its own reason', async () => {
    const ended = new AbortController();
    const bucket = new Bucket();
    bucket.beforeWrite = () => ended.abort(new Error('the supervision is over'));
    await onTwoHosts(bucket, async (hosts, place) => {
      await assert.rejects(storeStacks({ ...place, signal: ended.signal }, INPUT, hosts), /the supervision is over/);
    });
  });
});

import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  commandHostsOf,
  HostCaller,
  hostsOf,
  isTakenWith,
  runIdOf,
  runPlace,
} from '../../activities/attempt/attempt-hosts.js';
import { attend } from '../../activities/attempt/ends.js';
import type { SliceGuard } from '../../activities/attempt/slice-guard.js';
import {
  HostKeyMismatch,
  HostKeyUnverified,
  type HostsPort,
  type HostTarget,
  HostUnreachable,
} from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { JobSpec } from '../../domain/job-spec.js';

const host = (index: number): object => ({ reach: 'ssh', index, internalIp: `10.0.0.${index}` });
const slice = (index: number, name: string, more: object = {}): object => ({
  ...{ index, uid: `n${index}`, hosts: [host(0), host(1)] },
  ref: { kind: 'cloud-tpu', googleProject: 'p', zone: 'z', name, mode: 'queued-resources', ...more },
});
const input = (hosts: 'all' | readonly number[] | undefined, more: object = {}): AttemptInput =>
  ({
    ...{ job: { id: 'train', run: 'r' }, attempt: 3, spec: { ...(hosts && { command: { hosts } }) } },
    ...{ settings: { bucket: 'b', loginUser: 'ann' }, slices: [slice(0, 's0'), slice(1, 's1')] },
    ...more,
  }) as unknown as AttemptInput;

describe('the hosts of an attempt', () => {
  it('are those of all slices, numbered through', () => {
    assert.deepEqual(
      hostsOf(input('all')).map(({ number, target: { slice: of, index, uid } }) => [number, of, index, uid]),
      [
        [0, 0, 0, 'n0'],
        [1, 0, 1, 'n0'],
        [2, 1, 0, 'n1'],
        [3, 1, 1, 'n1'],
      ],
    );
  });

  it('run the command where it names them, by their number in each slice', () => {
    const numbers = (of: AttemptInput): readonly number[] => commandHostsOf(of).map(({ number }) => number);
    assert.deepEqual(
      [numbers(input('all')), numbers(input([1])), numbers(input(undefined))],
      [[0, 1, 2, 3], [1, 3], []],
    );
  });

  it('are taken together with those of the request that their slice was asked for with', () => {
    const gang = [slice(0, 'q-0', { request: 'q' }), slice(1, 'q-1', { request: 'q' }), slice(2, 'other')];
    const isTaken = isTakenWith(input('all', { slices: gang }), new Set([0]));
    assert.deepEqual(
      [0, 1, 2].map((of) => isTaken({ slice: of })),
      [true, true, false],
    );
  });

  it('know where they are, and how the attempt before ended if there was one', () => {
    const place = runPlace(input('all'));
    assert.deepEqual([runIdOf(input('all')), place.job, place.attempt, place.bucket], ['train-a3', 'train', 3, 'b']);
    assert.deepEqual(
      place.slices.map(({ index, name, zone, hosts }) => [index, name, zone, hosts.length]),
      [
        [0, 's0', 'z', 2],
        [1, 's1', 'z', 2],
      ],
    );
    assert.equal('previousEnd' in place, false);
    assert.equal(runPlace(input('all', { previousEnd: 'failed' })).previousEnd, 'failed');
  });
});

const TARGET = { slice: 1, index: 0 } as HostTarget;

describe('a call on a host', () => {
  let heard: string[];
  let abort: AbortController;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    [heard, abort] = [[], new AbortController()];
  });
  afterEach(() => mock.timers.reset());

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const pass = async (ms: number): Promise<void> => {
    mock.timers.tick(ms);
    await settled();
  };
  /** Connections fail with these errors one after the other, and then one is there. */
  function callerThrough(...errors: readonly Error[]): HostCaller {
    const left = [...errors];
    const hosts = {
      connect: async () => {
        heard.push('connect');
        const error = left.shift();
        if (error !== undefined) throw error;
        return { close: () => heard.push('close') };
      },
    } as unknown as HostsPort;
    const guard = {
      apartMs: 5_000,
      suspect: (of: number) => heard.push(`suspect ${of}`),
      wrongHostKey: async (of: number, times: number, message: string) => heard.push(`key ${of} ${times} ${message}`),
    } as unknown as SliceGuard;
    const listener = {
      silent: ({ slice: of }: HostTarget) => heard.push(`silent ${of}`),
      answered: ({ slice: of }: HostTarget) => heard.push(`answered ${of}`),
    };
    return new HostCaller(hosts, {} as never, abort.signal, guard, listener);
  }
  const run = (story: () => Promise<void>): Promise<void> => new MockActivityEnvironment().run(story);
  const away = (): HostUnreachable => new HostUnreachable('no answer');
  const take = (): readonly string[] => heard.splice(0);

  it('is made over a connection that is closed behind it, also where it fails', () =>
    run(async () => {
      assert.equal(await callerThrough().on(TARGET, async () => 7), 7);
      assert.deepEqual(take(), ['connect', 'answered 1', 'close']);
      await assert.rejects(
        callerThrough().on(TARGET, async () => assert.fail('the disk is full')),
        /the disk is full/,
      );
      assert.deepEqual(take(), ['connect', 'answered 1', 'close']);
    }));

  it('is tried again at pauses that double up to 10 s; the first three silences in a row ask about its slice', () =>
    run(async () => {
      const called = callerThrough(...Array.from({ length: 8 }, away)).on(TARGET, async () => 7);
      await settled();
      const gaps = [300, 600, 1_200, 2_400, 4_800, 9_600, 10_000, 10_000];
      for (const [index, ms] of gaps.entries()) {
        assert.deepEqual(take(), ['connect', ...(index < 3 ? ['suspect 1'] : []), 'silent 1'], `try ${index}`);
        await pass(ms - 1);
        assert.deepEqual(heard, [], `no try before ${ms} ms`);
        await pass(1);
      }
      assert.deepEqual([await called, take()], [7, ['connect', 'answered 1', 'close']]);
    }));

  it('that the connection breaks is made again, and a host that answered is asked about anew', () =>
    run(async () => {
      let calls = 0;
      const called = callerThrough(away(), away(), away()).on(TARGET, async () => {
        calls += 1;
        if (calls === 1) throw away();
        return calls;
      });
      await settled();
      for (const ms of [300, 600, 1_200]) await pass(ms);
      assert.deepEqual(take().slice(-5), ['connect', 'answered 1', 'close', 'suspect 1', 'silent 1']);
      await pass(2_400);
      assert.equal(await called, 2);
    }));

  it('counts how often in a row the host shows the key of another, as far apart as looks at its slice are', () =>
    run(async () => {
      const wrong = (): HostKeyMismatch => new HostKeyMismatch('another key');
      const called = callerThrough(wrong(), wrong(), away(), wrong()).on(TARGET, async () => 7);
      await settled();
      assert.deepEqual(take(), ['connect', 'key 1 1 another key']);
      await pass(4_999);
      assert.deepEqual(take(), []);
      await pass(1);
      assert.deepEqual(take(), ['connect', 'key 1 2 another key']);
      await pass(5_000);
      assert.deepEqual(take(), ['connect', 'suspect 1', 'silent 1']);
      await pass(10_000);
      assert.deepEqual(take(), ['connect', 'key 1 1 another key']);
      await pass(5_000);
      assert.equal(await called, 7);
    }));

  it('is refused for good where nothing vouches for the key of the host', () =>
    run(async () => {
      const called = callerThrough(new HostKeyUnverified('no key')).on(TARGET, async () => 7);
      await assert.rejects(called, { type: 'Refused', nonRetryable: true, message: 'no key' });
    }));

  it('ends with the attempt, by what ended that', () =>
    run(async () => {
      const called = callerThrough(away(), away()).on(TARGET, async () => 7);
      const rejected = assert.rejects(called, /handed over/);
      await settled();
      abort.abort(new Error('handed over'));
      await rejected;
      await assert.rejects(
        callerThrough(new TypeError('a bug')).on(TARGET, async () => 7),
        /handed over/,
      );
    }));

  it('is made to each host every hour so that none ends its command, once at a time, until the attempt is over', () =>
    run(async () => {
      const words: number[] = [];
      const hosts = new Map(hostsOf(input('all', { slices: [slice(0, 's0')] })).map((each) => [each, undefined]));
      const attending = attend(
        {} as JobSpec,
        hosts,
        ({ number }) => {
          words.push(number);
          return number === 0 ? new Promise(() => undefined) : Promise.reject(away());
        },
        abort.signal,
      );
      await pass(3_599_999);
      assert.deepEqual(words, []);
      await pass(1);
      assert.deepEqual(words, [0, 1]);
      await pass(3_600_000);
      assert.deepEqual(words, [0, 1, 1], 'host 0 has its first word still under way');
      abort.abort();
      await attending;
      assert.equal(words.length, 3);
      await attend(
        { maxUnattended: 'never' } as JobSpec,
        hosts,
        () => assert.fail('no word is waited for'),
        abort.signal,
      );
    }));
});

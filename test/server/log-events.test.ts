import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { mock } from 'node:test';
import { PassThrough } from 'node:stream';
import { JobLogReader } from '../../client/job-logs.js';
import type { JobRow } from '../../client/job-rows.js';
import type { LogSelection, LogSink } from '../../client/log-follower.js';
import { logChunkObject, logPrefix, lostTailObject } from '../../domain/store-layout.js';
import { LogEvents, HostLines } from '../../server/routes/logs.js';
import { LogFeeds } from '../../server/log-feeds.js';
import { MapStore } from '../cli/map-store.js';

const START = { attempt: 1, given: new Map<number, number>() };
const STRETCH = { attempt: 1, host: 0, bytes: Buffer.alloc(64 * 1024), storedAt: 1 };

describe('events of a log, and a client that is slow', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval', 'setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const open = (stop = new AbortController()) => {
    const response = new PassThrough();
    return { response, stop, events: new LogEvents(response as unknown as ServerResponse, START, stop.signal) };
  };

  it('a silent log has a heartbeat each 15 s, and one that nobody takes has none', async () => {
    const { response, events } = open();
    mock.timers.tick(15_000);
    assert.equal(String(response.read()), ': \n\n');
    void events.stretch(STRETCH);
    const waiting = response.writableLength + response.readableLength;
    mock.timers.tick(3_600_000);
    assert.equal(response.writableLength + response.readableLength, waiting);
    response.resume();
    events.close();
    mock.timers.tick(60_000);
    assert.equal(response.writableEnded, true);
  });

  it('a stretch that waits for the client ends when the log is stopped, and none is sent after it', async () => {
    const { response, stop, events } = open();
    const waiting = events.stretch(STRETCH);
    stop.abort(new Error('no more'));
    await waiting;
    const size = response.writableLength + response.readableLength;
    await assert.rejects(events.stretch(STRETCH), /no more/);
    await assert.rejects(events.attemptEnd(1), /no more/);
    assert.equal(response.writableLength + response.readableLength, size);
  });

  it('last words are not waited for, and a client that does not take them in 30 s is cut off', () => {
    const { response, stop, events } = open();
    void events.stretch(STRETCH);
    stop.abort();
    void events.problem({
      type: 'about:blank',
      title: '',
      status: 401,
      code: 'unauthenticated',
      detail: '',
      requestId: '',
    });
    events.close();
    mock.timers.tick(29_000);
    assert.equal(response.destroyed, false);
    mock.timers.tick(1_000);
    assert.equal(response.destroyed, true);
  });
});

describe('a log into whose bucket somebody writes beside the workers', () => {
  const JOB = 'theirs';
  const PREFIX = logPrefix(JOB, 1, 'command');
  const store = new MapStore();
  const put = (host: number, offset: number): void => store.put(logChunkObject(PREFIX, String(host), offset), 'x');
  before(() => {
    for (let host = 0; host < 2; host++) for (let offset = 0; offset < 30; offset++) put(host, offset);
    for (let made = 100; made < 2_100; made++) put(made * 7, 0);
    store.put(lostTailObject(PREFIX, '7000', 1), 'lost');
  });

  const seen = async (selection: Partial<LogSelection>): Promise<readonly (readonly [number, number])[]> => {
    const row = { phase: 'succeeded', attempts: 1, endedAt: 2, chips: 4 } as JobRow;
    const feeds = new LogFeeds({ row: async () => row }, store, { perSubject: 1, changed: () => undefined });
    const given = new Map<number, number>();
    const sink: LogSink = {
      stretch: async ({ host, bytes }) => void given.set(host, (given.get(host) ?? 0) + bytes.length),
      attemptEnd: async () => undefined,
    };
    const all = { job: JOB, stream: 'command', firstAttempt: 1, ...selection };
    await feeds.follow('zoe', all, sink, new AbortController().signal);
    return [...given].toSorted(([a], [b]) => a - b);
  };

  it('hosts that the job cannot have are not followed: each would stand in every event', async () => {
    assert.deepEqual(await seen({}), [
      [0, 30],
      [1, 30],
    ]);
  });

  it('nor where the client names them', async () => {
    assert.deepEqual(await seen({ hosts: [1, 700, 7000] }), [[1, 30]]);
  });

  it('nor in later looks of a long log, where the next host of the job stands behind them', async () => {
    const reader = new JobLogReader(store, JOB, { attempt: 1, stream: 'command', mostHosts: 4 });
    const hosts = async (): Promise<readonly number[]> => {
      const found: number[] = [];
      for await (const { host } of reader.unread()) found.push(host);
      return found;
    };
    assert.equal((await hosts()).length, 60);
    put(3, 0);
    assert.deepEqual(await hosts(), [3]);
  });
});

describe('lines of several hosts as text', () => {
  it('a line without an end is given in pieces: what waits for an end is looked at again with each', () => {
    const lines = new HostLines();
    const stretch = { attempt: 1, host: 3, storedAt: 1, bytes: Buffer.alloc(50_000, 'x') };
    assert.deepEqual([lines.push(stretch), lines.push(stretch)], ['', `3 | ${'x'.repeat(100_000)}\n`]);
    assert.deepEqual([lines.push(stretch), lines.rest()], ['', `3 | ${'x'.repeat(50_000)}\n`]);
  });
});

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { mock } from 'node:test';
import { PassThrough } from 'node:stream';
import { LogEvents } from '../../server/log-events.js';

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

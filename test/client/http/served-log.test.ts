import assert from 'node:assert/strict';
import { Forbidden, NotLoggedIn, TooManyRequests } from '../../../client/errors.js';
import { ServedLog } from '../../../client/http/served-log.js';
import type { LogSelection } from '../../../client/log-follower.js';
import { type Reply, ScriptedServer } from './scripted-server.js';

const bytes = (text: string): string => Buffer.from(text).toString('base64');
const event = (name: string, id: string, data: object): string =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const stretch = (id: string, host: number, offset: number, text: string, more: object = {}): string =>
  event('stretch', id, { attempt: 1, host, offset, storedAt: 1_795_500_000_000, bytes: bytes(text), ...more });
const END = event('end', '2;', { phase: 'succeeded' });

/** Of the wire alone: what a followed log may be cut by, and refused for. The server's part is in test/long/server. */
describe('a log that jobctl serve sends', function () {
  this.timeout(20_000);
  const server = new ScriptedServer();
  before(() => server.start());
  after(() => server.stop());
  beforeEach(() => server.forget());

  const asked = (): readonly { readonly url: string; readonly from: string; readonly token: string }[] =>
    server.seen.map(({ url, headers }) => ({
      url,
      from: String(headers['last-event-id']),
      token: String(headers.authorization).replace('Bearer ', ''),
    }));
  const sends =
    (...parts: readonly string[]): Reply =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(part);
      response.end();
    };
  /** Sends these, and breaks off. */
  const cuts =
    (...parts: readonly string[]): Reply =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(parts.join(''), () => response.socket?.destroy());
    };
  const refuses =
    (status: number, code: string): Reply =>
    (_, response) => {
      response.writeHead(status, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ title: 'x', status, code, detail: 'because', requestId: 'r' }));
    };

  async function follow(
    more: Partial<LogSelection> = {},
    { signal = new AbortController().signal, token = async (): Promise<string> => 'a.b.c' } = {},
  ): Promise<readonly string[]> {
    const given: string[] = [];
    const log = new ServedLog(
      { server: server.address, token },
      { job: 'j', stream: 'command', firstAttempt: 1, ...more },
      {
        stretch: async ({ attempt, host, bytes: some, isLostTail }) =>
          void given.push(`${attempt}/${host} ${some.toString()}${isLostTail === true ? ' (lost)' : ''}`),
        attemptEnd: async (attempt) => void given.push(`end of ${attempt}`),
      },
    );
    await log.run(signal);
    return given;
  }

  it('is refused where an event is of no host, or has no end', async () => {
    for (const host of ['\u001b[2J', -1, 1e300, null]) {
      server.replies = [sends(stretch('1;0:3', host as number, 0, 'abc'))];
      await assert.rejects(follow(), /sends a stretch of no host in a log/);
    }
    server.replies = [sends(event('attempt-end', '2;', { attempt: '1' }))];
    await assert.rejects(follow(), /sends the end of no attempt/);
    const piece = 'x'.repeat(1 << 20);
    server.replies = [
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: ');
        const send = (): void => void (response.destroyed || response.write(piece, () => setImmediate(send)));
        send();
      },
    ];
    await assert.rejects(follow(), /sends an event without an end in a log/);
  });

  it('is one request, whose events are given in their order until the log is complete', async () => {
    server.replies = [
      sends(
        stretch('1;0:3', 0, 0, 'abc'),
        ': \n\n',
        stretch('1;0:3', 1, 0, 'gone', { isLostTail: true }),
        event('attempt-end', '2;', { attempt: 1 }),
        END,
      ),
    ];
    assert.deepEqual(await follow({ hosts: [0, 1] }), ['1/0 abc', '1/1 gone (lost)', 'end of 1']);
    assert.deepEqual(asked(), [
      { url: '/v1/jobs/j/logs?follow=true&stream=command&host=0%2C1', from: '1;', token: 'a.b.c' },
    ]);
  });

  it('begins where a tail does', async () => {
    server.replies = [sends(END)];
    const starts = new Map([
      [0, { offset: 100, chunk: 50 }],
      [3, { offset: 7, chunk: 0 }],
    ]);
    await follow({ firstAttempt: 4, starts });
    assert.equal(asked()[0]?.from, '4;0:100,3:7');
  });

  it('goes on behind the last whole event after a cut, also one in the middle of an event', async () => {
    const second = stretch('1;0:6', 0, 3, 'def');
    server.replies = [
      cuts(stretch('1;0:3', 0, 0, 'abc'), second.slice(0, -20)),
      cuts(second),
      sends(stretch('1;0:9', 0, 6, 'ghi'), END),
    ];
    assert.deepEqual(await follow(), ['1/0 abc', '1/0 def', '1/0 ghi']);
    assert.deepEqual(
      asked().map(({ from }) => from),
      ['1;', '1;0:3', '1;0:6'],
    );
  });

  it('waits while the server is away or ends without the end of the log', async () => {
    server.replies = [refuses(503, 'unavailable'), sends(stretch('1;0:3', 0, 0, 'abc')), sends(END)];
    assert.deepEqual(await follow(), ['1/0 abc']);
    assert.equal(server.seen.length, 3);
  });

  it('is complete with the end of the attempt that was asked for, although a cut follows', async () => {
    server.replies = [cuts(event('attempt-end', '2;', { attempt: 1 }))];
    assert.deepEqual(await follow({ lastAttempt: 1 }), ['end of 1']);
    assert.equal(server.seen[0]?.url, '/v1/jobs/j/logs?follow=true&stream=command&attempt=1');
  });

  it('goes on with a new token where the old one has run out, and not without one', async () => {
    const expired = event('problem', '1;0:3', {
      code: 'unauthenticated',
      status: 401,
      detail: 'the token has expired',
    });
    const tokens = ['old', 'new'];
    server.replies = [sends(stretch('1;0:3', 0, 0, 'abc'), expired), sends(END)];
    assert.deepEqual(await follow({}, { token: async () => tokens.shift() ?? 'none' }), ['1/0 abc']);
    assert.deepEqual(
      asked().map(({ from, token }) => [from, token]),
      [
        ['1;', 'old'],
        ['1;0:3', 'new'],
      ],
    );
    server.replies = [sends(expired), refuses(401, 'unauthenticated')];
    await assert.rejects(follow(), NotLoggedIn);
  });

  it('ends where the right to read it does, and where too many are followed', async () => {
    server.replies = [sends(event('problem', '1;', { code: 'forbidden', status: 403, detail: 'no member any more' }))];
    await assert.rejects(follow(), (error) => error instanceof Forbidden && error.message.includes('no member'));
    server.replies = [refuses(429, 'too-many-requests')];
    await assert.rejects(follow(), TooManyRequests);
  });

  it('breaks the request off with its signal', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      server.replies = [
        (_, response, request) => {
          request.socket.once('close', () => resolve());
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(stretch('1;0:3', 0, 0, 'abc'), () => stop.abort());
        },
      ];
    });
    await follow({}, { signal: stop.signal });
    await closed;
    assert.equal(server.seen.length, 1);
  });
});

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Forbidden, NotLoggedIn, TooManyRequests } from '../../../client/errors.js';
import { ServedLog } from '../../../client/http/served-log.js';
import type { LogSelection } from '../../../client/log-follower.js';

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const bytes = (text: string): string => Buffer.from(text).toString('base64');
const event = (name: string, id: string, data: object): string =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const stretch = (id: string, host: number, offset: number, text: string, more: object = {}): string =>
  event('stretch', id, { attempt: 1, host, offset, storedAt: 1_795_500_000_000, bytes: bytes(text), ...more });
const END = event('end', '2;', { phase: 'succeeded' });

/** Of the wire alone: what a followed log may be cut by, and refused for. The server's part is in test/long/server. */
describe('a log that jobctl serve sends', function () {
  this.timeout(20_000);
  let server: Server;
  let address: string;
  let seen: { readonly url: string; readonly from: string; readonly token: string }[];
  let replies: Reply[];
  before(async () => {
    server = createServer((request, response) => {
      const { url = '', headers } = request;
      const from = String(headers['last-event-id']);
      seen.push({ url, from, token: String(headers.authorization).replace('Bearer ', '') });
      (replies.length > 1 ? replies.shift() : replies[0])?.(response, request);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    seen = [];
    replies = [];
  });

  const sends =
    (...parts: readonly string[]): Reply =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts) response.write(part);
      response.end();
    };
  /** Sends these, and breaks off. */
  const cuts =
    (...parts: readonly string[]): Reply =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(parts.join(''), () => response.socket?.destroy());
    };
  const refuses =
    (status: number, code: string): Reply =>
    (response) => {
      response.writeHead(status, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ title: 'x', status, code, detail: 'because', requestId: 'r' }));
    };

  async function follow(
    more: Partial<LogSelection> = {},
    { signal = new AbortController().signal, token = async (): Promise<string> => 'a.b.c' } = {},
  ): Promise<readonly string[]> {
    const given: string[] = [];
    const log = new ServedLog(
      { server: address, token },
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

  it('is one request, whose events are given in their order until the log is complete', async () => {
    replies = [
      sends(
        stretch('1;0:3', 0, 0, 'abc'),
        ': \n\n',
        stretch('1;0:3', 1, 0, 'gone', { isLostTail: true }),
        event('attempt-end', '2;', { attempt: 1 }),
        END,
      ),
    ];
    assert.deepEqual(await follow({ hosts: [0, 1] }), ['1/0 abc', '1/1 gone (lost)', 'end of 1']);
    assert.deepEqual(seen, [
      { url: '/v1/jobs/j/logs?follow=true&stream=command&host=0%2C1', from: '1;', token: 'a.b.c' },
    ]);
  });

  it('begins where a tail does', async () => {
    replies = [sends(END)];
    const starts = new Map([
      [0, { offset: 100, chunk: 50 }],
      [3, { offset: 7, chunk: 0 }],
    ]);
    await follow({ firstAttempt: 4, starts });
    assert.equal(seen[0]?.from, '4;0:100,3:7');
  });

  it('goes on behind the last whole event after a cut, also one in the middle of an event', async () => {
    const second = stretch('1;0:6', 0, 3, 'def');
    replies = [
      cuts(stretch('1;0:3', 0, 0, 'abc'), second.slice(0, -20)),
      cuts(second),
      sends(stretch('1;0:9', 0, 6, 'ghi'), END),
    ];
    assert.deepEqual(await follow(), ['1/0 abc', '1/0 def', '1/0 ghi']);
    assert.deepEqual(
      seen.map(({ from }) => from),
      ['1;', '1;0:3', '1;0:6'],
    );
  });

  it('waits while the server is away or ends without the end of the log', async () => {
    replies = [refuses(503, 'unavailable'), sends(stretch('1;0:3', 0, 0, 'abc')), sends(END)];
    assert.deepEqual(await follow(), ['1/0 abc']);
    assert.equal(seen.length, 3);
  });

  it('is complete with the end of the attempt that was asked for, although a cut follows', async () => {
    replies = [cuts(event('attempt-end', '2;', { attempt: 1 }))];
    assert.deepEqual(await follow({ lastAttempt: 1 }), ['end of 1']);
    assert.equal(seen[0]?.url, '/v1/jobs/j/logs?follow=true&stream=command&attempt=1');
  });

  it('goes on with a new token where the old one has run out, and not without one', async () => {
    const expired = event('problem', '1;0:3', {
      code: 'unauthenticated',
      status: 401,
      detail: 'the token has expired',
    });
    const tokens = ['old', 'new'];
    replies = [sends(stretch('1;0:3', 0, 0, 'abc'), expired), sends(END)];
    assert.deepEqual(await follow({}, { token: async () => tokens.shift() ?? 'none' }), ['1/0 abc']);
    assert.deepEqual(
      seen.map(({ from, token }) => [from, token]),
      [
        ['1;', 'old'],
        ['1;0:3', 'new'],
      ],
    );
    replies = [sends(expired), refuses(401, 'unauthenticated')];
    await assert.rejects(follow(), NotLoggedIn);
  });

  it('ends where the right to read it does, and where too many are followed', async () => {
    replies = [sends(event('problem', '1;', { code: 'forbidden', status: 403, detail: 'no member any more' }))];
    await assert.rejects(follow(), (error) => error instanceof Forbidden && error.message.includes('no member'));
    replies = [refuses(429, 'too-many-requests')];
    await assert.rejects(follow(), TooManyRequests);
  });

  it('breaks the request off with its signal', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      replies = [
        (response, request) => {
          request.socket.once('close', () => resolve());
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(stretch('1;0:3', 0, 0, 'abc'), () => stop.abort());
        },
      ];
    });
    await follow({}, { signal: stop.signal });
    await closed;
    assert.equal(seen.length, 1);
  });
});

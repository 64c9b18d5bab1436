import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { ServedLog } from '../../client/http/served-log.js';
import { jobOwnerObject, logChunkObject, logPrefix } from '../../domain/store-layout.js';
import { until } from '../until.js';
import { eventsOf, type StreamEvent } from './event-stream.js';
import { GatedApp } from './gated-app.js';
import { QUOTA } from './server-stack.js';

const JOB = 'long-1';
const PATH = `/v1/jobs/${JOB}/logs?follow=true`;

describe('a followed log, and whoever may not read it any longer', function () {
  this.timeout(30_000);
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start({ limits: { followedLogs: 200 } });
    await app.addJob(JOB, 'alice@example.org', 'vision');
    await write(0, 'first\n');
  });
  after(() => app?.stop());

  const write = (offset: number, text: string) =>
    app.store.replace(logChunkObject(logPrefix(JOB, 1, 'command'), '0', offset), text, 'text/plain');
  const follow = async (
    token: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AsyncGenerator<StreamEvent>> => {
    const response = await fetch(`${app.urls[0]}${PATH}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    assert.equal(response.status, 200);
    return eventsOf(response);
  };
  const tokenOf = (name: string, lifetimeS = 3_600): Promise<string> =>
    app.issuer.token({ email: `${name}@example.org`, lifetimeS });
  const next = async (events: AsyncGenerator<StreamEvent>): Promise<StreamEvent> =>
    ((await events.next()) as IteratorYieldResult<StreamEvent>).value ?? assert.fail('the stream has ended');
  const textOf = ({ data }: StreamEvent): string => Buffer.from(String(data['bytes']), 'base64').toString();
  const followers = async (): Promise<string> =>
    /^jobctl_http_followed_logs (\d+)$/m.exec(await (await fetch(`${app.urls[0]}/metrics`)).text())?.[1] ?? '';

  it('ends for a member who was taken out with `problem`, in the audit log once, and nothing comes after it', async () => {
    const [bob, alice] = [await follow(await tokenOf('bob')), await follow(await tokenOf('alice'))];
    for (const events of [bob, alice]) assert.equal(textOf(await next(events)), 'first\n');
    const ending = next(bob);
    app.editQuota((text) => text.replace('"bob@example.org", ', ''));
    const { name, data } = await ending;
    assert.deepEqual([name, data['code'], data['status']], ['problem', 'forbidden', 403]);
    assert.match(
      String(data['detail']),
      /^job long-1 of alice@example\.org: bob@example\.org may not read the logs; allowed: /,
    );
    await write(6, 'second\n');
    assert.equal((await bob.next()).done, true);
    assert.equal(textOf(await next(alice)), 'second\n', 'hers goes on');
    await alice.return(undefined);
    const lines = (await app.lines()).filter(
      ({ subject, decision }) => subject === 'bob@example.org' && decision === 'refused',
    );
    assert.deepEqual(
      lines.map(({ verb, job, requestId }) => [verb, job, requestId]),
      [['logs', JOB, data['requestId']]],
    );
    assert.equal((await app.call('bob', 'GET', PATH)).status, 403);
    app.editQuota(() => QUOTA);
  });

  it('ends with the token, and goes on with a new one where it was', async () => {
    const events = await follow(await tokenOf('alice', 2));
    assert.equal(textOf(await next(events)) + textOf(await next(events)), 'first\nsecond\n');
    const ending = await next(events);
    assert.deepEqual([ending.name, ending.data['code'], ending.data['status']], ['problem', 'unauthenticated', 401]);
    assert.match(String(ending.data['detail']), /^the token has expired at 20/);
    assert.match(String(ending.data['remedy']), /jobctl login.*Last-Event-ID/);
    assert.equal((await events.next()).done, true);
    const again = await follow(await tokenOf('alice'), { 'last-event-id': ending.id });
    await write(13, 'third\n');
    assert.equal(textOf(await next(again)), 'third\n');
    await again.return(undefined);
  });

  it('by JobClient’s own follower goes on over the end of its token, with each byte once', async () => {
    const lifetimes = [2, 2, 3_600];
    const tokens: string[] = [];
    const given: string[] = [];
    const told = new EventEmitter();
    const sink = {
      stretch: async ({ bytes }: { readonly bytes: Buffer }) => {
        given.push(bytes.toString());
        told.emit('stretch');
      },
      attemptEnd: async () => undefined,
    };
    const token = async (): Promise<string> => {
      tokens.push(await tokenOf('alice', lifetimes[tokens.length]));
      return tokens.at(-1) ?? '';
    };
    const done = new AbortController();
    const log = new ServedLog(
      { server: app.urls[0] ?? '', token },
      { job: JOB, stream: 'command', firstAttempt: 1 },
      sink,
    );
    const running = log.run(done.signal).catch((error: unknown) => error);
    await until('the second token has ended', () => tokens.length === 3, 15_000);
    const last = once(told, 'stretch');
    await write(19, 'fourth\n');
    await last;
    done.abort();
    await running;
    assert.equal(given.join(''), 'first\nsecond\nthird\nfourth\n');
  });

  it('of many who follow, a job’s owner and a pool’s files are read once a look', async () => {
    const token = await tokenOf('alice');
    const streams = await Promise.all(Array.from({ length: 60 }, () => follow(token)));
    await Promise.all(streams.map(next));
    assert.equal(await followers(), '60');
    const reads = (): number => app.reads.get(jobOwnerObject(JOB)) ?? 0;
    const before = reads();
    await until('ten looks', () => reads() >= before + 10, 10_000);
    const from = performance.now();
    const counted = reads();
    await until('ten more', () => reads() >= counted + 10, 10_000);
    // One each 100 ms; of each follower they would be 600 in a second.
    assert.ok(performance.now() - from > 700, `ten looks in ${performance.now() - from} ms`);
    await Promise.all(streams.map((stream) => stream.return(undefined)));
    await until('nobody follows', async () => (await followers()) === '0');
    assert.equal(app.rights?.size, 0, 'and nothing is looked at for nobody');
  });

  it('ends for a client that takes nothing: no buffer and no follower is kept for it', async () => {
    await until('nobody follows', async () => (await followers()) === '0');
    await write(26, `${'x'.repeat(1023)}\n`.repeat(12 * 1024));
    const socket = connect(Number(new URL(app.urls[0] ?? '').port), '127.0.0.1').pause();
    await once(socket, 'connect');
    socket.write(
      `GET ${PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${await tokenOf('alice', 3)}\r\n\r\n`,
    );
    await until('it follows', async () => (await followers()) === '1');
    await until('it follows no more', async () => (await followers()) === '0', 10_000);
    socket.destroy();
  });
});

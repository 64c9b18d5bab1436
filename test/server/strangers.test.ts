import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { StoredObject, StoreReader } from '../../cloud/store/port.js';
import type { JobRow } from '../../client/job-rows.js';
import { LogFeeds, SharedReader } from '../../server/log-feeds.js';
import { mayReadMetrics, refuseClearText } from '../../server/request-guards.js';
import { ApiError } from '../../server/problem.js';
import { SubmissionSigner } from '../../server/services.js';

const from = (remoteAddress: string, headers: object = {}, isOpen?: true): FastifyRequest =>
  ({ raw: { socket: { remoteAddress } }, headers, routeOptions: { config: { isOpen } } }) as unknown as FastifyRequest;

describe('what strangers are told and let in by', () => {
  const clear = refuseClearText({ listen: { trustProxies: ['10.1.0.0/16', 'fd00::/8', '192.0.2.7'] } as never });
  const PEERS: Record<string, [request: FastifyRequest, isLetIn: boolean]> = {
    'this computer': [from('127.0.0.1'), true],
    'this computer, by IPv6': [from('::ffff:127.0.0.1'), true],
    'a proxy of a network': [from('10.1.2.3'), true],
    'a proxy by its address': [from('::ffff:192.0.2.7'), true],
    'a proxy of an IPv6 network': [from('fd12::1'), true],
    'a neighbour of the proxies': [from('10.2.0.1'), false],
    'a stranger who says that a proxy sent it': [from('203.0.113.5', { 'x-forwarded-for': '10.1.2.3' }), false],
    'a probe of an open route': [from('203.0.113.5', {}, true), true],
  };
  for (const [who, [request, isLetIn]] of Object.entries(PEERS))
    it(`in the clear ${isLetIn ? 'lets in' : 'refuses'} ${who}`, async () => {
      const asked = clear(request);
      await (isLetIn
        ? asked
        : assert.rejects(asked, (error) => error instanceof ApiError && error.code === 'forbidden'));
    });

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const METRICS: Record<string, [request: FastifyRequest, isTold: boolean]> = {
    'this computer': [from('127.0.0.1'), true],
    'a call that a proxy on this computer passes on': [from('127.0.0.1', { 'x-forwarded-for': '203.0.113.5' }), false],
    'a stranger': [from('203.0.113.5'), false],
    'a stranger with the token': [from('203.0.113.5', bearer('secret')), true],
    'a stranger with another token': [from('203.0.113.5', bearer('other')), false],
  };
  for (const [who, [request, isTold]] of Object.entries(METRICS))
    it(`metrics are ${isTold ? 'told' : 'not told'} to ${who}`, () =>
      assert.equal(mayReadMetrics(request, 'secret'), isTold));

  it('ids of an idempotency key are equal for replicas of one key, and nobody can make them without it', () => {
    const key = generateKeyPairSync('ed25519').privateKey;
    const [one, same] = [new SubmissionSigner('a', key), new SubmissionSigner('b', key)];
    const other = new SubmissionSigner('a', generateKeyPairSync('ed25519').privateKey);
    assert.deepEqual(one.secretDigest('alice\0k'), same.secretDigest('alice\0k'));
    assert.notDeepEqual(one.secretDigest('alice\0k'), other.secretDigest('alice\0k'));
    assert.notDeepEqual(one.secretDigest('alice\0k'), one.secretDigest('bob\0k'));
  });

  it('the log of the next job of an id is not that of the one before', async () => {
    let [generation, content, reads] = ['1', 'first', 0];
    const store = {
      bucket: 'b',
      list: async () => [{ name: 'jobs/train/log', generation } as StoredObject],
      read: async () => {
        reads += 1;
        return Buffer.from(content);
      },
    } as unknown as StoreReader;
    const reader = new SharedReader(store);
    const read = async (prefix: string): Promise<string> => {
      await reader.list(prefix);
      return String(await reader.read('jobs/train/log', { start: 0, end: 6 }));
    };
    assert.deepEqual([await read('jobs/train/'), await read('jobs/train/')], ['first', 'first']);
    assert.equal(reads, 1, 'of one generation');
    [generation, content] = ['2', 'second'];
    assert.equal(await read('jobs/train'), 'second');
  });

  it('a position in a log names at most the hosts of its job', async () => {
    const row = { id: 'a', phase: 'running', chips: 4 } as JobRow;
    const feeds = new LogFeeds({ row: async () => row }, {} as StoreReader, {
      perSubject: 5,
      changed: () => undefined,
    });
    const starts = new Map(Array.from({ length: 5 }, (_, host) => [host, { offset: 0, chunk: 0 }]));
    const selection = { job: 'a', stream: 'command', firstAttempt: 1, starts };
    await assert.rejects(
      feeds.follow('mallory', selection, {} as never, new AbortController().signal),
      /names 5 hosts, and the job has 4 at most/,
    );
  });
});

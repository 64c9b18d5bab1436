import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';

type Answer = { status?: number; body: unknown };

/** A REST server on loopback that answers by kind and page token, for as long as `use` runs. */
async function withServer(
  answer: (kind: string, pageToken: string, request: IncomingMessage) => Answer,
  use: (restEndpoint: string) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const kind = url.pathname.replace('/v2/projects/p/locations/-/', '');
    const { status = 200, body } = answer(kind, url.searchParams.get('pageToken') ?? '', request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const path = (kind: string, name: string): string => `projects/p/locations/z/${kind}/${name}`;

describe('the audit', () => {
  it('joins the pages of both kinds', async () => {
    const pages: Record<string, object> = {
      'nodes ': { nodes: [{ name: path('nodes', 'a'), state: 'READY' }], nextPageToken: 't1' },
      'nodes t1': { nodes: [{ name: path('nodes', 'b'), state: 'PREEMPTED' }] },
      'queuedResources ': { queuedResources: [], nextPageToken: 't2' },
      'queuedResources t2': { queuedResources: [{ name: path('queuedResources', 'a'), state: { state: 'ACTIVE' } }] },
    };
    await withServer(
      (kind, token) => ({ body: pages[`${kind} ${token}`] }),
      async (restEndpoint) => {
        const found = await listEverything({ restEndpoint, googleProject: 'p' });
        const seen = found.map(({ kind, zone, name, state }) => [kind, zone, name, state].join(' ')).sort();
        assert.deepEqual(seen, ['node z a READY', 'node z b PREEMPTED', 'queued-resource z a ACTIVE']);
      },
    );
  });

  it('counts chips by type and by topology, and says nothing where it does not know', async () => {
    const nodes = [
      { acceleratorType: 'v4-16' },
      { acceleratorConfig: { type: 'V4', topology: '2x2x4' } },
      { acceleratorType: 'v99-8' },
      {},
    ];
    await withServer(
      (kind) => ({ body: kind === 'nodes' ? { nodes } : {} }),
      async (restEndpoint) => {
        const found = await listEverything({ restEndpoint, googleProject: 'p' });
        assert.deepEqual(
          found.map(({ chips }) => chips),
          [8, 16, undefined, undefined],
        );
      },
    );
  });

  it('does not take a part for the whole when a zone cannot be reached', async () => {
    await withServer(
      (kind) => ({ body: kind === 'nodes' ? { unreachable: ['projects/p/locations/z9'] } : {} }),
      async (restEndpoint) => {
        const audit = listEverything({ restEndpoint, googleProject: 'p' });
        await assert.rejects(audit, { name: 'CloudUnavailable', message: /locations\/z9 could not be read/ });
      },
    );
  });

  it('names each part that it could not read, and tells all of the others', async () => {
    const node = { name: path('nodes', 'a'), state: 'READY' };
    const cases: Record<string, [Record<string, Answer>, string[], string[]]> = {
      'a zone': [
        { nodes: { body: { nodes: [node], unreachable: ['projects/p/locations/z9'] } } },
        ['a'],
        ['nodes in z9'],
      ],
      'a kind': [
        { queuedResources: { status: 403, body: {} }, nodes: { body: { nodes: [node] } } },
        ['a'],
        ['queuedResources'],
      ],
      'a later page': [
        { 'nodes t1': { status: 503, body: {} }, nodes: { body: { nodes: [node], nextPageToken: 't1' } } },
        ['a'],
        ['nodes'],
      ],
      everything: [
        { queuedResources: { status: 403, body: {} }, nodes: { status: 403, body: {} } },
        [],
        ['nodes', 'queuedResources'],
      ],
    };
    for (const [name, [answers, wantFound, wantUnread]] of Object.entries(cases))
      await withServer(
        (kind, token) => answers[`${kind} ${token}`.trim()] ?? { body: {} },
        async (restEndpoint) => {
          const unread: string[] = [];
          const found = await listEverything({ restEndpoint, googleProject: 'p' }, (part) => void unread.push(part));
          assert.deepEqual([found.map((each) => each.name), unread.toSorted()], [wantFound, wantUnread], name);
        },
      );
  });

  it('sends the token that it was given, and none of its own over http', async () => {
    const seen: (string | undefined)[] = [];
    await withServer(
      (_kind, _token, request) => {
        seen.push(request.headers.authorization);
        return { body: {} };
      },
      async (restEndpoint) => {
        await listEverything({ restEndpoint, googleProject: 'p' });
        await listEverything({ restEndpoint, googleProject: 'p', token: 'abc' });
      },
    );
    assert.deepEqual(seen, [undefined, undefined, 'Bearer abc', 'Bearer abc']);
  });

  const failures: Record<number, string> = {
    403: 'CloudRefused',
    404: 'CloudRefused',
    429: 'CloudUnavailable',
    503: 'CloudUnavailable',
  };
  for (const [status, name] of Object.entries(failures)) {
    it(`HTTP ${status} is ${name}`, async () => {
      await withServer(
        () => ({ status: Number(status), body: { error: { message: 'why' } } }),
        async (restEndpoint) => {
          const audit = listEverything({ restEndpoint, googleProject: 'p' });
          await assert.rejects(audit, (error: Error) => error.name === name && /why/.test(error.message));
        },
      );
    });
  }

  it('an API that is not there is unavailable, with the reason', async () => {
    const audit = listEverything({ restEndpoint: 'http://127.0.0.1:1', googleProject: 'p' });
    await assert.rejects(
      audit,
      (error: Error) => error.name === 'CloudUnavailable' && /fetch failed: ./.test(error.message),
    );
  });
});

import assert from 'node:assert/strict';
import { type LoginServer, startLoginServer } from '../login/login-server.js';
import { CLIENT_ID, TestIssuer } from './issuer.js';

/** What `JSON.parse` reads and `JSON.stringify` cannot write again: with it, one call was a fault of the server. */
const nested = (levels: number): Readonly<Record<string, string>> => ({
  lists: `${'['.repeat(levels)}${']'.repeat(levels)}`,
  objects: `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
});
const ROUTES: Readonly<Record<string, (value: string) => string>> = {
  'POST /v1/jobs': (value) => `{"job":${value}}`,
  'POST /v1/jobs/x/restart': (value) => `{"set":[{"path":["env"],"value":${value}}]}`,
  'POST /v1/jobs/x/cancel': (value) => value,
};

describe('bodies that are nested deeply', () => {
  let issuer: TestIssuer;
  let server: LoginServer;
  let token: string;
  before(async () => {
    issuer = await TestIssuer.start();
    server = await startLoginServer(issuer.url, CLIENT_ID, []);
    token = await issuer.token({ email: 'alice@example.org' });
  });
  after(async () => {
    await server?.stop();
    await issuer?.stop();
  });

  const answerTo = async (route: string, body: string): Promise<{ status: number; detail: string }> => {
    const [method = '', path = ''] = route.split(' ');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await (await fetch(`${server.url}${path}`, { method, headers, body })).json()) as never;
  };

  for (const [route, bodyOf] of Object.entries(ROUTES))
    for (const [what, value] of Object.entries(nested(200_000)))
      it(`${route}: ${what} are refused, and are no fault of the server`, async () => {
        const { status, detail } = await answerTo(route, bodyOf(value));
        assert.deepEqual(
          [status, detail],
          [422, 'the body: its objects and lists lie more than 50 levels deep in one another'],
        );
      });

  it('what a job file may have goes on to the rules of job files', async () => {
    const { lists = '' } = nested(35);
    const { status, detail } = await answerTo('POST /v1/jobs', `{"job":{"env":{"X":${lists}}}}`);
    assert.equal(status, 422);
    assert.match(detail, /^env\.X\[0\].*lie more than 30 levels deep/);
  });
});

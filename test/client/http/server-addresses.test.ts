import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { JobInvalid } from '../../../client/errors.js';
import type { ServerCalls } from '../../../client/http/server-calls.js';
import { addressProblem } from '../../../client/http/server-options.js';
import { uploadOverHttp } from '../../../client/http/uploads.js';

const REMOTE = 'https://jobs.example.com';

describe('an address that a server names', () => {
  let port: Server;
  let connections = 0;
  beforeEach(async () => {
    connections = 0;
    port = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => port.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => void port.close());

  /** What the upload of a file comes to; `through`: the words with which it went through the server. */
  async function uploadTo(url: string, address: string): Promise<string> {
    const file = { path: 'a', object: 'x', state: 'wanted', url, upload: '0'.repeat(32) };
    const calls = {
      address,
      json: async () => ({ files: [file] }),
      send: async (_: string, { meanings }: { readonly meanings: Record<string, (detail: string) => Error> }) => {
        throw meanings['too-large']?.('through') ?? new Error('no meaning');
      },
    } as unknown as ServerCalls;
    return uploadOverHttp(calls, { a: Buffer.from('a') }).then(
      () => assert.fail('it was sent'),
      (error: unknown) => `${error instanceof JobInvalid ? 'through: ' : ''}${(error as Error).message}`,
    );
  }
  const here = (scheme: string, host = '127.0.0.1'): string =>
    `${scheme}://${host}:${(port.address() as AddressInfo).port}/x`;

  for (const scheme of ['http', 'https'])
    for (const host of ['127.0.0.1', 'localhost', '127.1'])
      it(`gets nothing sent to ${scheme}://${host} from a server on another computer`, async () => {
        assert.match(await uploadTo(here(scheme, host), REMOTE), /is on this computer, and jobs\.example\.com is not/);
        assert.equal(connections, 0);
      });

  it('on this computer is sent to for a server on this computer', async () => {
    assert.match(
      await uploadTo(here('http'), 'http://127.0.0.1:9'),
      /through: a: the store cannot be reached from here/,
    );
    assert.ok(connections > 0);
  });

  it("that is not Cloud Storage's is not asked: the file goes through the server", async () => {
    for (const host of ['printer.example', 'googleapis.com.evil.example', 'xgoogleapis.com', '10.0.0.1'])
      assert.match(await uploadTo(`https://${host}/x`, REMOTE), /^through: .* is not Cloud Storage, and is not asked/);
  });

  it('is no issuer on this computer, unless the server is there too', () => {
    assert.match(addressProblem('http://127.0.0.1:8080', new URL(REMOTE)) ?? '', /is on this computer/);
    assert.equal(addressProblem('http://127.0.0.1:8080', new URL('http://localhost:1')), undefined);
    assert.equal(addressProblem('https://accounts.google.com', new URL(REMOTE)), undefined);
  });
});

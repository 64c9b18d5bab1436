import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import pino from 'pino';
import { type App, bareApp } from '../../server/bare-app.js';
import { problemSchema } from '../../contract/api/failures.js';

/** By what is sent: the status, and what the problem says. A client of any library reads it as it reads every other failure. */
const SENT: Readonly<Record<string, readonly [bytes: string, status: number, detail: RegExp]>> = {
  'a query of 200 kB': [`GET /x?a=${'b'.repeat(200_000)} HTTP/1.1\r\n`, 431, /too long/],
  'a query of 8 MB': [`GET /x?a=${'b'.repeat(8_000_000)} HTTP/1.1\r\n`, 431, /too long/],
  'headers of 200 kB': [`GET /x HTTP/1.1\r\nHost: h\r\nA: ${'b'.repeat(200_000)}\r\n`, 431, /too long/],
  'no HTTP': ['hello\r\n\r\n', 400, /no HTTP request/],
  'a header without a name': ['GET /x HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n', 400, /no HTTP request/],
  'two lengths of one body': [
    'POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
    /no HTTP request/,
  ],
};

describe('what never becomes a request', () => {
  let app: App;
  let port: number;
  before(async () => {
    const listen = { host: '127.0.0.1', port: 0, trustProxies: [] };
    app = bareApp({ listen, limits: { bodyBytes: 1_000 } } as never, pino({ level: 'silent' }));
    app.get('/x', async () => 'ok');
    port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
  });
  after(() => app?.close());

  async function answerTo(bytes: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    // Where the server has closed while bytes are still on their way.
    socket.on('error', () => undefined);
    socket.write(bytes);
    await once(socket, 'close');
    return answer;
  }

  for (const [name, [bytes, status, detail]] of Object.entries(SENT))
    it(`${name} is answered by a problem, as the document says of every failure`, async () => {
      const [head = '', body = ''] = (await answerTo(bytes)).split('\r\n\r\n');
      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(head, /\r\nContent-Type: application\/problem\+json/);
      const problem = problemSchema.parse(JSON.parse(body));
      assert.equal(problem.status, status);
      assert.match(problem.detail, detail);
    });

  it('and the server answers the next one', async () => {
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/x`)).text(), 'ok');
  });
});

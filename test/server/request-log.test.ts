import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import pino from 'pino';
import { bareApp } from '../../server/bare-app.js';
import type { ServerConfig } from '../../server/config.js';

describe("the server's own log", () => {
  it('never has the query of a request, in which the name of a secret may stand: answered, unknown or malformed', async () => {
    const lines: string[] = [];
    const into = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString());
        done();
      },
    });
    const config = { listen: { trustProxies: [] }, limits: { bodyBytes: 1_000 } } as unknown as ServerConfig;
    const app = bareApp(config, pino({ level: 'trace' }, into));
    app.get('/there', async () => 'yes');
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.listeningOrigin;
    const answers = await Promise.all(
      ['there', 'nowhere', '%zz'].map((path) => fetch(`${address}/${path}?secret=vision--wandb`)),
    );
    await app.close();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 404, 400],
    );
    assert.doesNotMatch(lines.join(''), /vision--wandb/);
  });
});

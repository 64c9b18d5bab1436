import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerText } from '../../cloud/exchange.js';

describe('an answer of a provider', () => {
  let endless: Server;
  let sent = 0;
  before(async () => {
    endless = createServer((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x'))) sent += 65_536;
        response.once('drain', more);
      };
      more();
    });
    await new Promise<void>((resolve) => void endless.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    endless.closeAllConnections();
    endless.close();
  });
  const url = (): string => `http://127.0.0.1:${(endless.address() as AddressInfo).port}/`;

  it('without an end is given up at its bound, and its connection is closed', async () => {
    const response = await fetch(url());
    await assert.rejects(answerText(response.body, 1_000_000), /^Error: the answer is longer than 1000000 bytes$/);
    // What two sockets hold beside it.
    assert.ok(sent < 100_000_000, `${sent} bytes were sent`);
  });

  it('within it is whole, in UTF-8 over pieces', async () => {
    const bytes = Buffer.from('{"zone":"é"}');
    async function* pieces(): AsyncGenerator<Buffer> {
      for (const byte of bytes) yield Buffer.of(byte);
    }
    assert.equal(await answerText(pieces()), '{"zone":"é"}');
    assert.equal(await answerText(null), '');
  });

  it('is never read in another way: no module of cloud/ collects one without a bound', () => {
    const files = readdirSync('cloud', { encoding: 'utf8', recursive: true }).filter((name) => name.endsWith('.ts'));
    const reading = files.filter((name) =>
      /\bresponse\.(text|json|arrayBuffer|blob)\(\)/.test(readFileSync(join('cloud', name), 'utf8')),
    );
    assert.ok(files.length > 100);
    assert.deepEqual(reading, []);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { explainError } from '../../cli/terminal/explain-error.js';
import { connectTemporal } from '../../client/connect.js';
import { JobNotFound, NoWorkerAnswers, TemporalUnreachable } from '../../client/errors.js';

describe('the API key of a connection to Temporal', function () {
  this.timeout(30_000);
  const VARIABLES = { TEMPORAL_TLS: 'false', TEMPORAL_NAMESPACE: 'ml' };
  const before = { ...process.env };
  afterEach(() => {
    for (const name of [...Object.keys(VARIABLES), 'TEMPORAL_API_KEY'])
      if (before[name] === undefined) delete process.env[name];
  });

  /** What is sent as `authorization` by the first call, which is refused. */
  async function sent(): Promise<unknown> {
    const server = createServer();
    const heard = new Promise((resolve) =>
      server.on('stream', (stream, headers) => {
        resolve(headers['authorization']);
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16' },
          { endStream: true },
        );
      }),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connecting = connectTemporal({ address, connection: { tls: false, apiKey: () => 'of-a-file' } });
    const [key] = await Promise.all([heard, connecting.then(({ close }) => close()).catch(() => undefined)]);
    server.close();
    return key;
  }

  it('of a file is sent, whatever else Temporal’s variables say', async () => {
    assert.equal(await sent(), 'Bearer of-a-file');
    Object.assign(process.env, VARIABLES);
    assert.equal(await sent(), 'Bearer of-a-file');
  });

  it('of Temporal’s own variables wins over it', async () => {
    Object.assign(process.env, { ...VARIABLES, TEMPORAL_API_KEY: 'of-a-variable' });
    assert.equal(await sent(), 'Bearer of-a-variable');
  });
});

it('where no worker answers, nobody is sent to look for Temporal', () => {
  const [no, yes] = [NoWorkerAnswers, TemporalUnreachable].map((Kind) => explainError(new Kind('x', 'remedy'), false));
  assert.deepEqual(no, { exitCode: 5, text: 'x\n  remedy' });
  assert.match(yes?.text ?? '', /^x\n {2}remedy\n {2}start one with `jobctl dev up`, or set TEMPORAL_ADDRESS/);
});

it('a pattern in the place of an id is told where it goes', () => {
  const { text } = explainError(new JobNotFound('sw-*', 'here'), false);
  assert.equal(text, "no job 'sw-*' here\n  a pattern goes behind --name: jobctl list --name 'sw-*'");
});

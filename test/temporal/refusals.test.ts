import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NativeConnection } from '@temporalio/worker';
import { generate } from 'selfsigned';
import { createNamespace, ensureSearchAttributes } from '../../client/namespace.js';
import { serverTooOld } from '../../domain/temporal-server.js';
import { connectWorker } from '../../worker/temporal-connection.js';
import type { WorkerConfig } from '../../worker/config.js';
import { jobctl } from '../cli/command-line.js';
import { freePort, TEMPORAL_START_MS, testServer, type TestServer } from '../temporal-server.js';
import { startTlsFront, type TlsFront } from './tls-front.js';

const DAY_MS = 86_400_000;
const DATETIME = 6;
const JOB = 'tpu: { accelerator: v5litepod-16, zone: us-central1-a }\ncommand: { run: echo hi }\n';

/** What a person sees who has one setting wrong: through the real process, over the wire. Exit code 5, nothing submitted. */
describe('a Temporal server that jobctl cannot use', function () {
  this.timeout(60_000);
  let folder: string;
  let server: TestServer;
  let front: TlsFront;
  let file: string;
  let own: string;
  let stranger: string;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await testServer();
    front = await startTlsFront(server.address);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-refusals-'));
    file = join(folder, 'job.yaml');
    writeFileSync(file, JOB);
    own = join(folder, 'own.pem');
    writeFileSync(own, front.certificate);
    stranger = join(folder, 'stranger.pem');
    writeFileSync(stranger, (await generate([{ name: 'commonName', value: 'stranger' }])).cert);
  });
  after(async () => {
    await front.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function submitWith(environment: Record<string, string>): Promise<string> {
    const { exitCode, stdout, stderr } = await jobctl(['submit', file, '--user', 'alice'], {
      HOME: folder,
      ...environment,
    });
    assert.deepEqual([exitCode, stdout], [5, ''], stderr);
    return stderr;
  }

  it('because the address is wrong', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const texts = await Promise.all([
      submitWith({ TEMPORAL_ADDRESS: address }),
      submitWith({ TEMPORAL_ADDRESS: 'no-such-computer.invalid:7233' }),
    ]);
    assert.match(
      texts[0],
      new RegExp(`^Temporal at ${address} cannot be reached: nothing listens there\n  is the address right`),
    );
    assert.match(
      texts[1],
      /^Temporal at no-such-computer\.invalid:7233 cannot be reached: no computer has the name no-such/,
    );
  });

  it('because one side speaks TLS and the other does not', async () => {
    const texts = await Promise.all([
      submitWith({ TEMPORAL_ADDRESS: front.address }),
      submitWith({ TEMPORAL_ADDRESS: server.address, TEMPORAL_TLS: 'true' }),
    ]);
    assert.match(texts[0], /the server speaks TLS, and this client does not\n  set TEMPORAL_TLS=true/);
    assert.match(texts[1], /this client speaks TLS, and the server does not\n  unset TEMPORAL_TLS/);
  });

  it('because its certificate is of another authority, or for another name', async () => {
    const tls = { TEMPORAL_ADDRESS: front.address, TEMPORAL_TLS: 'true' };
    const texts = await Promise.all([
      submitWith(tls),
      submitWith({ ...tls, TEMPORAL_TLS_SERVER_CA_CERT_PATH: stranger }),
      submitWith({ ...tls, TEMPORAL_ADDRESS: `127.0.0.1:${front.port}`, TEMPORAL_TLS_SERVER_CA_CERT_PATH: own }),
    ]);
    assert.match(
      texts[0],
      /certificate of the server is not trusted \(\w+\)\n  set TEMPORAL_TLS_SERVER_CA_CERT_PATH to/,
    );
    assert.match(
      texts[1],
      /certificate of the server is not trusted \(\w+\)\n  is TEMPORAL_TLS_SERVER_CA_CERT_PATH the/,
    );
    assert.match(texts[2], /for another name: .*\n  set TEMPORAL_TLS_SERVER_NAME/);
  });

  it('and with the right certificate it is used', async () => {
    const { exitCode, stderr } = await jobctl(['list'], {
      TEMPORAL_ADDRESS: front.address,
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: own,
    });
    assert.deepEqual([exitCode, stderr], [0, '']);
  });

  it('because a settings file is not there', async () => {
    const text = await submitWith({
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere/client.pem',
      TEMPORAL_TLS_CLIENT_KEY_PATH: '/nowhere/client.key',
    });
    assert.match(
      text,
      /^the settings of Temporal's client cannot be read: \/nowhere\/client\.pem: it does not exist\n  they are in TEMPORAL_\*/,
    );
  });

  it('because it has not the namespace', async () => {
    const text = await submitWith({ TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: 'nobody-made-it' });
    assert.equal(
      text,
      `Temporal at ${server.address}: namespace 'nobody-made-it' is not there\n` +
        '  set TEMPORAL_NAMESPACE (or --namespace) to one that is, or make it: jobctl setup server --namespace nobody-made-it\n',
    );
  });

  it('because search attributes are missing, or one has another type', async () => {
    const namespace = `refusals-${process.pid}`;
    await createNamespace(server.connection, namespace, DAY_MS);
    const where = { TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: namespace };
    assert.match(
      await submitWith(where),
      new RegExp(
        `^search attributes JobProject, .* of Temporal namespace ${namespace}: missing. Run jobctl setup server, or temporal`,
      ),
    );
    await server.connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { JobUser: DATETIME } });
    await ensureSearchAttributes(server.connection, namespace).catch(() => undefined);
    assert.match(
      await submitWith(where),
      /^search attribute JobUser of Temporal namespace \S+: it has type Datetime, jobctl needs Keyword\./,
    );
  });

  it('because it is too old', () => {
    assert.match(serverTooOld('1.20.4') ?? '', /has version 1\.20\.4, jobctl needs \d+\.\d+\.\d+ or newer: upgrade/);
    assert.match(serverTooOld('1.29.1', '1.29.2') ?? '', /1\.29\.1/);
    for (const version of ['1.29.1', 'v2.0.0', '1.30.0-rc.1', 'own-build', ''])
      assert.equal(serverTooOld(version), undefined);
  });

  it('says the same to a worker, which ends', async () => {
    const connect = (address: string): Promise<unknown> =>
      connectWorker({ temporal: { address } } as WorkerConfig).then(
        ({ connection }: { connection: NativeConnection }) => connection.close(),
      );
    await assert.rejects(
      connect(front.address),
      /the server speaks TLS, and this client does not\n  set TEMPORAL_TLS=true/,
    );
    await assert.rejects(connect(`127.0.0.1:${await freePort()}`), /nothing listens there\n  is the address right/);
  });
});

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { guardedPart } from '../../cli/local/dev/guarded-server/guarded-part.js';
import { serverLoginFiles, type ProcessRecord } from '../../cli/place/stack/stack-record.js';
import { stackHome } from '../../cli/terminal/home.js';
import { ensureRunning, type PartSlot, stopPart } from '../../cli/local/dev/part.js';
import { createNamespace, DEFAULT_RETENTION_MS, ensureSearchAttributes } from '../../client/namespace.js';
import { readLogin } from '../../cloud/temporal/login-files.js';
import { scratchFolder } from '../../rehearsal/test/scratch.js';
import type { WorkerConfig } from '../../worker/config.js';
import { connectWorker } from '../../worker/temporal-connection.js';
import { jobctl } from '../cli/command-line.js';
import { listeningOn } from '../security/listening.js';
import { callAsOther, needsOtherLogin } from '../security/other-login.js';
import { makeCall, NO_ANSWER, type RawCall } from '../security/raw-calls.js';
import { withToken } from '../security/rehearsal-attacks.js';
import { freePort } from '../temporal-server.js';
import { GO_BUILD_MS, temporalServerFolder } from './built-by-go.js';

const PERMISSION_DENIED = 7;
const DAY_S = 86_400;

/** The server of `dev up --cloud gcp` by itself; as a part of a stack: f04-login-node.test.ts. */
describe('F4: a Temporal server that asks who calls, beside another login', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('guarded-server');
  const home = stackHome({ JOBCTL_HOME: join(scratch.path, 'home') });
  const loginFiles = serverLoginFiles(home);
  let known: ProcessRecord | undefined;
  const slot: PartSlot = {
    logFile: join(scratch.path, 'server.log'),
    read: () => known,
    write: (record) => void (known = record),
  };
  let program: string;
  let address: string;
  const own = { title: 'Temporal server', stopGraceMs: 10_000 };

  const start = async (): Promise<void> => {
    const port = Number(address.split(':')[1]);
    const { part, settled } = guardedPart(home, port, async () => program, process.env);
    await ensureRunning({ ...own, ...part }, slot).finally(settled);
  };
  const connected = (): Promise<Connection> => Connection.connect({ address, ...readLogin(loginFiles) });
  const apiKey = (): string => readFileSync(loginFiles.apiKeyFile ?? '', 'utf8');
  const attack = (place: string, scheme: 'http' | 'https'): RawCall => {
    const workflowExecutionRetentionPeriod = { seconds: DAY_S as unknown as Long };
    const request = { namespace: 'evil', workflowExecutionRetentionPeriod };
    const bytes = proto.temporal.api.workflowservice.v1.RegisterNamespaceRequest.encode(request).finish();
    const url = `${scheme}://${place}/proto.temporal.api.workflowservice.v1.WorkflowService/RegisterNamespace`;
    return { name: `${scheme}://${place}`, wire: 'grpc', url, body: Buffer.from(bytes).toString('base64') };
  };

  before(async function () {
    this.timeout(GO_BUILD_MS);
    mkdirSync(home.root, { recursive: true, mode: 0o700 });
    program = join(await temporalServerFolder(), 'temporal-server');
    address = `127.0.0.1:${await freePort()}`;
    await start();
    const connection = await connected();
    await createNamespace(connection, 'default', DEFAULT_RETENTION_MS);
    await ensureSearchAttributes(connection, 'default');
    await connection.close();
  });
  after(async () => {
    await stopPart(own, slot);
    scratch.remove();
  });

  it('lets no other login in at any of its ports, in the clear, by TLS, or with a key that is forged', function () {
    needsOtherLogin(this);
    const open = listeningOn(known?.identity.pid ?? 0);
    assert.ok(open.includes(address) && open.length > 5, open.join(', '));
    const calls = open.flatMap((place) => [attack(place, 'https'), attack(place, 'http')]);
    // `none` as the algorithm, too.
    const forged = [`${apiKey()}x`, 'x', `eyJhbGciOiJub25lIn0.${apiKey().split('.')[1]}.`];
    const withKeys = forged.map((key) => withToken(attack(address, 'https'), key));
    for (const { name, status, text } of callAsOther([...calls, ...withKeys])) {
      const wanted = name === `https://${address}` ? PERMISSION_DENIED : NO_ANSWER;
      assert.equal(status, wanted, `${name}: ${text}`);
    }
  });

  it('takes the same call with the key of the state folder', async () => {
    const { status, text } = await makeCall(withToken(attack(address, 'https'), apiKey()));
    assert.deepEqual([status, text], [0, '']);
  });

  it('is reached by the command line through context.json, and by a worker through worker.json', async () => {
    const stack = {
      temporal: { address, namespace: 'default', uiUrl: null, ...loginFiles },
      cloud: {},
      googleProject: 'p',
    };
    const context = { ...stack, store: { bucket: 'b' }, ssh: { port: 22, privateKeyFile: '', publicKeyFile: '' } };
    writeFileSync(home.contextFile, JSON.stringify(context));
    const env = { HOME: scratch.path, JOBCTL_HOME: home.root, TEMPORAL_API_KEY: 'of another server' };
    const listed = await jobctl(['list', '--output', 'json'], env);
    assert.equal(listed.exitCode, 0, listed.stderr);
    const config = (more: object): WorkerConfig =>
      ({ temporal: { address, namespace: 'default', ...more } }) as WorkerConfig;
    const { connection } = await connectWorker(config(loginFiles));
    await connection.close();
    const wrong = join(scratch.path, 'wrong-key');
    writeFileSync(wrong, `${apiKey()}x`);
    await assert.rejects(connectWorker(config({ ...loginFiles, apiKeyFile: wrong })), /it does not let this client in/);
  });

  it('keeps its data over a start, and takes no key of the time before', async () => {
    const before = apiKey();
    process.kill(known?.identity.pid ?? 0, 'SIGKILL');
    await start();
    assert.notEqual(apiKey(), before);
    const stolen = await makeCall(withToken(attack(address, 'https'), before));
    assert.equal(stolen.status, PERMISSION_DENIED, stolen.text);
    const connection = await connected();
    const { namespaces } = await connection.workflowService.listNamespaces({});
    await connection.close();
    assert.ok(namespaces.some(({ namespaceInfo }) => namespaceInfo?.name === 'evil'));
  });
});

type Request = proto.temporal.api.workflowservice.v1.IRegisterNamespaceRequest;
type Long = NonNullable<NonNullable<Request['workflowExecutionRetentionPeriod']>['seconds']>;

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import type { StackRecord } from '../../cli/place/stack/stack-record.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { SSH_PORT } from '../../rehearsal/test/cloud-under-test.js';
import { Command } from '../doctor/command.js';
import { listeningOn } from '../security/listening.js';
import { callAsOther, needsOtherLogin, runAsOther } from '../security/other-login.js';
import { makeCall, NO_ANSWER, type RawCall } from '../security/raw-calls.js';
import { withToken } from '../security/rehearsal-attacks.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { GO_BUILD_MS, temporalServerFolder } from './built-by-go.js';

const PROJECT = 'my-project';
const JOB = 'tpu: { accelerator: v5litepod-8, zone: us-central1-a, allocation_mode: tpu-vm }\n';
const PERMISSION_DENIED = 7;
const ALREADY_EXISTS = 6;

/** A stack that holds somebody's Google login, on a computer with several logins; the rehearsal stands in Google's place. */
describe('F4: dev up --cloud gcp on a login node', function () {
  this.timeout(TEMPORAL_START_MS);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-login-node-'));
  const real = ['--cloud', 'gcp', '--google-project', PROJECT];
  let user: Command;

  const state = (...names: string[]): string => join(home, 'jobctl', ...names);
  const record = (): StackRecord => JSON.parse(readFileSync(state('stack.json'), 'utf8')) as StackRecord;
  const apiKey = (): string => readFileSync(state('temporal', 'api-key'), 'utf8');
  const pidOf = (part: 'server' | 'worker'): number => record().parts[part]?.identity.pid ?? 0;
  const frontend = (): string => `127.0.0.1:${record().addresses.temporal}`;
  const job = (name: string, run: string): string => {
    const path = join(home, `${name}.yaml`);
    writeFileSync(path, `${JOB}command: { run: '${run}' }\n`);
    return path;
  };
  /** What an empty server would take from anybody: a namespace. */
  const attack = (place: string, scheme: string): RawCall => {
    const request = { namespace: 'evil', workflowExecutionRetentionPeriod: { seconds: 86_400 as unknown as Long } };
    const bytes = proto.temporal.api.workflowservice.v1.RegisterNamespaceRequest.encode(request).finish();
    const url = `${scheme}://${place}/proto.temporal.api.workflowservice.v1.WorkflowService/RegisterNamespace`;
    return { name: `${scheme}://${place}`, wire: 'grpc', url, body: Buffer.from(bytes).toString('base64') };
  };
  const runs = async (name: string): Promise<void> => {
    const ran = await user.run('submit', '--local', '--wait', '--name', name, job(name, `echo hello of ${name}`));
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, new RegExp(`hello of ${name}`));
  };

  before(async function () {
    this.timeout(GO_BUILD_MS);
    needsOtherLogin(this);
    await cloud.start();
    await cloud.become({ roles: ['roles/owner'] });
    const server = join(await temporalServerFolder(), 'temporal-server');
    const own = { GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '', JOBCTL_TEMPORAL_SERVER: server };
    const cli = process.env['JOBCTL_TEMPORAL_CLI'];
    const cache = process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '', '.cache');
    user = new Command(cloud.endpoints, home, {
      ...own,
      XDG_CACHE_HOME: cache,
      ...(cli === undefined ? {} : { JOBCTL_TEMPORAL_CLI: cli }),
    });
  });
  after(async () => {
    await user?.run('dev', 'down', '--yes');
    await user?.end();
    await cloud.stop();
    rmSync(home, { recursive: true, force: true });
  });

  it('comes up with a server that asks who calls, and says how its owner gets in', async () => {
    const place = ['--create-bucket', '--zone', 'us-central1-a', '--ssh-port', String(SSH_PORT)];
    const up = await user.run('dev', 'up', ...real, ...place);
    assert.equal(up.code, 0, up.stderr);
    const line = `Temporal: ${frontend()}, by TLS and the API key in ${state('temporal', 'api-key')}, until 20`;
    assert.ok(up.stderr.includes(line), up.stderr);
    const status = await user.run('dev', 'status');
    assert.ok(status.stdout.includes(line), status.stdout);
    const { temporal: seen } = JSON.parse(readFileSync(state('context.json'), 'utf8')) as { temporal: { uiUrl: null } };
    assert.equal(seen.uiUrl, null);
  });

  it('serves its owner’s verbs as any stack does', async () => {
    await runs('first');
    const verbs = [['list'], ['status', 'first'], ['logs', 'first'], ['describe', 'first'], ['quota', 'show']];
    for (const verb of verbs) {
      const { code, stderr } = await user.run(...verb);
      assert.equal(code, 0, `${verb.join(' ')}: ${stderr}`);
    }
  });

  it('lets no other login in at any port of its server, in the clear or by TLS', async () => {
    const open = listeningOn(pidOf('server'));
    assert.ok(open.includes(frontend()) && open.length > 5, open.join(', '));
    const calls = open.flatMap((place) => [attack(place, 'https'), attack(place, 'http')]);
    const forged = [`${apiKey()}x`, 'x', apiKey().replace(/^[^.]+/, 'eyJhbGciOiJub25lIn0')];
    const withKeys = forged.map((key) => withToken(attack(frontend(), 'https'), key));
    const answers = callAsOther([...calls, ...withKeys]);
    for (const { name, status, text } of answers) {
      const wanted = name === `https://${frontend()}` ? PERMISSION_DENIED : NO_ANSWER;
      assert.equal(status, wanted, `${name}: ${text}`);
    }
    // With the key it would have been made.
    const mine = await makeCall(withToken(attack(frontend(), 'https'), apiKey()));
    assert.equal(mine.status, 0, mine.text);
    assert.equal(mine.text, '');
  });

  it('keeps key, certificate and configuration from other logins', () => {
    for (const name of ['api-key', 'server-key.pem', 'server.pem', 'config/stack.yaml']) {
      assert.equal(statSync(state('temporal', name)).mode & 0o777, 0o600, name);
      assert.notEqual(runAsOther(['cat', state('temporal', name)]).code, 0, name);
    }
    assert.notEqual(runAsOther(['cat', state('temporal.db')]).code, 0);
  });

  it('has another key after each start of the server, and a worker that knows it', async () => {
    const [key, server, worker] = [apiKey(), pidOf('server'), pidOf('worker')];
    assert.equal((await user.run('dev', 'up')).code, 0);
    assert.deepEqual([apiKey(), pidOf('server'), pidOf('worker')], [key, server, worker], 'what runs is left alone');
    process.kill(server, 'SIGKILL');
    const again = await user.run('dev', 'up');
    assert.equal(again.code, 0, again.stderr);
    assert.ok(apiKey() !== key && pidOf('server') !== server && pidOf('worker') !== worker);
    const stolen = await makeCall(withToken(attack(frontend(), 'https'), key));
    assert.equal(stolen.status, PERMISSION_DENIED);
    await runs('second');
  });

  it('runs the dev server on the same jobs for who says that nobody else logs in, and tells what that means', async () => {
    const alone = await user.run('dev', 'up', ...real, '--i-am-alone-here');
    assert.equal(alone.code, 0, alone.stderr);
    assert.match(alone.stderr, /WARNING: every login of this computer can submit jobs with your Google credentials/);
    assert.match((await user.run('list', '--output', 'json')).stdout, /"first"/);
    const open = callAsOther([attack(frontend(), 'http')]);
    // It was made above.
    assert.equal(open[0]?.status, ALREADY_EXISTS, open[0]?.text);
    await runs('third');
    const back = await user.run('dev', 'up', ...real, '--no-i-am-alone-here');
    assert.equal(back.code, 0, back.stderr);
    assert.deepEqual(
      callAsOther([attack(frontend(), 'http')]).map(({ status }) => status),
      [NO_ANSWER],
    );
    assert.match((await user.run('list', '--output', 'json')).stdout, /"third"/);
    await runs('fourth');
  });
});

type Long = NonNullable<
  NonNullable<
    proto.temporal.api.workflowservice.v1.IRegisterNamespaceRequest['workflowExecutionRetentionPeriod']
  >['seconds']
>;

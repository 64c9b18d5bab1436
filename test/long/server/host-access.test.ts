import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { HostAccess } from '../../../contract/api/hosts.js';
import { hostKeyObject } from '../../../domain/store-layout.js';
import { needsConfinement } from '../../../rehearsal/test/needs-confinement.js';
import { type Ended, jobctlProcess } from '../../cli/command-line.js';
import { ended, started } from '../../cli/running-command.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { tryLogin } from '../../hosts/open-ssh-client.js';
import { ACCESS, type Answer, QUOTA, ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const ALICE = 'alice@example.org';
const OLGA = 'olga@example.org';
const BOB = 'bob@example.org';
/** A member of the job's project, its admin, a stranger, a service that may submit for everybody. */
const OTHERS = [BOB, 'vera@example.org', 'mallory@example.org', 'launcher@example.org'] as const;
const PATIENT = 'trap "exit 0" TERM; echo begun; while :; do sleep 0.2; done';

describe('logging in to hosts by the word of jobctl serve', function () {
  this.timeout(240_000);
  let stack: ServerStack;
  let home: string;
  let tokens: Readonly<Record<string, string>>;
  /** Two jobs of alice's that run on VMs. */
  let mine: string;
  let other: string;

  const envOf = (email: string): Record<string, string> => ({
    HOME: join(home, email),
    TMPDIR: join(home, email, 'tmp'),
    ID_TOKEN: tokens[email] ?? '',
    JOBCTL_SSH_PORT: String(stack.stack.rehearsal.endpoints.sshPort),
  });
  const as = (email: string, ...args: readonly string[]): Promise<Ended> => jobctlProcess(args, envOf(email));
  const alice = (...args: readonly string[]): Promise<Ended> => as(ALICE, ...args);
  const leftOf = (email: string): readonly string[] => readdirSync(join(home, email, 'tmp'));
  const ask = (email: string, id: string, replica = 0): Promise<Answer> =>
    stack.call(email, 'POST', `/v1/jobs/${id}/host-access`, undefined, { replica });
  const accessTo = async (id: string): Promise<HostAccess> => {
    const { status, body, text } = await ask(ALICE, id);
    assert.equal(status, 200, text);
    return body as HostAccess;
  };
  /** Of the audit log, about logins to `mine`. */
  const lines = async (email: string): Promise<readonly Record<string, unknown>[]> => {
    const { body } = await stack.call(OLGA, 'GET', `/v1/audit?job=${mine}&user=${email}`);
    return (body['lines'] as Record<string, unknown>[]).filter(({ verb }) => verb === 'login');
  };
  async function submit(job: object): Promise<string> {
    const { status, body, text } = await stack.call(ALICE, 'POST', '/v1/jobs', { job });
    assert.equal(status, 201, text);
    return String(body['id']);
  }
  async function running(more: object = {}): Promise<string> {
    const id = await submit(jobFile(PATIENT, { project: 'vision', tpu: { accelerator: 'v5litepod-1' }, ...more }));
    await until(
      `${id} prints`,
      async () => (await stack.call(ALICE, 'GET', `/v1/jobs/${id}/logs`)).text.includes('begun'),
      90_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${stack.stack.tail(15)}`);
    });
    return id;
  }
  async function reconfigured(replica: number, more: object): Promise<void> {
    await stack.endServer('SIGTERM', replica);
    stack.configure(replica, more);
    await stack.startServer(replica);
  }

  before(async function () {
    this.timeout(TEMPORAL_START_MS + 180_000);
    needsConfinement(this);
    stack = await ServerStack.start({
      kubernetes: true,
      // In verified mode an image that the pool does not name is refused.
      poolFile: `${ACCESS}\n[allow]\nimages = ["train:1"]\n`,
      quota: QUOTA.replace('v5litepod = 64', 'v5litepod = 64\ncpu = 8').replace('0.5', '0.5\ncpu = 1.0'),
      replicas: 2,
      serverConfig: (servers) => ({
        ssh: { jobKeySecret: servers.stack.jobKeySecret() },
        issuers: [{ issuer: servers.issuer.url, audiences: ['jobctl-test'], services: ['launcher@example.org'] }],
      }),
    });
    home = mkdtempSync(join(tmpdir(), 'jobctl-host-access-'));
    const people = [ALICE, OLGA, ...OTHERS];
    tokens = Object.fromEntries(
      await Promise.all(people.map(async (email) => [email, await stack.issuer.token({ email })] as const)),
    );
    for (const email of people) {
      mkdirSync(join(home, email, 'tmp'), { recursive: true });
      await as(email, 'context', 'set', 'team', '--server', stack.urls[0] ?? '');
      const login = await as(email, 'login', '--id-token-from', 'env:ID_TOKEN');
      assert.equal(login.exitCode, 0, login.stderr);
    }
    [mine, other] = await Promise.all([running(), running()]);
  });
  after(async () => {
    await stack?.stop();
    if (home !== undefined) rmSync(home, { recursive: true, force: true });
  });

  it('the owner gets in by ssh, exec and cp with nothing but a login, and nothing stays on their computer', async () => {
    const ssh = await alice('ssh', mine, '--', '-T', 'id -un; exit 7');
    assert.deepEqual([ssh.exitCode, ssh.stdout], [7, 'alice\n'], ssh.stderr);
    const exec = await alice('exec', mine, '--', 'id -un > who; cat who');
    assert.deepEqual([exec.exitCode, exec.stdout], [0, 'alice\n'], exec.stderr);
    const got = await alice('cp', `${mine}:0:who`, join(home, 'got'));
    assert.deepEqual([got.exitCode, readFileSync(join(home, 'got'), 'utf8')], [0, 'alice\n'], got.stderr);
    writeFileSync(join(home, 'put'), 'put\n');
    const put = await alice('cp', join(home, 'put'), `${mine}:`);
    assert.equal(put.exitCode, 0, put.stderr);
    assert.equal((await alice('exec', mine, '--', 'cat put')).stdout, 'put\n');
    assert.deepEqual(leftOf(ALICE), []);
    const found = spawnSync('grep', ['-rl', 'PRIVATE KEY', join(home, ALICE)], { encoding: 'utf8' });
    assert.deepEqual([found.status, found.stdout], [1, '']);
  });

  it('an operator gets in too; as the job’s user, for there is no other one', async () => {
    const exec = await as(OLGA, 'exec', mine, '--', 'id -un');
    assert.deepEqual([exec.exitCode, exec.stdout], [0, 'alice\n'], exec.stderr);
    assert.equal((await lines(OLGA)).at(-1)?.['as'], 'operator');
  });

  it('nobody else does, and each refusal is recorded', async () => {
    for (const email of OTHERS) {
      const { status, text, body } = await ask(email, mine);
      assert.equal(status, 403, `${email}: ${text}`);
      assert.match(
        String(body['detail']),
        new RegExp(`^job ${mine} of ${ALICE}: ${email} may not log in to its hosts; allowed: ${ALICE}, operators`),
      );
      assert.doesNotMatch(text, /PRIVATE/);
      assert.deepEqual(
        (await lines(email)).map(({ decision }) => decision),
        ['refused'],
        email,
      );
    }
    const verbs = [
      ['ssh', mine, '--', '-T', 'true'],
      ['exec', mine, '--', 'true'],
      ['cp', `${mine}:0:who`, home],
    ];
    for (const verb of verbs) {
      const { exitCode, stderr } = await as(BOB, ...verb);
      assert.equal(exitCode, 4, stderr);
      assert.match(stderr, /bob@example\.org may not log in to its hosts; allowed: alice@example\.org, operators/);
    }
  });

  it('the key opens the hosts of that job and of no other one, at the addresses and host keys that are given', async () => {
    const [ofMine, ofOther] = await Promise.all([accessTo(mine), accessTo(other)]);
    const port = stack.stack.rehearsal.endpoints.sshPort;
    const at = ({ user, hosts: [host] }: HostAccess) => ({ address: host?.address ?? '', port, user });
    assert.deepEqual([ofMine.hosts.length, ofMine.hosts[0]?.number, ofMine.user], [1, 0, 'alice']);
    assert.equal((await tryLogin(at(ofMine), ofMine.privateKey, 'id -un')).out, 'alice\n');
    const crossed = await tryLogin(at(ofOther), ofMine.privateKey, 'id -un');
    assert.deepEqual([crossed.code, crossed.out], [255, ''], crossed.err);
    const strictly = (hostKey = ''): Promise<number | null> => {
      const [key, known] = [join(home, 'strict-key'), join(home, 'strict-known')];
      writeFileSync(key, ofMine.privateKey, { mode: 0o600 });
      writeFileSync(known, `the-host ${hostKey}\n`);
      const options = [
        'StrictHostKeyChecking=yes',
        `UserKnownHostsFile=${known}`,
        'HostKeyAlias=the-host',
        'BatchMode=yes',
      ];
      const words = ['-F', 'none', '-i', key, '-p', String(port), '-l', ofMine.user, at(ofMine).address, 'true'];
      const ssh = spawn('ssh', [...options.flatMap((option) => ['-o', option]), ...words], { stdio: 'ignore' });
      return new Promise((resolve) => ssh.once('close', resolve));
    };
    assert.equal(await strictly(ofMine.hosts[0]?.hostKey), 0);
    assert.equal(await strictly(ofOther.hosts[0]?.hostKey), 255);
    assert.notEqual(ofMine.hosts[0]?.hostKey, ofOther.hosts[0]?.hostKey);
  });

  it('the answer may be kept by nobody, and no log of the server has the key', async () => {
    const { headers, body } = await ask(ALICE, mine);
    assert.equal(headers.get('cache-control'), 'no-store');
    const text = stack.allOfLog();
    const secretLines = String(body['privateKey'])
      .split('\n')
      .filter((line) => line.length === 70 && !line.startsWith('---'));
    assert.ok(secretLines.length > 2 && text.includes('/host-access'), 'the call itself is logged');
    for (const line of [...secretLines, 'PRIVATE KEY']) assert.ok(!text.includes(line), 'the key is in the log');
    const { body: audit } = await stack.call(OLGA, 'GET', '/v1/audit');
    assert.doesNotMatch(JSON.stringify(audit), /PRIVATE KEY/);
  });

  it('a call whose answer nobody reads is in the audit log', async () => {
    const before = (await lines(ALICE)).length;
    const { hostname, port } = new URL(stack.urls[0] ?? '');
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const head = `POST /v1/jobs/${mine}/host-access HTTP/1.1\r\nhost: ${hostname}:${port}\r\n`;
    socket.write(`${head}authorization: Bearer ${tokens[ALICE]}\r\ncontent-length: 0\r\n\r\n`);
    const line = await until('it is recorded', async () => (await lines(ALICE))[before]);
    socket.destroy();
    const { requestId: _, at: __, replica: ___, ...rest } = line;
    assert.deepEqual(rest, {
      ...{ subject: ALICE, kind: 'user', from: '127.0.0.1', verb: 'login', pool: 'default', project: 'vision' },
      ...{ job: mine, owner: ALICE, decision: 'allowed', as: 'owner' },
    });
  });

  it('no key without a record: a server that cannot write its audit log gives none', async () => {
    await reconfigured(1, { store: { ...stack.storePlace, auditBucket: 'no-such-bucket' } });
    const { status, text } = await ask(ALICE, mine, 1);
    assert.equal(status, 503, text);
    assert.doesNotMatch(text, /PRIVATE/);
    stack.configure(1, { store: stack.storePlace });
  });

  it('a server without the job’s secret says what to do; with it among the former ones it gives the key', async () => {
    await reconfigured(1, { ssh: {} });
    const { status, body, text } = await ask(ALICE, mine, 1);
    assert.deepEqual([status, body['code']], [409, 'refused'], text);
    assert.match(
      String(body['detail']),
      /its hosts let in the key SHA256:\S{43}, which is made from no job-key secret of this server \(it has none\)$/,
    );
    assert.match(String(body['remedy']), /ssh\.jobKeySecret in serve\.json; or log in .*--identity FILE --login USER$/);
    const verb = await jobctlProcess(['exec', mine, '--server', stack.urls[1] ?? '', '--', 'true'], {
      ...envOf(ALICE),
      HOME: await loggedInAt(stack.urls[1] ?? ''),
    });
    assert.equal(verb.exitCode, 4, verb.stderr);
    assert.match(verb.stderr, /made from no job-key secret of this server \(it has none\)\n {2}an operator gives/);

    const [first, second] = [stack.stack.jobKeySecret(), stack.stack.jobKeySecret('second')];
    await reconfigured(1, { ssh: { jobKeySecret: second, formerJobKeySecrets: [first] } });
    assert.equal((await ask(ALICE, mine, 1)).status, 200);
    const wrong = await stack.call(ALICE, 'POST', `/v1/jobs/${mine}/host-access`, undefined, { replica: 0 });
    assert.equal(wrong.body['privateKey'], (await ask(ALICE, mine, 1)).body['privateKey'], 'the same on each replica');
  });

  async function loggedInAt(url: string): Promise<string> {
    const folder = mkdtempSync(join(home, 'other-'));
    const login = await jobctlProcess(['login', '--server', url, '--id-token-from', 'env:ID_TOKEN'], {
      ...envOf(ALICE),
      HOME: folder,
    });
    assert.equal(login.exitCode, 0, login.stderr);
    return folder;
  }

  it('a server does not start with a secret that jobs could print', async () => {
    const secret = `${stack.stack.secretStore}/job-key-secret`;
    await stack.endServer('SIGTERM', 1);
    stack.configure(1, { ssh: { jobKeySecret: secret } });
    const { exitCode, stderr } = await jobctlProcess(['serve', '--config', stack.configFile(1)], envOf(ALICE));
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, /ssh\.jobKeySecret: \S+\/job-key-secret: is in the secret store/);
    stack.configure(1, { ssh: { jobKeySecret: stack.stack.jobKeySecret() } });
  });

  it('a signal or a closed terminal leaves no key behind, and ends the login', async () => {
    for (const signal of ['SIGHUP', 'SIGTERM'] as const) {
      const login = started(['ssh', mine, '--', '-T', 'echo in; sleep 600'], envOf(ALICE));
      await until('it is logged in', () => login.out.stdout === 'in\n', 60_000).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${login.out.stderr}`);
      });
      const [folder = assert.fail('no folder')] = leftOf(ALICE);
      const [ofFolder, ofKey] = [folder, join(folder, 'identity')].map(
        (name) => statSync(join(home, ALICE, 'tmp', name)).mode & 0o777,
      );
      assert.deepEqual([ofFolder, ofKey], [0o700, 0o600]);
      login.child.kill(signal);
      const { exitCode } = await ended(login);
      assert.equal(exitCode, 255, signal);
      assert.deepEqual(leftOf(ALICE), [], signal);
    }
  });

  it('a folder in memory is taken for it where the login has one', async () => {
    const runtime = join(home, 'runtime');
    mkdirSync(runtime, { mode: 0o700 });
    const env = { ...envOf(ALICE), XDG_RUNTIME_DIR: runtime };
    const login = started(['ssh', mine, '--', '-T', 'echo in; sleep 600'], env);
    await until('it is logged in', () => login.out.stdout === 'in\n', 60_000);
    assert.deepEqual([leftOf(ALICE), readdirSync(runtime).length], [[], 1]);
    login.child.kill('SIGTERM');
    await ended(login);
    assert.deepEqual(readdirSync(runtime), []);
  });

  it('a host that shows another key than the recorded one is sent nothing', async () => {
    const { store } = stack;
    const [record, ofOther] = await Promise.all([mine, other].map(recordOf));
    if (record === undefined || ofOther === undefined) assert.fail('no records');
    await store.replace(record.name, ofOther.text);
    for (const verb of [
      ['exec', mine, '--', 'touch harm'],
      ['ssh', mine, '--', '-T', 'touch harm'],
    ]) {
      const { exitCode, stderr } = await alice(...verb);
      assert.equal(exitCode, 255, stderr);
      assert.match(stderr, /its host key is SHA256|Host key verification failed/);
    }
    await store.replace(record.name, record.text);
    assert.equal((await alice('exec', mine, '--', 'ls harm 2>/dev/null; true')).stdout, '');
  });

  async function recordOf(id: string): Promise<{ readonly name: string; readonly text: string }> {
    const { slices } = await stack.stack.jobs.describe(id);
    const name = hostKeyObject(slices[0]?.uid ?? '', 0);
    return { name, text: String(await stack.store.read(name)) };
  }

  it('a key of one’s own that the project lets in logs in, without the server’s', async () => {
    const file = join(home, 'own-key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ann', '-f', file]);
    const admin = new RehearsalAdmin(stack.stack.rehearsal.endpoints.admin);
    const publicKey = readFileSync(`${file}.pub`, 'utf8').trim();
    await admin.post('project', { metadata: { 'ssh-keys': `ann:${publicKey}` } });
    // Whom neither the server nor the job's key would let in; the hosts do. VMs take the project's keys when they are made.
    const id = await running();
    const before = await lines(BOB);
    const ssh = await as(BOB, 'ssh', id, '--identity', file, '--login', 'ann', '--', '-T', 'id -un');
    assert.deepEqual([ssh.exitCode, ssh.stdout], [0, 'ann\n'], ssh.stderr);
    assert.deepEqual(await lines(BOB), before, 'the server was not asked for a key');
    await endOf(id);
  });

  async function endOf(id: string): Promise<void> {
    await stack.call(ALICE, 'POST', `/v1/jobs/${id}/cancel`, {});
    await until(
      `${id} has ended`,
      async () => (await stack.call(ALICE, 'GET', `/v1/jobs/${id}/wait?timeoutMs=10000`)).body['isOver'] === true,
      60_000,
    );
  }

  it('a job whose file names a key has none that the server could give', async () => {
    const file = join(home, 'named-key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    const job = join(home, 'named.yaml');
    const ssh = { private_key: file };
    writeFileSync(job, stringify(jobFile(PATIENT, { project: 'vision', tpu: { accelerator: 'v5litepod-1' }, ssh })));
    const submitted = await alice('submit', job, '--name', 'with-own-key');
    assert.equal(submitted.exitCode, 0, submitted.stderr);
    await until(
      'it runs',
      async () => (await stack.call(ALICE, 'GET', '/v1/jobs/with-own-key')).body['phase'] === 'running',
      90_000,
    );
    const { status, body } = await ask(ALICE, 'with-own-key');
    assert.equal(status, 409);
    assert.match(String(body['detail']), /let in the key that its job file names \(ssh\.private_key: \S+named-key\)$/);
    const exec = await alice('exec', 'with-own-key', '--', 'id -un');
    assert.deepEqual([exec.exitCode, exec.stdout], [0, 'alice\n'], exec.stderr);
    await endOf('with-own-key');
  });

  it('pods let in no key: it says what to do', async () => {
    const id = await submit({
      project: 'vision',
      kubernetes: { image: 'train:1', workers: 1 },
      command: { run: PATIENT },
    });
    await until(
      'it runs',
      async () => {
        const { body, text } = await stack.call(ALICE, 'GET', `/v1/jobs/${id}`);
        if (body['phase'] === 'running') return true;
        throw new Error(text);
      },
      90_000,
    );
    const { status, body } = await ask(ALICE, id);
    assert.equal(status, 409);
    assert.match(String(body['detail']), /its hosts are pods, which let in no key: they are reached by exec/);
    assert.equal(body['remedy'], `jobctl exec ${id} -- CMD by your kubeconfig, or kubectl exec`);
    const kubeconfig = stack.stack.rehearsal.endpoints.kubeconfig ?? '';
    const exec = await jobctlProcess(['exec', id, '--', 'echo in'], { ...envOf(ALICE), KUBECONFIG: kubeconfig });
    assert.deepEqual([exec.exitCode, exec.stdout], [0, 'in\n'], exec.stderr);
    await endOf(id);
  });

  it('who was removed is in no more: an operator by the pool file, a member by the quota file', async () => {
    assert.equal((await ask(OLGA, mine)).status, 200);
    stack.stack.writeQuotaFile((text) => text.replace('"bob@example.org", ', ''));
    stack.stack.writePoolFile(ACCESS.replace('"user:olga@example.org", ', ''));
    await until('olga is no operator', async () => (await ask(OLGA, mine)).status === 403, 20_000);
    assert.equal((await ask(BOB, mine)).status, 403);
    stack.stack.writePoolFile(ACCESS);
    await until('olga is one again', async () => (await ask(OLGA, mine)).status === 200, 20_000);
  });

  it('after the end of a job there is nothing to log in to, and no key', async () => {
    await endOf(mine);
    const { status, body, text } = await ask(ALICE, mine);
    assert.deepEqual([status, body['code']], [409, 'refused']);
    assert.match(String(body['detail']), /it has ended \(cancelled\): its hosts are gone/);
    assert.doesNotMatch(text, /PRIVATE/);
    const exec = await alice('exec', mine, '--', 'true');
    assert.equal(exec.exitCode, 4, exec.stderr);
    assert.match(exec.stderr, /has ended \(cancelled\): its hosts are gone/);
    const missing = await ask(ALICE, 'no-such-job');
    assert.equal(missing.status, 404);
    await endOf(other);
  });
});

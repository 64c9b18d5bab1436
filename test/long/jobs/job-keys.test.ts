import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openJobKeys } from '../../../cloud/job-keys/open-job-keys.js';
import type { JobView } from '../../../contract/job.js';
import { jobKeyObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { type LoginTry, tryLogin } from '../../hosts/open-ssh-client.js';
import { until } from '../../until.js';

/** Tells of its end, so that it is seen to have been watched. */
const PATIENT = 'trap "echo told; exit 0" TERM; echo begun; while :; do sleep 0.2; done';

describe('the key of a job', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  withStack((its, theirs) => {
    stack = its;
    admin = theirs;
  });

  const log = (id: string, attempt = 1): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
  async function running(more: object = {}): Promise<string> {
    const tpu = { accelerator: 'v5litepod-8' };
    const { id } = await stack.jobs.submit({ job: jobFile(PATIENT, { tpu, ...more }), user: 'tester' });
    await until(`${id} prints`, async () => (await log(id)) !== '', 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${stack.tail()}`);
    });
    return id;
  }
  async function restartWith(current: string | undefined, ...former: readonly string[]): Promise<void> {
    stack.useJobKeySecrets(current, ...former);
    await stack.stopWorker();
    await stack.startWorker();
  }
  const publicKeyOf = async (id: string): Promise<string> => (await stack.jobs.describe(id)).login?.publicKey ?? '';
  const installationsKey = (): string => readFileSync(`${stack.privateKeyFile}.pub`, 'utf8').trim();

  /** Who has the secrets can make the key of a job, as the server does for those who may have it. */
  async function privateKeyOf(id: string, ...secrets: readonly string[]): Promise<string> {
    const { run = '', login } = await stack.jobs.describe(id);
    const keys = await openJobKeys({ former: secrets.map((name) => stack.jobKeySecret(name)) });
    return keys.find({ id, run }, login?.publicKey ?? '')?.privateKey ?? assert.fail(`no key of ${id}`);
  }
  async function login(id: string, privateKey: string, command = 'echo in'): Promise<LoginTry> {
    const view = await stack.jobs.describe(id);
    return tryLogin({ ...placeOf(view), port: stack.rehearsal.endpoints.sshPort }, privateKey, command);
  }
  const user = (env: Readonly<Record<string, string>>): JobctlUser => JobctlUser.of(stack, env);
  async function endsWell(id: string): Promise<void> {
    await stack.jobs.cancel(id);
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['cancelled', 1], stack.tail());
    assert.match(await log(id), /^begun\n(.*\n)*told\n$/);
  }
  async function reset(id: string): Promise<void> {
    const handle = stack.client.workflow.getHandle(id);
    const { events } = await handle.fetchHistory();
    const task = events?.find(({ workflowTaskCompletedEventAttributes: done }) => done)?.eventId ?? null;
    const { runId } = await stack.client.workflowService.resetWorkflowExecution({
      namespace: stack.server.namespace,
      workflowExecution: { workflowId: id },
      workflowTaskFinishEventId: task,
      requestId: `reset ${id}`,
      reason: 'test',
    });
    await until('a new run is there', async () => (await handle.describe()).runId === runId);
    await until(`${id} runs`, async () => (await stack.jobs.describe(id)).phase === 'running', 60_000);
  }

  it('opens the hosts of that job; neither another job’s nor the installation’s does, and no host has it', async () => {
    const [a, b] = await Promise.all([running(), running()]);
    const [ofA, ofB] = [await privateKeyOf(a, 'first'), await privateKeyOf(b, 'first')];
    const installation = readFileSync(stack.privateKeyFile, 'utf8');
    const tries: Record<string, readonly [id: string, key: string, isIn: boolean]> = {
      'a by its own': [a, ofA, true],
      'b by its own': [b, ofB, true],
      'b by the key of a': [b, ofA, false],
      'a by the key of b': [a, ofB, false],
      'a by the installation’s': [a, installation, false],
      'b by the installation’s': [b, installation, false],
    };
    for (const [name, [id, key, isIn]] of Object.entries(tries)) {
      const { code, out, err } = await login(id, key);
      assert.deepEqual([code, out], isIn ? [0, 'in\n'] : [255, ''], `${name}: ${err}`);
      if (!isIn) assert.match(err, /Permission denied \(publickey/, name);
    }
    // Once more as the command of job a, whose host was told the key (findings F2): it is in nobody's reach there either.
    const { out } = await login(a, ofA, `grep -rlI 'PRIVATE KEY' ~ /tmp /etc/ssh 2>/dev/null | grep -v host_ | wc -l`);
    assert.equal(out, '0\n');
    await notKept(a, [ofA]);
    await endsWell(a);
    await endsWell(b);
  });

  /** Histories, the bucket and the worker's log hold neither the key of the job nor the secret. */
  async function notKept(id: string, texts: readonly string[]): Promise<void> {
    const history = JSON.stringify(await stack.client.workflow.getHandle(id).fetchHistory());
    const decoded = [...history.matchAll(/"data":"([A-Za-z0-9+/=]+)"/g)].map(([, data = '']) =>
      Buffer.from(data, 'base64'),
    );
    const objects = await stack.store.list(`jobs/${id}/`);
    const contents = await Promise.all(objects.map(({ name }) => stack.store.read(name)));
    const kept = Buffer.concat([...decoded, ...contents.flatMap((each) => each ?? []), readFileSync(stack.workerLog)]);
    const secret = readFileSync(fileURLToPath(stack.jobKeySecret()), 'utf8').split(':')[1] ?? assert.fail('no secret');
    const lines = texts.flatMap((text) =>
      text.split('\n').filter((line) => line.length === 70 && !line.startsWith('-----')),
    );
    assert.ok(lines.length > 0);
    // The first line is that of all keys, the second begins with the public half.
    for (const part of [secret, ...lines.slice(2), 'PRIVATE KEY'])
      assert.ok(!kept.includes(part), `${part.slice(0, 6)}.. is kept`);
  }

  it('is the same after a killed worker, for the next slice of the job, and after a reset', async () => {
    const id = await running();
    const before = await publicKeyOf(id);
    await stack.killWorker();
    await stack.startWorker();
    await until('it is watched again', async () => (await stack.jobs.describe(id)).phase === 'running', 60_000);
    assert.equal(await publicKeyOf(id), before);
    const key = await privateKeyOf(id, 'first');
    const [first] = (await stack.jobs.describe(id)).slices;
    await admin.post('preempt', { name: first?.ref.name, notice: false });
    await until('attempt 2 prints', async () => (await log(id, 2)) !== '', 90_000);
    const [second] = (await stack.jobs.describe(id)).slices;
    assert.notEqual(second?.uid, first?.uid);
    assert.equal((await login(id, key)).out, 'in\n');
    await reset(id);
    await until('it goes on with attempt 2', async () => (await stack.jobs.describe(id)).attempt === 2);
    const [third] = (await stack.jobs.describe(id)).slices;
    assert.deepEqual([third?.uid, await publicKeyOf(id)], [second?.uid, before], stack.tail());
    await stack.jobs.cancel(id);
    assert.equal((await stack.jobs.wait(id)).result, 'cancelled');
    assert.match(await log(id, 2), /told\n$/);
  });

  it('while its secret is rotated serves on; a reset keeps it, and a new job gets one of the new secret', async () => {
    const [old, kept] = await Promise.all([running(), running()]);
    const before = await publicKeyOf(old);
    await restartWith('second', 'first');
    const young = await running();
    const record = JSON.parse(
      String(await stack.store.read(jobKeyObject(young, (await stack.jobs.describe(young)).run ?? ''))),
    ) as { secret: string };
    assert.equal(record.secret, 'second');
    assert.equal((await login(young, await privateKeyOf(young, 'second'))).code, 0);
    assert.equal((await login(old, await privateKeyOf(old, 'first'))).code, 0);
    await reset(old);
    assert.equal(await publicKeyOf(old), before);
    await endsWell(young);
    await endsWell(old);

    // A secret that is removed too early: nothing is lost but the sight of the job.
    const [slice] = (await stack.jobs.describe(kept)).slices;
    await restartWith('second');
    const why = await until('it says why', async () => {
      const { why: said } = await stack.jobs.describe(kept);
      return said?.includes('nobody watches the job') === true && said;
    });
    assert.match(
      why,
      /its hosts let in the key SHA256:\S{43}, which is neither the installation's own SHA256:\S{43} nor made from a job-key secret of the worker on \S+ \(it has second\): nobody watches the job until a worker has the secret that gs:\/\/\S+\/job-keys\/\S+\.json names, in ssh\.formerJobKeySecrets/,
    );
    const alone = user({ JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret('second') });
    const refused = await alone.run('exec', kept, '--', 'true');
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(
      refused.stderr,
      /its hosts accept the key SHA256:\S{43}, which is not on this computer \(none is made from second\)/,
    );
    await restartWith('second', 'first');
    const seen = async (): Promise<JobView> => stack.jobs.describe(kept);
    await until('it is watched again', async () => (await seen()).why?.includes('nobody watches') !== true);
    assert.deepEqual([(await seen()).slices[0]?.uid, (await seen()).attempt], [slice?.uid, 1]);
    await endsWell(kept);
    await alone.leave();
  });

  it('is not there for jobs of an installation without a secret, which keep the installation’s when it gets one', async () => {
    await restartWith(undefined);
    const id = await running();
    const publicKey = await publicKeyOf(id);
    assert.equal(publicKey, installationsKey());
    const { run = '' } = await stack.jobs.describe(id);
    assert.equal(await stack.store.read(jobKeyObject(id, run)), undefined);
    await restartWith('first');
    await until('it is watched again', async () => (await stack.jobs.describe(id)).phase === 'running');
    assert.equal((await login(id, readFileSync(stack.privateKeyFile, 'utf8'))).code, 0);
    await reset(id);
    assert.equal(await publicKeyOf(id), publicKey);
    const young = await running();
    assert.notEqual(await publicKeyOf(young), publicKey);
    await endsWell(young);
    await endsWell(id);
  });

  it('is made by ssh, exec and cp of whoever has the secret; a key of one’s own logs in where the project has it', async () => {
    const pair = ownPair(user({}).home);
    // Google's guest agent takes the keys of the project too.
    await admin.post('project', { metadata: { 'ssh-keys': `ann:${pair.publicKey}` } });
    const id = await running();
    const ours = user({ JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret('first') });
    const exec = await ours.run('exec', id, '--', 'id -un');
    assert.deepEqual([exec.code, exec.stdout], [0, 'tester\n'], exec.stderr);
    const ssh = await ours.run('ssh', id, '--', '-T', 'id -un; exit 7');
    assert.deepEqual([ssh.code, ssh.stdout], [7, 'tester\n'], ssh.stderr);
    const cp = await ours.run('cp', `${id}:0:.ssh/authorized_keys`, ours.home);
    assert.notEqual(cp.code, 2, cp.stderr);
    const theirs = user({ JOBCTL_SSH_PRIVATE_KEY_FILE: stack.privateKeyFile });
    const refused = await theirs.run('ssh', id, '--', 'true');
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /id_ed25519 is SHA256:\S{43}\)\n {2}each job has a key of its own/);
    const ann = await theirs.run('ssh', id, '--identity', pair.file, '--login', 'ann', '--', '-T', 'id -un');
    assert.deepEqual([ann.code, ann.stdout], [0, 'ann\n'], ann.stderr);
    await endsWell(id);
    await Promise.all([ours.leave(), theirs.leave()]);
  });
});

function placeOf({ slices, login }: JobView): { readonly address: string; readonly user: string } {
  const [host] = slices[0]?.hosts ?? [];
  if (host?.reach !== 'ssh' || login === undefined) throw new Error('the job has no VM');
  return { address: host.externalIp ?? host.internalIp, user: login.user };
}

function ownPair(folder: string): { readonly file: string; readonly publicKey: string } {
  const file = `${folder}/own-key`;
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'ann', '-f', file]);
  return { file, publicKey: readFileSync(`${file}.pub`, 'utf8').trim() };
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainError } from '../../cli/terminal/explain-error.js';
import { runProgram } from '../../cli/program.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { until } from '../until.js';

interface Said {
  readonly exitCode: number;
  readonly out: string;
}

/** Not spawnSync: the cloud that it asks is in this process. */
function shell(script: string): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/' };
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { env, timeout: 50_000 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, stdout, stderr }),
    );
  });
}

const ZONE = 'projects/rehearsal/locations/us-central1-a';

/** The verbs in this process, against a real rehearsal; its VMs are booted by nobody, since nobody logs in. */
describe('jobctl rehearsal', function () {
  this.timeout(60_000);
  let home: string;
  let rehearsal: Rehearsal;
  let homeBefore: string | undefined;

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'jobctl-rehearsal-verbs-'));
    const place = { stateDir: join(home, 'rehearsal') };
    // As in a stack of `dev up`: the verbs must send the token.
    rehearsal = await startTestRehearsal({ ...place, callers: 'token' });
    writeContext({ rehearsal: { adminUrl: rehearsal.endpoints.admin } });
    homeBefore = process.env['JOBCTL_HOME'];
    process.env['JOBCTL_HOME'] = home;
    for (const name of ['a', 'b']) await createNode(`jc-train-${name}-g1`, name);
    await until('both nodes are READY', async () => (await said('status')).out.match(/ READY /g)?.length === 2);
  });
  after(async () => {
    if (homeBefore === undefined) delete process.env['JOBCTL_HOME'];
    else process.env['JOBCTL_HOME'] = homeBefore;
    await rehearsal.stop();
    rmSync(home, { recursive: true, force: true });
  });

  function writeContext(cloud: object): void {
    const { tpu, rest, store, sshPort, tokenFile: accessTokenFile } = rehearsal.endpoints;
    const context = {
      temporal: { address: '127.0.0.1:1', namespace: 'default', uiUrl: null },
      store: { endpoint: store, bucket: 'jobctl-dev' },
      cloud: { tpuEndpoint: tpu, tpuRestEndpoint: rest, insecure: true, accessTokenFile },
      ssh: { port: sshPort, privateKeyFile: '', publicKeyFile: '' },
      googleProject: 'rehearsal',
      ...cloud,
    };
    writeFileSync(join(home, 'context.json'), JSON.stringify(context));
  }

  const authorization = (): { readonly authorization: string } => ({
    authorization: `Bearer ${readFileSync(rehearsal.endpoints.tokenFile, 'utf8')}`,
  });

  async function createNode(name: string, job: string): Promise<void> {
    const labels = { 'jobctl-job': job };
    const response = await fetch(`${rehearsal.endpoints.rest}/v2/${ZONE}/nodes?nodeId=${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization() },
      body: JSON.stringify({ acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite', labels }),
    });
    assert.ok(response.ok, await response.text());
  }

  let onStderr = '';
  /** What a command line prints on stdout, or, refused, on stderr. */
  async function said(...words: readonly string[]): Promise<Said> {
    const write = process.stdout.write.bind(process.stdout);
    const writeError = process.stderr.write.bind(process.stderr);
    let out = '';
    onStderr = '';
    process.stderr.write = (chunk: string | Uint8Array): boolean => {
      onStderr += String(chunk);
      return true;
    };
    process.stdout.write = (chunk: string | Uint8Array): boolean => {
      out += String(chunk);
      return true;
    };
    try {
      const exitCode = await runProgram(['rehearsal', ...words]);
      return { exitCode, out };
    } catch (error) {
      const { exitCode, text } = explainError(error, false);
      return { exitCode, out: text };
    } finally {
      process.stdout.write = write;
      process.stderr.write = writeError;
    }
  }

  it('status shows the nodes with their jobs, the settings and the clock', async () => {
    const { exitCode, out } = await said('status');
    assert.equal(exitCode, 0);
    assert.match(
      out,
      /^REHEARSAL at http:\/\/127\.0\.0\.1:\d+: a cloud on this computer, nothing of it is billed\n {2}clock 20/,
    );
    assert.match(out, /\n {2}jc-train-a-g1 +us-central1-a +v5litepod-8 +a +READY +/);
    assert.match(out, /\n {2}provisioning +\S/);
    const { nodes } = JSON.parse((await said('status', '-o', 'json')).out) as { nodes: { name: string }[] };
    assert.deepEqual(nodes.map(({ name }) => name).toSorted(), [
      `${ZONE}/nodes/jc-train-a-g1`,
      `${ZONE}/nodes/jc-train-b-g1`,
    ]);
  });

  it('preempt takes the live slice of a job by the id of the job', async () => {
    const { exitCode, out } = await said('preempt', 'a');
    assert.deepEqual([exitCode, out], [0, `${ZONE}/nodes/jc-train-a-g1 is preempted: PREEMPTED\n`]);
  });

  it('preempt with notice says when, on the clock of the cloud; warn is taken back', async () => {
    assert.match((await said('warn', 'b', '--clear-after', '5m')).out, /jc-train-b-g1 is UNHEALTHY_MAINTENANCE\n/);
    assert.match((await said('status')).out, /READY, UNHEALTHY_MAINTENANCE/);
    assert.match((await said('warn', 'jc-train-b-g1', '--clear')).out, /jc-train-b-g1 is healthy again\n/);
    assert.doesNotMatch((await said('status')).out, /UNHEALTHY_MAINTENANCE/);
    const noticed = await said('preempt', 'b', '--notice', '1h');
    assert.match(noticed.out, /jc-train-b-g1 was given notice: it is preempted at 20\S+Z of the cloud's clock\n/);
    await said('clock', '--step', '1h');
    await until('it is taken after its notice', async () => (await said('status')).out.includes('PREEMPTED'));
  });

  it('for a slice that is not there says what is there, and exits 3', async () => {
    const { exitCode, out } = await said('preempt', 'nobody');
    assert.equal(exitCode, 3);
    assert.match(out, /no slice 'nobody', and none of a job of that name\n.*jc-train-[ab]-g1.*\n.* jobctl why nobody$/);
  });

  it('capacity sets, and takes away, a limit', async () => {
    const place = 'us-central1-a/v5litepod/spot';
    assert.deepEqual(await said('capacity', place, '16'), { exitCode: 0, out: `${place}: 16 chips\n` });
    assert.match((await said('status')).out, /capacity +us-central1-a\/v5litepod\/spot 16/);
    assert.deepEqual(await said('capacity', place, 'unlimited'), { exitCode: 0, out: `${place}: no limit\n` });
    assert.doesNotMatch((await said('status')).out, /v5litepod\/spot 16/);
  });

  it('capacity takes the tier in the words of job files too', async () => {
    for (const word of ['ondemand', 'on-demand']) {
      const { exitCode, out } = await said('capacity', `us-central1-a/v5litepod/${word}`, '8');
      assert.deepEqual([exitCode, out], [0, 'us-central1-a/v5litepod/on-demand: 8 chips\n']);
      await said('capacity', `us-central1-a/v5litepod/${word}`, 'unlimited');
    }
  });

  it('fail makes calls fail, so often, until it is stopped', async () => {
    const get = async (): Promise<number> =>
      (await fetch(`${rehearsal.endpoints.rest}/v2/${ZONE}/nodes`, { headers: authorization() })).status;
    const once = await said('fail', 'ListNodes', '--code', 'UNAVAILABLE', '--times', '1');
    assert.equal(once.out, 'the next call of ListNodes does nothing and fails with UNAVAILABLE\n');
    assert.deepEqual([await get(), await get()], [503, 200]);
    await said('fail', '*', '--code', 'PERMISSION_DENIED');
    assert.equal(await get(), 403);
    assert.deepEqual(await said('fail', '--stop'), { exitCode: 0, out: 'no calls fail any more\n' });
    assert.equal(await get(), 200);
    const unknown = await said('fail', 'ListNods', '--code', 'UNAVAILABLE');
    assert.equal(unknown.exitCode, 2);
    assert.match(unknown.out, /must be one of .*ListNodes/);
  });

  it('the clock stands still, goes on, and runs faster', async () => {
    assert.match((await said('clock', '--freeze')).out, /^clock 20\S+Z, frozen\n$/);
    assert.match((await said('clock', '--thaw', '--scale', '60')).out, /, 60 times as fast as this computer's\n$/);
    assert.match((await said('clock', '--scale', '1')).out, /^clock 20\S+Z\n$/);
  });

  it('the journal begins after an event, in lines and as JSON; the dump is JSON lines', async () => {
    const events = (await said('journal', '-o', 'json')).out.trim().split('\n');
    const parsed = events.map((line) => JSON.parse(line) as { seq: number; kind: string });
    assert.deepEqual(
      parsed.map(({ seq }) => seq),
      parsed.map((_, index) => index + 1),
    );
    const after = String(parsed.length - 2);
    assert.equal((await said('journal', '--after', after)).out.split('\n').length, 3);
    assert.match((await said('journal')).out, /node-state +jc-train-a-g1 {2}from READY, to PREEMPTED/);
    const dump = (await said('dump')).out.trim().split('\n');
    assert.ok(dump.length > 2 && dump.every((line) => typeof JSON.parse(line) === 'object'), dump.join('\n'));
  });

  it('a script runs and is followed to its end; a wrong one is refused with line and column', async () => {
    const file = join(home, 'storm.yaml');
    writeFileSync(file, 'version: 1\nevents:\n  - at: 1s\n    capacity: {us-central1-a/v6e: 8}\n');
    // The cloud's time stands still until what is to come was told.
    await said('clock', '--freeze');
    const following = said('script', file, '--follow');
    await until('what is to come is told', () => onStderr.includes('to come'));
    await fetch(`${rehearsal.endpoints.admin}/admin/clock`, {
      method: 'POST',
      headers: { ...authorization(), 'content-type': 'application/json' },
      body: JSON.stringify({ frozen: false }),
    });
    const { exitCode, out } = await following;
    assert.equal(exitCode, 0);
    assert.match(onStderr, /^\d\d:\d\d:\d\d\.\d{3} {2}line 3 {2}capacity, to come\n$/m);
    assert.match(out, /^\d\d:\d\d:\d\d\.\d{3} {2}line 3 {2}capacity: done\n$/);
    assert.match((await said('script')).out, /1 done, 0 to come\n$/);
    writeFileSync(file, 'version: 1\nevents:\n  - at: soon\n    capacity: {us-central1-a/v6e: 8}\n');
    const wrong = await said('script', file);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.out, /^\S+storm\.yaml:3:9: events\[0\]\.at: 'soon' is not a duration/);
    assert.deepEqual(await said('script', '--stop'), { exitCode: 0, out: 'no script runs any more\n' });
  });

  it('env makes an unmodified gcloud talk to the rehearsal, and --unset takes it all back', async () => {
    const { out } = await said('env');
    const list = 'gcloud compute tpus tpu-vm list --format="value(name)" | sort';
    const gcloud = await shell(`${out}\n${list}`);
    assert.deepEqual([gcloud.stdout, gcloud.code], ['jc-train-a-g1\njc-train-b-g1\n', 0], gcloud.stderr);
    const unset = (await said('env', '--unset')).out;
    const left = await shell(`${out}\n${unset}\nenv | grep -cE 'CLOUDSDK|EMULATOR'`);
    assert.equal(left.stdout, '0\n');
  });

  it('says so where the rehearsal does not answer, and where the stack works on the real cloud', async () => {
    writeContext({ rehearsal: { adminUrl: 'http://127.0.0.1:1' } });
    const silent = await said('status');
    assert.equal(silent.exitCode, 5);
    assert.match(silent.out, /^the rehearsal at http:\/\/127\.0\.0\.1:1 does not answer: .*\n.*jobctl dev up/);
    writeContext({});
    const real = await said('preempt', 'b');
    assert.equal(real.exitCode, 4);
    assert.match(real.out, /works on REAL Cloud TPU \(project rehearsal\)/);
  });
});

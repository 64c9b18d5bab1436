import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { isUsageError, readArguments } from '../arguments.js';
import { shellLines } from '../endpoints-file.js';
import { pickSshPort } from '../ssh-port.js';
import { runRehearsalProcess, startRehearsalProcess } from './rehearsal-process.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

describe('the command cloud-tpu-rehearsal', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('command');
  const env = (...more: readonly string[]): ReturnType<typeof runRehearsalProcess> =>
    runRehearsalProcess(['env', '--state-dir', scratch.path, ...more]);
  after(() => scratch.remove());

  it('prints its usage when asked, and after what it does not know', async () => {
    const asked = await runRehearsalProcess(['--help']);
    assert.deepEqual([asked.code, asked.stderr], [0, '']);
    assert.match(asked.stdout, /^Usage: cloud-tpu-rehearsal /);
    const { code, stdout, stderr } = await runRehearsalProcess(['--tpu-prot', '1']);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^cloud-tpu-rehearsal: .*--tpu-prot.*[^]*\nUsage: /);
    for (const [flag, ...wrong] of [
      ['--seed', '--seed', 'x'],
      ['--callers', '--callers', 'x'],
      ['--seed', 'env', '--seed', '1'],
      ['--machine box=me@10.0.0.1: wanted NAME=USER@ADDRESS', '--machine', 'box=me@10.0.0.1'],
      ['--machine-key /none: ENOENT', '--machine-key', '/none'],
      ['--subnet-octet 300: wanted a whole number from 1 to 254', '--subnet-octet', '300'],
    ] as const)
      assert.throws(
        () => readArguments(wrong),
        (error: Error) => isUsageError(error) && error.message.includes(flag),
        wrong.join(' '),
      );
  });

  it('gives a shell the variables of the rehearsal that serves, and says so if none does', async () => {
    const before = await env();
    assert.equal(before.code, 1);
    assert.match(before.stderr, /no rehearsal serves from the state folder .*; start one: npx cloud-tpu-rehearsal /);
    const sshPort = await pickSshPort(SUBNET_OCTET);
    const served = await startRehearsalProcess(scratch.path, sshPort, []);
    const { code, stdout } = await env('--project', "it's", '--zone', 'z');
    const shown = 'echo "$CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU $CLOUDSDK_CORE_PROJECT $CLOUDSDK_COMPUTE_ZONE"';
    const seen = execFileSync('bash', ['-c', `${stdout}\n${shown}`]).toString();
    assert.deepEqual([code, seen], [0, `${served.endpoints.rest}/ it's z\n`]);
    const { rest, headerFile, tokenFile } = served.endpoints;
    const curl = (...more: string[]): string =>
      execFileSync('curl', [
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        ...more,
        `${rest}/v2/projects/p/locations`,
      ]).toString();
    assert.deepEqual([curl('-H', `@${headerFile}`), curl()], ['200', '401']);
    const refused = await (await fetch(`${served.endpoints.admin}/admin/status`)).text();
    assert.ok(refused.includes(`curl -H @${headerFile} sends it`), refused);
    assert.ok(stdout.includes(`# curl: -H @${headerFile}`), stdout);
    assert.ok(stdout.includes(`export CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=${tokenFile}\n`), stdout);
    assert.equal(stdout.includes(`--ssh-flag='-p ${sshPort}'`), sshPort !== 22);
    await served.end('SIGTERM');
    assert.throws(() => shellLines(scratch.path, { project: 'p', zone: 'z' }), /no rehearsal serves/);
  });
});

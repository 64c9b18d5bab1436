import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refuseOtherKey } from '../../cli/job/job-edit.js';
import { changeLogin } from '../../cli/place/login/stored-logins.js';
import { copySecrets } from '../../cli/local/rehearse/private-stack.js';
import { publicLineFingerprint } from '../../cloud/hosts/private-key.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { showValue } from '../../domain/problem.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { JobView } from '../../contract/job.js';
import { writeKeyPair } from '../end-to-end/test-stack.js';
import { refusalOf, setEnvironment } from './command-line.js';

const HEAD = 'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\ncommand: { run: "true" }\nkeep: never\n';

describe('keys and secrets that a job names are looked at before anything is sent or started', () => {
  let folder: string;
  let file: string;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'job-keys-'));
    file = join(folder, 'job.yaml');
    environment = { ...process.env };
    for (const name of Object.keys(process.env)) if (/^(JOBCTL|TEMPORAL)_/.test(name)) delete process.env[name];
    process.env['JOBCTL_HOME'] = join(folder, 'no-stack');
    process.env['XDG_STATE_HOME'] = join(folder, 'state');
    // Nobody is there, whatever listens on Temporal's own port of this computer.
    process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1';
    process.env['JOBCTL_SECRET_STORE'] = pathToFileURL(join(folder, 'secrets')).href;
    await openSecretStore(process.env['JOBCTL_SECRET_STORE']).put('hf', 'value\n');
    writeKeyPair(folder);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'sesame', '-f', join(folder, 'locked')]);
    mkdirSync(join(folder, 'open'));
    chmodSync(writeKeyPair(join(folder, 'open')).privateKeyFile, 0o644);
  });
  after(() => {
    setEnvironment(environment);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Each verb that takes a job file. None of them gets as far as Temporal, which is not there. */
  const verbs: Record<string, (job: string) => readonly string[]> = {
    submit: (job) => ['submit', job],
    'restart --file': (job) => ['restart', 'a-job', '--file', job],
    'resume --file': (job) => ['resume', 'a-job', '--file', job],
    rehearse: (job) => ['rehearse', job, '--unconfined'],
  };
  const wrong: Record<string, readonly [text: string, want: (folder: string) => string]> = {
    'a key that is not there': [
      'ssh: { private_key: DIR/none }',
      (at) =>
        `4:21: private_key: '${at}/none' does not exist\n  looked for at ${at}/none; it is a file of the submitter's`,
    ],
    'a key that others can read': [
      'ssh: { private_key: DIR/open/id_ed25519 }',
      (at) =>
        `4:21: private_key: '${at}/open/id_ed25519' can be reached by others (mode 644)\n  chmod 600 ${at}/open/id_ed25519`,
    ],
    'a public key': [
      'ssh: { private_key: DIR/public }',
      (at) =>
        `4:21: private_key: '${at}/public' is a public key\n  wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase`,
    ],
    'an identity that is not there, and one in a relative path': [
      'ssh: { identities: [{ private_key: /no/such }, { private_key: keys/mine }] }',
      () =>
        "4:36: private_key: '/no/such' does not exist\n  looked for at /no/such; it is a file of the submitter's\n" +
        "JOB.YAML:4:63: private_key: 'keys/mine' is a relative path\n  the worker reads the key in place: write it absolute, or from ~/",
    ],
    'an identity with a passphrase': [
      'ssh: { identities: [{ private_key: DIR/locked }] }',
      (at) =>
        `4:36: private_key: '${at}/locked' is a key with a passphrase, which nobody is there to type\n  wanted: the private key of a pair, in OpenSSH or PEM form, without a passphrase`,
    ],
    "the first JobMan's pair, where others can read it": [
      'ssh: { tpu_private_key: DIR/open/id_ed25519 }',
      (at) =>
        `4:25: tpu_private_key: '${at}/open/id_ed25519' can be reached by others (mode 644)\n  chmod 600 ${at}/open/id_ed25519`,
    ],
    'a private key where its public half is wanted, which would be shown': [
      'ssh: { public_key: DIR/id_ed25519, private_key: DIR/id_ed25519 }',
      (at) =>
        `4:20: public_key: '${at}/id_ed25519' is no public key\n  wanted: one line, such as ssh-ed25519 AAAA..; write it anew: ssh-keygen -y -f ${at}/id_ed25519 > ${at}/id_ed25519.pub`,
    ],
    'a secret that nobody put': [
      'secrets: { TOKEN: nope }',
      (at) =>
        `4:19: TOKEN: there is no secret nope in the folder ${at}/secrets\n  put it: jobctl secret put nope --from-file FILE`,
    ],
    'an identity that is a secret nobody put': [
      'ssh: { identities: [{ private_key: secret:none }] }',
      (at) =>
        `4:36: private_key: there is no secret none in the folder ${at}/secrets\n  put it: jobctl secret put none --from-file FILE`,
    ],
  };
  for (const [verb, args] of Object.entries(verbs)) {
    for (const [name, [text, want]] of Object.entries(wrong)) {
      it(`${verb}: ${name}`, async () => {
        writeFileSync(join(folder, 'public'), readFileSync(join(folder, 'id_ed25519.pub')), { mode: 0o600 });
        writeFileSync(file, `${HEAD}${text.replaceAll('DIR', folder)}\n`);
        assert.deepEqual(await refusalOf(args(file)), {
          exitCode: 2,
          text: `${file}:${want(folder).replaceAll('JOB.YAML', file)}`,
        });
      });
    }
  }

  it('halves of two pairs, named or side by side, with both fingerprints; a secret is not compared', async () => {
    const [mine, other] = ['id_ed25519.pub', 'open/id_ed25519.pub'].map((name) =>
      publicLineFingerprint(readFileSync(join(folder, name), 'utf8')),
    );
    const other600 = join(folder, 'other');
    writeFileSync(other600, readFileSync(join(folder, 'open/id_ed25519')), { mode: 0o600 });
    writeFileSync(`${other600}.pub`, readFileSync(join(folder, 'id_ed25519.pub')));
    const text = `ssh:
  public_key: ${folder}/open/id_ed25519.pub
  private_key: ${folder}/id_ed25519
  identities: [{ private_key: ${other600} }, { private_key: secret:hf, public_key: ${folder}/id_ed25519.pub }]
`;
    writeFileSync(file, `${HEAD}${text}`);
    const anew = (path: string): string => `write it anew: ssh-keygen -y -f ${path}`;
    assert.deepEqual(await refusalOf(['submit', file]), {
      exitCode: 2,
      text: [
        `${file}:5:15: public_key: ${showValue(`${folder}/open/id_ed25519.pub`)} is ${other}, and '${folder}/id_ed25519' is ${mine}: they are no pair`,
        `  ${anew(`${folder}/id_ed25519`)} > ${folder}/id_ed25519.pub`,
        `${file}:7:31: private_key: '${other600}.pub' is ${mine}, and '${other600}' is ${other}: they are no pair`,
        `  ${anew(other600)} > ${other600}.pub`,
      ].join('\n'),
    });
  });

  it('restart --set: a secret that nobody put, since it would end a job that runs', async () => {
    const { exitCode, text } = await refusalOf(['restart', 'a-job', '--set', 'secrets.TOKEN=nope']);
    assert.deepEqual(
      [exitCode, text.split('\n')[0]],
      [2, `--set secrets.TOKEN=nope: secrets.TOKEN: there is no secret nope in the folder ${folder}/secrets`],
    );
  });

  it('restart --file: another key in the place of the one that the hosts accept, with both fingerprints', async () => {
    const [theirs, other] = ['id_ed25519', 'open/id_ed25519'].map((name) => {
      const publicKey = readFileSync(join(folder, `${name}.pub`), 'utf8').trim();
      return { publicKey, fingerprint: publicLineFingerprint(publicKey) ?? '' };
    }) as [{ publicKey: string; fingerprint: string }, { fingerprint: string }];
    const client = { describe: async () => ({ login: { user: 'me', publicKey: theirs.publicKey } }) as JobView };
    await refuseOtherKey(client, 'a', { path: '~/key', fingerprint: theirs.fingerprint });
    await assert.rejects(
      refuseOtherKey(client, 'a', { path: '~/key', fingerprint: other.fingerprint }),
      (error: Error) =>
        error.message.startsWith(
          `ssh.private_key: '~/key' is ${other.fingerprint} here, and the hosts of a accept ${theirs.fingerprint}\n`,
        ),
    );
  });

  for (const verb of ['restart', 'resume'])
    it(`${verb} --file asks the job which key its hosts accept, and asks it for nothing with another`, async () => {
      const asked: string[] = [];
      const publicKey = readFileSync(join(folder, 'open/id_ed25519.pub'), 'utf8').trim();
      const server = createServer(({ method, url }, response) => {
        asked.push(`${method} ${url}`);
        const answer = url?.endsWith('/description') ? { login: { user: 'me', publicKey } } : { id: 'me' };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const login = {
        kind: 'oidc',
        issuer: url,
        clientId: 'c',
        idToken: 'token',
        expiresAt: Date.now() + 3_600_000,
      } as const;
      try {
        await changeLogin(url, async () => login);
        writeFileSync(file, `${HEAD}ssh: { private_key: ${folder}/id_ed25519 }\n`);
        const { text } = await refusalOf([verb, 'a-job', '--file', file, '--server', url]);
        assert.match(text, /^ssh\.private_key: '.*' is SHA256:\S+ here, and the hosts of a-job accept SHA256:/);
        assert.deepEqual(asked, ['GET /v1/whoami', 'GET /v1/jobs/a-job/description']);
      } finally {
        server.close();
      }
    });

  it("a rehearsal's own store gets what the job names, byte for byte, and nothing else", async () => {
    const own = process.env['JOBCTL_SECRET_STORE'] ?? '';
    await openSecretStore(own).put('other', 'not asked for');
    const job = parseJobFile(`${HEAD}secrets: { A: hf, B: hf }\n`, { file: 'job.yaml', env: {}, set: [] });
    assert.ok(job.ok);
    const lent = pathToFileURL(join(folder, 'lent')).href;
    await copySecrets(job.spec, { secretStore: own }, { secretStore: lent });
    assert.deepEqual(
      (await openSecretStore(lent).list()).map(({ name }) => name),
      ['hf'],
    );
    assert.equal(await openSecretStore(lent).read('hf'), 'value\n');
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refuseOtherKey, submittersKey } from '../../activities/connecting-key.js';
import { setUpHosts } from '../../activities/attempt/set-up.js';
import type { ActivityDependencies, Installation } from '../../activities/dependencies.js';
import { ofJob, secretVariables } from '../../activities/secret-values.js';
import { checkSetUpInputs } from '../../activities/set-up-inputs.js';
import { keyReader, readPrivateKey } from '../../cloud/hosts/private-key.js';
import { newKeyLine } from '../../cloud/keys/key-reference.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { type SecretStore, SecretsUnavailable } from '../../cloud/secrets/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { trustOf } from '../../worker/keys.js';
import { writeKeyPair } from '../end-to-end/test-stack.js';
import { never } from '../hosts/session.js';

describe('secrets as a worker reads them', () => {
  let folder: string;
  let secrets: SecretStore;
  let installation: Installation;
  let own: ReturnType<typeof writeKeyPair>;
  let other: ReturnType<typeof writeKeyPair>;
  const textOf = (file: string): string => readFileSync(file, 'utf8');
  const fingerprintOf = (file: string): string => {
    const reading = readPrivateKey(textOf(file));
    return reading.kind === 'key' ? reading.fingerprint : assert.fail(reading.what);
  };

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'secret-values-'));
    secrets = openSecretStore(pathToFileURL(join(folder, 'secrets')).href);
    installation = {
      secrets,
      trust: trustOf({ verified: undefined }),
      keys: keyReader,
      readsKeyFiles: true,
      sshKey: { privateKey: 'installed' },
      publicKey: 'public',
    } as unknown as Installation;
    own = writeKeyPair(folder);
    other = writeKeyPair(mkdtempSync(join(folder, 'other-')));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('a variable gets the value without the newlines at its end, as $(cat FILE) does', async () => {
    await secrets.put('token', ' a b\nc\n\n');
    assert.deepEqual(await secretVariables(installation, { secrets: { TOKEN: 'token' } }), { TOKEN: ' a b\nc' });
    assert.deepEqual(await secretVariables(installation, {}), {});
  });

  it('one that is not there, and an installation without a store, are named with what to do; no value is', async () => {
    const spec = { secrets: { TOKEN: 'nope' } };
    await assert.rejects(
      secretVariables(installation, spec),
      /^ApplicationFailure: secrets\.TOKEN: there is no secret nope in the folder .*\n {2}put it: jobctl secret put nope/,
    );
    await assert.rejects(secretVariables({} as Installation, spec), /this installation has no secret store/);
    await secrets.put('binary', 'a\0b');
    await assert.rejects(secretVariables(installation, { secrets: { B: 'binary' } }), /holds a NUL byte/);
  });

  it("a job of a verified pool reads its project's alone, whichever way it names one", async () => {
    await secrets.put('vision--wandb', 'v');
    await secrets.put('vision', 'no project');
    await secrets.put('speech--wandb', 's');
    const verified = ofJob(installation, { project: 'Vision', isVerified: true });
    assert.deepEqual(await secretVariables(verified, { secrets: { W: 'vision--wandb' } }), { W: 'v' });
    for (const name of ['speech--wandb', 'token', 'vision', 'vision-x--wandb', 'vision--', 'xvision--wandb'])
      await assert.rejects(
        secretVariables(verified, { secrets: { W: name } }),
        name === 'vision--'
          ? /there is no secret vision--/
          : /is not one of project Vision, whose secrets are named vision--NAME\n {2}put it .*secret put vision--/,
      );
    await assert.rejects(
      submittersKey(verified, { privateKey: 'secret:speech--wandb' }),
      /is not one of project Vision/,
    );
    // In trusted mode nothing changes.
    const trusted = ofJob(installation, { project: 'vision' });
    assert.deepEqual(await secretVariables(trusted, { secrets: { W: 'speech--wandb' } }), { W: 's' });
  });

  it('H13: of projects whose names differ in what no secret can have, one owns it; without a project nobody does', async () => {
    const read = async (project: string, name: string): Promise<string> => {
      await secrets.put(name, `in ${name}`);
      const job = ofJob(installation, { project, isVerified: true });
      return secretVariables(job, { secrets: { W: name } }).then(
        ({ W = '' }) => W,
        ({ message }: Error) => message,
      );
    };
    assert.equal(await read('vision_a', 'vision_a--wandb'), 'in vision_a--wandb');
    assert.equal(await read('Vision_A', 'vision_A--key'), 'in vision_A--key');
    for (const project of [
      'vision.a',
      'vision+a',
      'vision@a',
      'vision a',
      'visi\u00f6n_a',
      'vision_a-',
      '_vision',
      'a--b',
    ])
      assert.match(await read(project, 'vision_a--wandb'), /cannot be one of project .*, which owns none: its name is/);
    for (const project of ['none', 'None'])
      assert.match(await read(project, 'none--wandb'), /secret none--wandb is not for a job without a project/);
  });

  it('H2: what nobody verified reads no secret of a project where a worker verifies, and all where none does', async () => {
    await secrets.put('speech--wandb', 's');
    await secrets.put('shared', 'x');
    const job = { project: 'speech' };
    const verifying = { ...installation, trust: { ...installation.trust, hasVerifiedPools: true } };
    const values = (of: Installation, name: string) => secretVariables(ofJob(of, job), { secrets: { W: name } });
    assert.deepEqual(await values(verifying, 'shared'), { W: 'x' });
    await assert.rejects(values(verifying, 'speech--wandb'), /nobody has verified whose job this is/);
    await assert.rejects(
      submittersKey(ofJob(verifying, job), { privateKey: 'secret:speech--wandb' }),
      /nobody has verified whose job this is/,
    );
    assert.deepEqual(await values(installation, 'speech--wandb'), { W: 's' });
  });

  it('a store that is away for a moment ends nothing', async () => {
    let calls = 0;
    const flaky = {
      ...secrets,
      read: async () => {
        calls += 1;
        if (calls === 1) throw new SecretsUnavailable('away');
        return 'value';
      },
    };
    const found = await secretVariables({ ...installation, secrets: flaky }, { secrets: { A: 'a' } });
    assert.deepEqual([found, calls], [{ A: 'value' }, 2]);
  });

  it('a key that is a secret connects, its public half computed', async () => {
    await secrets.put('my-key', textOf(own.privateKeyFile));
    const { privateKey, publicKey } = await submittersKey(installation, { privateKey: 'secret:my-key' });
    assert.equal(privateKey, textOf(own.privateKeyFile));
    assert.equal(publicKey, textOf(own.publicKeyFile).split(' ').slice(0, 2).join(' '));
  });

  it('a public key of another pair is refused with both fingerprints', async () => {
    const ssh = { privateKey: own.privateKeyFile, publicKey: other.publicKeyFile };
    await assert.rejects(submittersKey(installation, ssh), (error: Error) => {
      for (const file of [own, other]) assert.ok(error.message.includes(fingerprintOf(file.privateKeyFile)));
      return true;
    });
  });

  it("another key under the submitter's path is refused with both fingerprints and what to write instead", () => {
    const named = { field: 'ssh.private_key', path: own.privateKeyFile };
    const key = { privateKey: textOf(own.privateKeyFile) };
    refuseOtherKey(installation, named, key, undefined);
    refuseOtherKey(installation, named, key, fingerprintOf(own.privateKeyFile));
    refuseOtherKey(installation, { ...named, path: 'secret:a' }, key, fingerprintOf(other.privateKeyFile));
    assert.throws(
      () => refuseOtherKey(installation, named, key, fingerprintOf(other.privateKeyFile)),
      (error: Error) => {
        for (const file of [own, other]) assert.ok(error.message.includes(fingerprintOf(file.privateKeyFile)));
        assert.match(
          error.message,
          /jobctl secret put my-key --from-file .*\n {2}and write ssh\.private_key: secret:my-key/,
        );
        return true;
      },
    );
  });

  it('a job whose identity is another file on the computer of the worker is refused before anything is asked for', async () => {
    const spec = { identities: [{ privateKey: own.privateKeyFile }] } as unknown as JobSpec;
    const claimed = (file: string) => ({ identityKeys: { [own.privateKeyFile]: fingerprintOf(file) } });
    await checkSetUpInputs(installation, spec, {});
    await checkSetUpInputs(installation, spec, claimed(own.privateKeyFile));
    // As another service may say that it has none.
    const none = { files: null, identityKeys: null } as unknown as Parameters<typeof checkSetUpInputs>[2];
    await checkSetUpInputs(installation, spec, none);
    const inForm = { identityKeys: { [own.privateKeyFile]: null } } as unknown as typeof none;
    await checkSetUpInputs(installation, spec, inForm);
    await assert.rejects(
      checkSetUpInputs(installation, spec, claimed(other.privateKeyFile)),
      /^ApplicationFailure: ssh\.identities: private_key: '.*' is SHA256:.* where the job was submitted, and SHA256:[\s\S]*write ssh\.identities: private_key: secret:my-key$/,
    );
  });

  it('its set-up refuses it too: the worker that makes it may be another than the one that took the job', async () => {
    const spec = { identities: [{ privateKey: own.privateKeyFile }] };
    const input = { spec, identityKeys: { [own.privateKeyFile]: fingerprintOf(other.privateKeyFile) }, settings: {} };
    const setUp = setUpHosts({ installation } as ActivityDependencies, input as unknown as AttemptInput, never);
    await assert.rejects(
      setUp,
      /^ApplicationFailure: ssh\.identities: private_key: '.*' is SHA256:.* where the job was/,
    );
  });

  it('a worker that reads no key files refuses a path without a look at it, be it there or not', async () => {
    const ofTeam = { ...installation, readsKeyFiles: false };
    await secrets.put('my-key', textOf(own.privateKeyFile));
    for (const path of [own.privateKeyFile, '/no/such/key', '~/.ssh/id_ed25519']) {
      const words = `'${path}' is a path, and this worker reads no key files\n  give the worker yours: jobctl secret put`;
      const isRefused = (error: Error): boolean => error.message.includes(words);
      await assert.rejects(submittersKey(ofTeam, { privateKey: path }), isRefused);
      await assert.rejects(submittersKey(ofTeam, { privateKey: 'secret:my-key', publicKey: path }), isRefused);
      const spec = { identities: [{ privateKey: path }] } as unknown as JobSpec;
      await assert.rejects(checkSetUpInputs(ofTeam, spec, {}), isRefused);
    }
    const { privateKey } = await submittersKey(ofTeam, { privateKey: 'secret:my-key' });
    assert.equal(privateKey, textOf(own.privateKeyFile));
  });

  it('a job-key secret is no key that a job can name, and what is in its file is in no message', async () => {
    const line = newKeyLine(new Date(0), 'id');
    const file = join(folder, 'job-key-secret');
    writeFileSync(file, `${line}\n`, { mode: 0o600 });
    const spec = { identities: [{ privateKey: file }] } as unknown as JobSpec;
    for (const refused of [checkSetUpInputs(installation, spec, {}), submittersKey(installation, { privateKey: file })])
      await assert.rejects(refused, (error: Error) => {
        assert.match(error.message, /job-key-secret' is no private key that can be read$/);
        return !error.message.includes(line.slice(3, 20));
      });
  });

  it("no host gets the installation's own key, by path or as a secret", async () => {
    const self = { ...installation, publicKey: textOf(own.publicKeyFile) };
    await secrets.put('theirs', textOf(own.privateKeyFile));
    for (const privateKey of [own.privateKeyFile, 'secret:theirs']) {
      const spec = { identities: [{ privateKey }] } as unknown as JobSpec;
      await assert.rejects(checkSetUpInputs(self, spec, {}), /is the installation's own key, which no host gets\n/);
    }
    await checkSetUpInputs(self, { identities: [{ privateKey: other.privateKeyFile }] } as unknown as JobSpec, {});
    // It may connect, as it does for a job that names none.
    assert.equal(
      (await submittersKey(self, { privateKey: own.privateKeyFile })).privateKey,
      textOf(own.privateKeyFile),
    );
  });
});

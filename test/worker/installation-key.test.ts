import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkerConfigError } from '../../worker/config.js';
import { readInstallationKey } from '../../worker/keys.js';
import { makeKeyPair } from '../hosts/ssh-host.js';

describe("the installation's key pair", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'installation-key-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const files = (privateKey: string, publicKey: string, mode = 0o600) => {
    const ssh = { privateKeyFile: join(folder, 'key'), publicKeyFile: join(folder, 'key.pub') };
    writeFileSync(ssh.privateKeyFile, privateKey);
    chmodSync(ssh.privateKeyFile, mode);
    writeFileSync(ssh.publicKeyFile, publicKey);
    return ssh as Parameters<typeof readInstallationKey>[0];
  };
  const refuses = (ssh: Parameters<typeof readInstallationKey>[0], words: RegExp): void =>
    assert.throws(
      () => readInstallationKey(ssh),
      (error: Error) => {
        assert.ok(error instanceof WorkerConfigError);
        assert.match(error.message, words);
        return true;
      },
    );
  const pair = makeKeyPair();

  it('is read where it is one', () => {
    assert.deepEqual(readInstallationKey(files(pair.private, `${pair.public} me@here\n`)), {
      sshKey: { privateKey: pair.private },
      publicKey: `${pair.public} me@here`,
    });
  });

  it('that others can read is refused with the command that mends it', () =>
    refuses(
      files(pair.private, pair.public, 0o644),
      /^ssh\.privateKeyFile: \S+key can be read by others \(mode 644\)\n {2}chmod 600 \S+key$/,
    ));

  it('whose halves are of two pairs is refused with both fingerprints', () =>
    refuses(
      files(pair.private, makeKeyPair().public),
      /^ssh\.publicKeyFile: \S+ is SHA256:\S{43}, and \S+ is SHA256:\S{43}: they are no pair\n/,
    ));

  it('with a passphrase is named, and so is a public key in its place', () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'secret words', '-f', join(folder, 'locked')]);
    const ssh = { ...files(pair.private, pair.public), privateKeyFile: join(folder, 'locked') };
    refuses(ssh, /^ssh\.privateKeyFile: \S+locked is a key with a passphrase, .*\n {2}wanted: .* without a passphrase/);
    refuses(files(pair.public, pair.public), /^ssh\.privateKeyFile: \S+ is a public key\n/);
  });

  it('that is not there is named', () =>
    refuses({ ...files('', ''), privateKeyFile: '/nowhere/key' }, /\/nowhere\/key cannot be read \(ENOENT\)$/));
});

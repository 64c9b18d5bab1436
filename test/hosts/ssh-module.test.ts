import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { modulePlans } from '../../activities/module-plans.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { SshIdentity } from '../../domain/modules/ssh.js';
import { applyModule } from './apply-modules.js';
import { makeKeyPair } from './ssh-host.js';
import type { HostSession } from './session.js';
import { withHost } from './session.js';

const [first, second] = [makeKeyPair(), makeKeyPair()].map((pair) => ({
  privateKey: pair.private,
  publicKey: pair.public,
}));
const lonePair: SshIdentity = { privateKey: '~/.ssh/id_rsa', isBetweenHosts: true };
const github: SshIdentity = { privateKey: '~/keys/github', configEntry: 'Host github.com\n  User git\n' };

function plan(identities: readonly SshIdentity[], keys = [first!, second!]): ModulePlan {
  const [made] = modulePlans({ modules: ['ssh'], identities }, { files: new Map(), keys });
  assert.ok(made);
  return made;
}

const apply = async ({ connection }: HostSession, made: ModulePlan): Promise<string> => {
  const { kind, output } = await applyModule(connection, made);
  assert.notEqual(kind, 'failed', output);
  return kind;
};
const mode = (session: HostSession, path: string): number => statSync(join(session.host.home, path)).mode & 0o777;

describe('the module ssh', () => {
  it('copies keys with their modes and merges the config between its marker lines', () =>
    withHost(async (session) => {
      mkdirSync(join(session.host.home, '.ssh'));
      writeFileSync(join(session.host.home, '.ssh/config'), 'Host mine\n  User me');
      assert.equal(await apply(session, plan([lonePair, github])), 'done');
      assert.deepEqual(
        ['.ssh', '.ssh/id_rsa', '.ssh/id_rsa.pub', '.ssh/config'].map((path) => mode(session, path)),
        [0o700, 0o600, 0o644, 0o600],
      );
      assert.equal(session.read('.ssh/id_rsa').trim(), first!.privateKey.trim());
      assert.equal(session.read('.ssh/github.pub').trim(), second!.publicKey.trim());
      const config = session.read('.ssh/config');
      assert.match(config, /^Host mine\n {2}User me\n# >>> jobctl/);
      assert.match(config, /\nHost 10\.\* .*\n {2}IdentityFile ~\/\.ssh\/id_rsa\n {2}StrictHostKeyChecking no\n/);
      assert.match(config, /\nHost github\.com\n {2}User git\n {2}IdentityFile ~\/\.ssh\/github\n# <<< jobctl\n$/);
      assert.equal(session.read('.ssh/authorized_keys'), `${first!.publicKey.trim()}\n`);
      assert.equal(await apply(session, plan([lonePair, github])), 'unchanged');

      assert.equal(await apply(session, plan([github], [second!])), 'done');
      const after = session.read('.ssh/config');
      assert.equal(after.match(/# >>> jobctl/g)?.length, 1);
      assert.match(after, /^Host mine\n {2}User me\n# >>> jobctl/);
      assert.doesNotMatch(after, /id_rsa/);
    }));

  const changes: Record<string, (home: string) => void> = {
    'a key is another': (home) => writeFileSync(join(home, '.ssh/id_rsa'), 'other'),
    'a key is gone': (home) => rmSync(join(home, '.ssh/id_rsa.pub')),
    'a mode is another': (home) => chmodSync(join(home, '.ssh/id_rsa'), 0o644),
    'the config was overwritten': (home) => writeFileSync(join(home, '.ssh/config'), 'Host x\n'),
    'the hosts may not log in any more': (home) => writeFileSync(join(home, '.ssh/authorized_keys'), 'ssh-rsa AAAA x'),
  };
  for (const [name, change] of Object.entries(changes)) {
    it(`mends what is there when ${name}`, () =>
      withHost(async (session) => {
        await apply(session, plan([lonePair]));
        change(session.host.home);
        assert.equal(await apply(session, plan([lonePair])), 'done');
        assert.equal(await apply(session, plan([lonePair])), 'unchanged');
        assert.equal(session.read('.ssh/id_rsa').trim(), first!.privateKey.trim());
        assert.match(session.read('.ssh/authorized_keys'), /^(ssh-rsa AAAA x\n)?ssh-ed25519 .*\n$/);
      }));
  }

  it('is another module for another key, also under the same name', () => {
    assert.notEqual(plan([lonePair]).fingerprint, plan([lonePair], [second!]).fingerprint);
    assert.doesNotMatch(JSON.stringify(plan([lonePair]).steps.map(({ script }) => script)), /PRIVATE KEY/);
  });
});

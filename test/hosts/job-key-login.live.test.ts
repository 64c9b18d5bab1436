import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onEachHost, oneHost, type SshReach } from '../../cli/jobs/hosts/reach.js';
import { loginKey, loggedInAs } from '../../cli/jobs/hosts/keys.js';
import { startOpenSsh } from '../../cli/jobs/hosts/shell.js';
import type { Route } from '../../cli/jobs/hosts/job-hosts.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { deriveJobKey } from '../../cloud/job-keys/open-job-keys.js';
import type { JobView } from '../../contract/job.js';
import { type LoginTry, tryLogin } from './open-ssh-client.js';
import { type OpenSshd, startOpenSshd } from './open-sshd.js';
import { takeOctet } from '../../rehearsal/test/subnet-octets.js';
import { never } from './session.js';

const { octet } = await takeOctet();
const SECRET = { id: 'test', secret: createSecretKey(randomBytes(32)) };
const [KEY_OF_A, KEY_OF_B] = ['a', 'b'].map((id) => deriveJobKey(SECRET, { id, run: 'run' })) as [
  ReturnType<typeof deriveJobKey>,
  ReturnType<typeof deriveJobKey>,
];

describe('a host that lets the key of job a in, under a real sshd', () => {
  let sshd: OpenSshd;
  before(async () => {
    const authorized = { private: '', public: KEY_OF_A.publicKey };
    sshd = await startOpenSshd({ authorized, address: `127.${octet}.0.9`, port: 24_219 });
  });
  after(() => sshd.stop());

  it('lets OpenSSH in by that key, and refuses the key of job b', async () => {
    const [a, b] = (await Promise.all(
      [KEY_OF_A, KEY_OF_B].map(({ privateKey }) => tryLogin(sshd, privateKey, 'echo in')),
    )) as [LoginTry, LoginTry];
    assert.deepEqual([a.code, a.out], [0, 'in\n'], a.err);
    assert.deepEqual([b.code, b.out], [255, ''], b.err);
    assert.match(b.err, /Permission denied \(publickey/);
  });

  it('lets the fleet in by that key, and refuses the key of job b', async () => {
    const fleet = createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins() });
    try {
      const connection = await fleet.connect(sshd.target, KEY_OF_A, never);
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      await assert.rejects(fleet.connect(sshd.target, KEY_OF_B, never), (error: Error) => {
        assert.ok(error instanceof HostUnreachable);
        assert.match(error.message, /it refused the key SHA256:/);
        return true;
      });
    } finally {
      fleet.release();
    }
  });

  it('under OS Login is entered by the installation’s key, and the job’s key is not told to Google', async () => {
    const told: string[] = [];
    const otherUserOf = async (_: unknown, publicKey: string): Promise<string> => {
      told.push(publicKey);
      return sshd.user;
    };
    const fleet = createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins(), otherUserOf });
    try {
      const refused = { ...sshd.target, user: 'nobody-here' };
      const ofJob = { privateKey: KEY_OF_B.privateKey, underOsLogin: { privateKey: KEY_OF_A.privateKey } };
      const connection = await fleet.connect(refused, ofJob, never);
      assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
      assert.deepEqual(told, [KEY_OF_A.publicKey]);
    } finally {
      fleet.release();
    }
  });

  it('is entered by exec and by the OpenSSH client of ssh with a key that is made here; a key of one’s own wants its user', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'job-key-login-'));
    try {
      const file = join(folder, 'secret');
      writeFileSync(file, `test:${SECRET.secret.export().toString('base64')}`, { mode: 0o600 });
      const jobKeys = { current: pathToFileURL(file).href };
      const reach = await reachBy({ port: sshd.port, address: 'external', jobKeys }, sshd.user);
      const [exec] = await onEachHost(reach, never, (connection) => connection.runStatus('a-a1'));
      assert.deepEqual(exec?.kind === 'done' && exec.value, { kind: 'absent' }, JSON.stringify(exec));
      let said = '';
      const words = ['-F', 'none', 'echo in; exit 7'];
      const ssh = await startOpenSsh(reach, oneHost(reach), words, (text) => (said += text));
      assert.deepEqual([await ssh.exitCode, said], [7, 'in\n']);

      const identity = join(folder, 'own');
      writeFileSync(identity, KEY_OF_A.privateKey, { mode: 0o600 });
      const own = await reachBy({ port: sshd.port, address: 'external', identity, login: sshd.user }, 'nobody-here');
      const [entered] = await onEachHost(own, never, (connection) => connection.runStatus('a-a1'));
      assert.equal(entered?.kind, 'done', JSON.stringify(entered));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  /** As `reachHosts` comes to it, of a job that Temporal says has this host. @param user of the job there */
  async function reachBy(route: Route, user: string): Promise<SshReach> {
    const login = { user, publicKey: KEY_OF_A.publicKey };
    const view = { id: 'a', run: 'run', spec: {} } as JobView;
    const context = { temporal: {} };
    const record = { publicKey: sshd.hostKey, source: 'first-use', at: 0 } as const;
    const host = { number: 0, node: 'node', target: { ...sshd.target, user } };
    const found = new Map([[host, record]]);
    const key = await loginKey({ job: 'a', view, login, hosts: [host] }, { route, context, isUnderOsLogin: false });
    const keys = route.login === undefined ? found : loggedInAs(found, route.login);
    const store = { bucket: 'b' } as SshReach['store'];
    return { by: 'ssh', job: 'a', context, store, route, key, keys, hosts: [...keys.keys()] };
  }
});

import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-pins.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { deriveJobKey } from '../../cloud/job-keys/job-keys.js';
import { type LoginTry, tryLogin } from './open-ssh-client.js';
import { hasOpenSshd, type OpenSshd, startOpenSshd } from './open-sshd.js';
import { never } from './session.js';

const SECRET = { id: 'test', secret: createSecretKey(randomBytes(32)) };
const [KEY_OF_A, KEY_OF_B] = ['a', 'b'].map((id) => deriveJobKey(SECRET, { id, run: 'run' })) as [
  ReturnType<typeof deriveJobKey>,
  ReturnType<typeof deriveJobKey>,
];

(hasOpenSshd ? describe : describe.skip)('a host that lets the key of job a in, under a real sshd', () => {
  let sshd: OpenSshd;
  before(async () => {
    const authorized = { private: '', public: KEY_OF_A.publicKey };
    sshd = await startOpenSshd({ authorized, address: '127.205.0.9', port: 24_219 });
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
});

import assert from 'node:assert/strict';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-pins.js';
import { OsLogin, type ProjectRequests } from '../../cloud/hosts/os-login.js';
import { HostUnreachable, type SshTarget } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { hasOpenSshd, startOpenSshd } from './open-sshd.js';
import { never, ourKey } from './session.js';

const key = { privateKey: ourKey.private };
const ref = { kind: 'cloud-tpu', googleProject: 'p', zone: 'us-west4-a', name: 'jc-a-g1', mode: 'tpu-vm' } as const;
const target: SshTarget = { reach: 'ssh', ref, uid: '1', slice: 0, index: 0, address: '10.0.0.5', user: 'ada' };

interface Google {
  readonly project?: string;
  readonly node?: Readonly<Record<string, string>>;
  readonly email?: string;
  readonly accounts?: readonly object[];
}

/** What Google answers, in the form of its reference; no OS Login can be had here. */
function osLogin({ project, node = {}, email = 'sa@p.iam', accounts = [] }: Google) {
  const asked: string[] = [];
  const items = project === undefined ? [] : [{ key: 'enable-oslogin', value: project }];
  const requests: ProjectRequests = {
    identity: async () => ({ kind: 'service-account', ...(email !== '' && { email }) }),
    get: async <T>(service: string, path: string) => {
      asked.push(`${service} ${path}`);
      return { commonInstanceMetadata: { items } } as T;
    },
    post: async <T>(service: string, path: string, body: object) => {
      asked.push(`${service} ${path} ${JSON.stringify(body)}`);
      return { loginProfile: { posixAccounts: accounts } } as T;
    },
  };
  return { asked, login: new OsLogin(() => requests, { readNodeMetadata: async () => node }) };
}

describe('OS Login', () => {
  const accounts = [{ username: 'other' }, { username: 'sa_123', primary: true }];

  it('is on where the project says so: the key goes into the profile, and its primary account is the user', async () => {
    const { asked, login } = osLogin({ project: 'TRUE', accounts });
    assert.equal(await login.userOf(target, 'ssh-ed25519 AAAA'), 'sa_123');
    assert.equal(await login.userOf({ ...target, index: 1 }, 'ssh-ed25519 AAAA'), 'sa_123');
    assert.deepEqual(asked, [
      'compute /compute/v1/projects/p',
      'oslogin /v1/users/sa%40p.iam:importSshPublicKey?projectId=p {"key":"ssh-ed25519 AAAA"}',
    ]);
  });

  it("is off or on as the node says, whatever its project's metadata say", async () => {
    assert.equal(
      await osLogin({ project: 'TRUE', node: { 'enable-oslogin': 'FALSE' }, accounts }).login.userOf(target, 'k'),
      undefined,
    );
    assert.equal(await osLogin({ node: { 'enable-oslogin': 'true' }, accounts }).login.userOf(target, 'k'), 'sa_123');
    assert.equal(await osLogin({ accounts }).login.userOf(target, 'k'), undefined);
  });

  it('that cannot be used says where it is on, why, and what to do', async () => {
    await assert.rejects(osLogin({ project: 'TRUE' }).login.userOf(target, 'k'), {
      message:
        "OS Login is on (metadata of project p), so the key in the metadata 'ssh-keys' counts for nothing, and it cannot be used: " +
        "the login profile of sa@p.iam has no POSIX account; the worker's account needs roles/compute.osAdminLogin there, or set enable-oslogin=FALSE in the job's tpu.metadata",
    });
  });
});

(hasOpenSshd ? describe : describe.skip)('a host that refuses the login', () => {
  it('is logged in to as the user that OS Login knows; else it says both', async () => {
    const sshd = await startOpenSshd({ authorized: ourKey, address: '127.205.0.2', port: 24_206 });
    const stranger = { ...sshd.target, user: 'nobody-here' };
    const fleetWith = (otherUserOf: () => Promise<string | undefined>) =>
      createSshHosts({ port: sshd.port, hostKeys: memoryHostKeyPins(), otherUserOf });
    const known = fleetWith(async () => sshd.user);
    const connection = await known.connect(stranger, key, never);
    assert.deepEqual(await connection.runStatus('train-a1'), { kind: 'absent' });
    known.release();
    const failing = fleetWith(() => Promise.reject(new Error('OS Login is on (here)')));
    await assert.rejects(failing.connect(stranger, key, never), (error: Error) => {
      assert.ok(error instanceof HostUnreachable);
      assert.match(
        error.message,
        /it refused the key SHA256:\S{43} for user nobody-here; .*; OS Login is on \(here\)$/,
      );
      return true;
    });
    await assert.rejects(fleetWith(async () => undefined).connect(stranger, key, never), /for user nobody-here/);
    await sshd.stop();
  });
});

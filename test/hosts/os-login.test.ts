import assert from 'node:assert/strict';
import { OsLogin, type ProjectRequests } from '../../cloud/hosts/os-login.js';
import type { SshTarget } from '../../cloud/hosts/port.js';

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

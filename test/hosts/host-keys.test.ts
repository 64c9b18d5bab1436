import assert from 'node:assert/strict';
import { recordedKeys } from '../../cli/jobs/hosts/keys.js';
import { GuestHostKeys, type HostKeyPolicy, StoredHostKeys } from '../../cloud/hosts/stored-host-keys.js';
import { fingerprintOfLine, hostKeysOf } from '../../cloud/hosts/host-key-record.js';
import {
  type HostsPort,
  type SshTarget,
  HostKeyMismatch,
  HostKeyUnverified,
  HostUnreachable,
} from '../../cloud/hosts/port.js';
import { createSshHosts, type SshHostsOptions } from '../../cloud/hosts/ssh-fleet.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { hostKeyObject } from '../../domain/store-layout.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { GOOGLE_PROJECT, slicePlan } from '../cloud/cloud-tpu-plan.js';
import { makeReady } from '../cloud/machines-conformance.js';
import { until } from '../until.js';
import { never, ourKey, withHost } from './session.js';
import { startTestHost } from './ssh-host.js';

const key = { privateKey: ourKey.private };

describe('recorded host keys', () => {
  let cloud: RehearsedCloud;
  let store: StorePort;
  let tpu: ReturnType<typeof createCloudTpu>;
  let targets: readonly SshTarget[];
  let guestCalls = 0;
  const fleets: HostsPort[] = [];

  before(async function () {
    this.timeout(60_000);
    cloud = await startRehearsedCloud();
    const place = { endpoint: cloud.storeEndpoint, bucket: 'host-keys', projectId: GOOGLE_PROJECT };
    await ensureBucket(place);
    store = createStore(place);
    tpu = cloud.tpuPort({ onCall: (method) => void (guestCalls += method === 'GetGuestAttributes' ? 1 : 0) });
    const plan = slicePlan('keys', 'tpu-vm', { metadata: { 'ssh-keys': `ada:${ourKey.public}` } });
    const { hosts, uid } = await makeReady({ port: tpu, deadlineMs: 20_000 }, plan);
    targets = hosts.map(({ index, internalIp }) => ({
      ref: plan.ref,
      reach: 'ssh' as const,
      uid,
      slice: 0,
      index,
      address: internalIp,
      user: 'ada',
    }));
  });
  after(async () => cloud.stop());
  afterEach(async () => {
    for (const fleet of fleets.splice(0)) fleet.release();
    for (const { name } of await store.list('')) await store.remove(name);
    await cloud.admin('configure', { guestAttributes: [] });
    guestCalls = 0;
  });

  /** Another worker: with a memory of its own. */
  const worker = (
    port: number,
    policy: HostKeyPolicy = 'allow-first-use',
    waitMs = 0,
    otherUserOf?: SshHostsOptions['otherUserOf'],
  ): HostsPort => {
    const hostKeys = new StoredHostKeys({ store, guest: new GuestHostKeys(tpu, waitMs), policy });
    const fleet = createSshHosts({ port, hostKeys, ...(otherUserOf && { otherUserOf }) });
    fleets.push(fleet);
    return fleet;
  };
  const rehearsedVm = (): SshTarget => targets[0] ?? assert.fail('a slice without hosts');

  it('hold for every worker: another key under the same node id is refused, until its record is removed', () =>
    withHost(async ({ host: first }) => {
      await worker(first.port).connect(first.target, key, never);
      const known = (await hostKeysOf(store, '4711')).get(2);
      assert.equal(known?.source, 'first-use');
      assert.match(known?.publicKey ?? '', /^ssh-ed25519 AAAA\S+$/);
      const second = await startTestHost({ authorized: ourKey });
      const other = worker(second.port);
      await assert.rejects(other.connect(second.target, key, never), (error: Error) => {
        assert.ok(error instanceof HostKeyMismatch);
        assert.ok(
          error.message.includes(`node 4711 was seen with ${fingerprintOfLine(known?.publicKey ?? '')} (first-use, `),
        );
        assert.match(
          error.message,
          /nothing was sent to it\. .* remove its record gs:\/\/host-keys\/system\/host-keys\/4711\/2 and /,
        );
        return true;
      });
      await store.remove(hostKeyObject('4711', 2));
      await other.connect(second.target, key, never);
      await second.stop();
    }));

  it('are one, when two workers see two hosts under one node id at once', async () => {
    const hosts = await Promise.all([1, 2].map(() => startTestHost({ authorized: ourKey })));
    const ends = await Promise.allSettled(hosts.map((host) => worker(host.port).connect(host.target, key, never)));
    assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const reason = ends.find((end) => end.status === 'rejected')?.reason as unknown;
    assert.ok(reason instanceof HostKeyMismatch, String(reason));
    await Promise.all(hosts.map((host) => host.stop()));
  });

  it('tell whom a VM let in: verbs log in as the user of OS Login that the worker found', async () => {
    const target = { ...rehearsedVm(), user: 'not-ada' };
    const asked: string[] = [];
    const finds = worker(2222, 'allow-first-use', 0, async ({ user }) => {
      asked.push(user);
      return 'ada';
    });
    await finds.connect(target, key, never);
    assert.deepEqual(asked, ['not-ada']);
    const host = { number: 0, node: 'jc-a-g1', target };
    const verbs = worker(2222);
    await assert.rejects(verbs.connect(target, key, never), /it refused the key SHA256:\S+ for user not-ada/);
    const [[{ target: letIn }] = assert.fail('no record')] = [...(await recordedKeys(store, [host]))];
    assert.equal(letIn.user, 'ada');
    await verbs.connect(letIn, key, never);
    // The record of an older worker names nobody: the job's own user stands.
    const name = hostKeyObject(target.uid, target.index);
    const { user: _, ...older } = JSON.parse(String(await store.read(name))) as Record<string, unknown>;
    await store.replace(name, JSON.stringify(older), 'application/json');
    const [[old] = assert.fail('no record')] = [...(await recordedKeys(store, [host]))];
    assert.equal(old.target.user, 'not-ada');
  });

  it('come from the guest attributes, by one call for all hosts of a node', async () => {
    assert.ok(targets.length > 1);
    const fleet = worker(2222, 'require-guest-attributes');
    await Promise.all(targets.map((target) => fleet.connect(target, key, never)));
    const records = [...(await hostKeysOf(store, rehearsedVm().uid))];
    assert.deepEqual(
      records.map(([index]) => index).sort((a, b) => a - b),
      targets.map(({ index }) => index),
    );
    assert.ok(records.every(([, { source }]) => source === 'guest-attributes'));
    assert.equal(guestCalls, 1);
    await worker(2222, 'require-guest-attributes').connect(rehearsedVm(), key, never);
    assert.equal(guestCalls, 1, 'a recorded key needs no call');
  });

  it('are waited for until the agent of the VM has written them', async () => {
    await cloud.admin('configure', { guestAttributes: [{ afterMs: 3_600_000 }] });
    const connecting = worker(2222, 'require-guest-attributes', 60_000).connect(rehearsedVm(), key, never);
    await until('the first answer had none', () => guestCalls > 1);
    await cloud.admin('configure', { guestAttributes: [{ afterMs: 0 }] });
    await connecting;
    assert.ok(guestCalls >= 2, `${guestCalls} calls`);
  });

  it('are pinned at first use where guest attributes are switched off, unless the policy requires them', async () => {
    await cloud.admin('configure', { guestAttributes: [{ forbidden: true }] });
    await assert.rejects(
      worker(2222, 'require-guest-attributes').connect(rehearsedVm(), key, never),
      (error: Error) => {
        assert.ok(error instanceof HostKeyUnverified);
        assert.match(
          error.message,
          /^host 0 of node \S+: its host key is not in its guest attributes \(.*disabled.*\), and the worker's ssh\.hostKeyPolicy requires it; nothing was sent to it\./,
        );
        return true;
      },
    );
    await worker(2222).connect(rehearsedVm(), key, never);
    assert.equal((await hostKeysOf(store, rehearsedVm().uid)).get(0)?.source, 'first-use');
    // What somebody saw is not what the policy requires.
    await assert.rejects(
      worker(2222, 'require-guest-attributes').connect(rehearsedVm(), key, never),
      HostKeyUnverified,
    );
    await cloud.admin('configure', { guestAttributes: [] });
    await worker(2222, 'require-guest-attributes').connect(rehearsedVm(), key, never);
    assert.equal((await hostKeysOf(store, rehearsedVm().uid)).get(0)?.source, 'guest-attributes');
  });

  it('that are required and not written yet make a host one that cannot be reached yet', async () => {
    await cloud.admin('configure', { guestAttributes: [{ afterMs: 86_400_000 }] });
    await assert.rejects(worker(2222, 'require-guest-attributes').connect(rehearsedVm(), key, never), HostUnreachable);
  });

  it('are replaced where the guest attributes name the new one: the VM was made anew', async () => {
    await withHost(async ({ host }) => {
      await worker(host.port).connect({ ...host.target, uid: rehearsedVm().uid, index: 0 }, key, never);
    });
    const before = (await hostKeysOf(store, rehearsedVm().uid)).get(0);
    await worker(2222).connect(rehearsedVm(), key, never);
    const after = (await hostKeysOf(store, rehearsedVm().uid)).get(0);
    assert.notEqual(after?.publicKey, before?.publicKey);
    assert.equal(after?.source, 'guest-attributes');
    assert.deepEqual([after.user, typeof before?.user], [before?.user, 'string'], 'it lets the same user in');
  });
});

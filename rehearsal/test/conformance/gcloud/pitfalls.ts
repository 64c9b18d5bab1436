import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RehearsalSide, Target } from './target.js';
import { TpuCommands } from './tpu-vm.js';

/** What gcloud does where the service is not at its best: only a rehearsal can be told to be so. */
export function itMeetsThePitfalls(target: () => Target): void {
  const commands = (): TpuCommands => new TpuCommands(target(), 'GA');
  const cloud = (): RehearsalSide => {
    const side = target().rehearsal;
    if (side === undefined) throw new TypeError('these are for a rehearsal alone');
    return side;
  };

  it('does not try again where there is no capacity, and says why', async () => {
    await cloud().admin('configure', { capacity: { 'us-central1-a/v6e': 0 } });
    const before = await cloud().calls('CreateNode');
    const args = commands().args('tpu-vm', 'create', 'none', '--accelerator-type=v6e-8', '--version=v2-alpha-tpuv6e');
    const { code, stderr } = await target().gcloud.run(...args);
    assert.equal(code, 1);
    // An operation's error is shown as JSON.
    assert.match(stderr, /"code": 8,\s+"message": "There is no more capacity in the zone \\"us-central1-a\\";/);
    assert.equal((await cloud().calls('CreateNode')) - before, 1);
  });

  it('is told of a zone that is none', async () => {
    const { code, stderr } = await target().gcloud.run(...commands().args('tpu-vm', 'list', '--zone=us-centra1-a'));
    assert.equal(code, 1);
    assert.match(stderr, /PERMISSION_DENIED: Permission denied on 'locations\/us-centra1-a' \(or it may not exist\)/);
    assert.match(stderr, /LOCATION_POLICY_VIOLATED/);
  });

  it('asks for Spot with STANDARD beside it in alpha, and is refused', async () => {
    const alpha = new TpuCommands(target(), 'alpha');
    const what = ['--node-id=n', '--accelerator-type=v6e-8', '--runtime-version=v2-alpha-tpuv6e', '--spot'];
    const { code, stderr } = await target().gcloud.run(
      ...alpha.args('queued-resources', 'create', 'standard', ...what),
    );
    assert.equal(code, 1);
    assert.match(stderr, /STANDARD provisioning model is incompatible with spot requests/);
  });

  it('logs in without guest attributes, forbidden or late, and pins no key by them', async () => {
    // Of several workers: of one alone gcloud reads the first answer without a look whether there is one.
    await commands().create('shy', target().large);
    await cloud().admin('configure', { guestAttributes: [{ nameMatches: 'shy', forbidden: true }] });
    assert.equal((await commands().ssh('shy', '0', 'true')).code, 0);
    await cloud().admin('configure', { guestAttributes: [{ nameMatches: 'shy', afterMs: 86_400_000 }] });
    assert.equal((await commands().ssh('shy', '0', 'true')).code, 0);
    await cloud().admin('configure', { guestAttributes: [] });
  });

  it('takes a key that the whole project knows, and updates no node', async () => {
    const key = readFileSync(join(target().folder, 'home/.ssh/google_compute_engine.pub'), 'utf8').trim();
    await cloud().admin('project', { metadata: { 'ssh-keys': `${process.env['USER'] ?? 'root'}:${key}` } });
    const before = await cloud().calls('UpdateNode');
    const { stderr } = await commands().ssh('shy', '0', 'true');
    assert.match(stderr, /SSH key found in project metadata; not updating instance/);
    assert.equal(await cloud().calls('UpdateNode'), before);
    await cloud().admin('project', { metadata: { 'ssh-keys': null } });
  });

  it('refuses to log in to a slice that was preempted, which then blocks its name', async () => {
    await cloud().admin('preempt', { name: 'shy' });
    const { code, stderr } = await commands().ssh('shy', '0', 'true');
    assert.equal(code, 1);
    assert.match(stderr, /has terminal state "PREEMPTED", so it cannot be used anymore/);
    const again = await target().gcloud.run(
      ...commands().args(
        'tpu-vm',
        'create',
        'shy',
        `--accelerator-type=${target().small}`,
        `--version=${target().runtime}`,
      ),
    );
    assert.match(again.stderr, /ALREADY_EXISTS: Resource '.*\/nodes\/shy' already exists/);
    await commands().delete('shy');
  });

  it('tries again while the service is unavailable', async () => {
    await cloud().admin('refuse', { method: 'ListNodes', code: 'UNAVAILABLE', times: 1 });
    await target().gcloud.done(...commands().args('tpu-vm', 'list'));
    assert.ok((await cloud().calls('ListNodes')) >= 2);
  });

  it('simulates maintenance in alpha, and lists reservations', async () => {
    const alpha = new TpuCommands(target(), 'alpha');
    await alpha.create('kept');
    await target().gcloud.done(...alpha.args('tpu-vm', 'simulate-maintenance-event', 'kept', '--workers=0'));
    await cloud().admin('configure', { capacity: { 'us-central1-a/v5p/reserved': 64 } });
    const reservations = await target().gcloud.json<readonly { readonly standard: { readonly size: number } }[]>(
      ...alpha.args('reservations', 'list'),
    );
    assert.deepEqual(
      reservations.map(({ standard }) => standard.size),
      [64],
    );
    await alpha.delete('kept');
  });
}

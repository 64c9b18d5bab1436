import assert from 'node:assert/strict';
import type { Target } from './target.js';

interface DescribedVm {
  readonly name: string;
  readonly status: string;
  readonly machineType: string;
  readonly scheduling: { readonly provisioningModel: string; readonly instanceTerminationAction?: string };
  readonly networkInterfaces: readonly { readonly networkIP: string }[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** The life of one VM by `gcloud compute instances`: create, describe, list, delete. */
export function itDrivesAVm(target: () => Target, name: string): void {
  const run = (...words: readonly string[]) => target().gcloud.run('compute', 'instances', ...words);
  const done = (...words: readonly string[]) => target().gcloud.done('compute', 'instances', ...words);
  const zone = (): string => `--zone=${target().zone}`;

  it('creates a Spot VM', async () => {
    const what = ['--machine-type=n2-standard-4', '--provisioning-model=SPOT', '--instance-termination-action=DELETE'];
    const image = ['--image-family=debian-12', '--image-project=debian-cloud', '--labels=team=vision'];
    const { stderr, stdout } = await done('create', name, zone(), ...what, ...image);
    assert.match(stderr, new RegExp(`Created \\[.*/instances/${name}\\]`));
    assert.match(stdout, new RegExp(`${name} +${target().zone} +n2-standard-4 +true .* RUNNING`));
  });

  it('describes it', async () => {
    const { gcloud } = target();
    const vm = await gcloud.json<DescribedVm>('compute', 'instances', 'describe', name, zone());
    assert.deepEqual([vm.name, vm.status, vm.labels], [name, 'RUNNING', { team: 'vision' }]);
    assert.match(vm.machineType, /\/machineTypes\/n2-standard-4$/);
    assert.deepEqual([vm.scheduling.provisioningModel, vm.scheduling.instanceTerminationAction], ['SPOT', 'DELETE']);
  });

  it('lists it, among all and by a label', async () => {
    assert.match((await done('list')).stdout, new RegExp(`^${name} +${target().zone} `, 'm'));
    assert.match((await done('list', '--filter=labels.team=vision')).stdout, new RegExp(`^${name} `, 'm'));
    assert.doesNotMatch((await done('list', '--filter=labels.team=speech')).stdout, new RegExp(name));
  });

  it('is told that the name is taken, and which machine types a zone has not', async () => {
    const image = ['--image-family=debian-12', '--image-project=debian-cloud'];
    const twice = await run('create', name, zone(), ...image);
    assert.notEqual(twice.code, 0);
    assert.match(twice.stderr, new RegExp(`The resource 'projects/.+/instances/${name}' already exists`));
    const bad = await run('create', `${name}-bad`, zone(), '--machine-type=x9-standard-4', ...image);
    assert.notEqual(bad.code, 0);
    assert.match(bad.stderr, /x9-standard-4/);
  });

  it('deletes it, and it is gone', async () => {
    assert.match((await done('delete', name, zone())).stderr, new RegExp(`Deleted \\[.*/instances/${name}\\]`));
    const gone = await run('describe', name, zone());
    assert.notEqual(gone.code, 0);
    assert.match(gone.stderr, new RegExp(`The resource 'projects/.+/instances/${name}' was not found`));
  });
}

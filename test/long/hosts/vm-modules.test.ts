import assert from 'node:assert/strict';
import { VmWithModules } from '../../hosts/vm-with-modules.js';

describe('modules on a rehearsed TPU VM with its tools', function () {
  this.timeout(120_000);
  const host = VmWithModules.shared();
  const { vm } = host;

  it('gcsfuse mounts several buckets for everybody, and mends what is another, dead or gone', async () => {
    await vm.run(
      'gsutil mb gs://corpus; gsutil mb gs://ckpt; echo hello | gsutil cp - gs://corpus/d/a; echo x | gsutil cp - gs://ckpt/x',
    );
    const corpus = { bucket: 'corpus', path: '~/my corpus' };
    const ckpt = {
      bucket: 'ckpt',
      path: '/mnt/deep/ckpt',
      cache: { dir: '/mnt/cache', metadataTtlSecs: 1, fileCacheMaxSizeMb: 10, cacheFileForRangeRead: true },
      prefix: 'sudo mkdir -p /mnt/cache && echo prefix ran',
    };
    const first = await host.apply('gcsfuse', { gcsfuse: [corpus, ckpt] });
    assert.equal(first.kind, 'done', first.output);
    assert.match(first.output, /prefix ran/);
    assert.match((await vm.run('cat ~/my\\ corpus/d/a /mnt/deep/ckpt/x')).stdout, /^hello\nx\n$/);
    assert.match(
      (await vm.run('sudo cat ~/my\\ corpus/d/a; echo new > /mnt/deep/ckpt/new; gsutil cat gs://ckpt/new')).stdout,
      /^hello\nnew\n$/,
    );
    assert.equal(await host.kindOf('gcsfuse', { gcsfuse: [corpus, ckpt] }), 'unchanged');

    await vm.run('sudo umount ~/my\\ corpus');
    assert.equal(await host.kindOf('gcsfuse', { gcsfuse: [corpus, ckpt] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/d/a')).stdout, /^hello\n$/);

    // The same place, another bucket.
    const other = { ...corpus, bucket: 'ckpt' };
    assert.equal(await host.kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/x; findmnt -rn -M ~/my\\ corpus | wc -l')).stdout, /^x\n1\n$/);

    // Somebody mounts another bucket there by hand.
    await vm.run('sudo umount ~/my\\ corpus; sudo gcsfuse corpus ~/my\\ corpus');
    assert.equal(await host.kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    await vm.run('sudo pkill -9 -f "gcsfuse.*my corpus"; sleep 0.2');
    assert.equal(await host.kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/x')).stdout, /^x\n$/);
  });

  it('gcsfuse warns of a bucket in another region', async () => {
    await vm.run('gcloud storage buckets create gs://far --location=europe-west4');
    const { kind, output } = await host.apply('gcsfuse', { gcsfuse: [{ bucket: 'far', path: '~/far' }] });
    assert.equal(kind, 'done', output);
    assert.match(output, /WARNING: bucket far lies in europe-west4, the slice in us-central/);
  });

  it('gcsfuse says that there is no such bucket', async () => {
    const failed = await host.apply('gcsfuse', { gcsfuse: [{ bucket: 'nobody-has-this', path: '~/n' }] });
    assert.equal(failed.kind === 'failed' && failed.step, 'mount nobody-has-this');
    assert.match(failed.output, /bucket does not exist/);
  });

  it('docker pulls the image; unchanged while that very image is there', async () => {
    const docker = { image: 'us-docker.pkg.dev/p/r/i:v1', flags: [], mounts: [], env: {} };
    const first = await host.apply('docker', { docker });
    assert.equal(first.kind, 'done', first.output);
    assert.match(first.output, /docker: image sha256:/);
    assert.equal(await host.kindOf('docker', { docker }), 'unchanged');
    await vm.run('docker rmi us-docker.pkg.dev/p/r/i:v1');
    assert.equal(await host.kindOf('docker', { docker }), 'done');
    assert.equal(await host.kindOf('docker', { docker: { ...docker, image: 'python:3.12' } }), 'done');
  });
});

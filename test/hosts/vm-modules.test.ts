import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { commandScript, modulePlans } from '../../activities/modules/index.js';
import type { ModuleFiles } from '../../activities/modules/index.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-pins.js';
import type { HostConnection, HostsPort } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { detectConfinement } from '../../rehearsal/vm/confinement.js';
import { VmWithTools } from '../rehearsal/vm-tools.js';
import type { Applied } from './apply-modules.js';
import { applyModule } from './apply-modules.js';
import { never } from './session.js';

type Sections = Partial<Pick<JobSpec, 'gcsfuse' | 'docker' | 'conda'>>;

/** gcsfuse mounts for real, on the rehearsal's store; docker and conda are stand-ins (docs/adr/0017). */
describe('modules on a rehearsed TPU VM with its tools', function () {
  this.timeout(120_000);
  const vm = new VmWithTools();
  let fleet: HostsPort;
  let connection: HostConnection;
  let runs = 0;

  before(async function () {
    // No namespaces here: said by the tests of the rehearsal's own tools, which fail then where .ci/run wants them.
    if (detectConfinement().kind === 'none') this.skip();
    await vm.start();
    const { address, port, key, user } = await vm.cloud.place('tools');
    fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins() });
    const privateKey = readFileSync(key.privateFile, 'utf8');
    connection = await fleet.connect(
      { nodeId: 'tools', slice: 0, index: 0, address, user: user ?? 'alice' },
      { privateKey },
      never,
    );
  });
  after(async () => {
    fleet?.release();
    await vm.stop();
  });

  async function apply(module: string, sections: Sections, files: ModuleFiles = new Map()): Promise<Applied> {
    const [plan] = modulePlans({ modules: [module], ...sections }, { files, keys: [] });
    assert.ok(plan);
    return applyModule(connection, plan);
  }
  async function kindOf(module: string, sections: Sections, files?: ModuleFiles): Promise<string> {
    const { kind, output } = await apply(module, sections, files);
    assert.notEqual(kind, 'failed', output);
    return kind;
  }

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
    const first = await apply('gcsfuse', { gcsfuse: [corpus, ckpt] });
    assert.equal(first.kind, 'done', first.output);
    assert.match(first.output, /prefix ran/);
    assert.match((await vm.run('cat ~/my\\ corpus/d/a /mnt/deep/ckpt/x')).stdout, /^hello\nx\n$/);
    assert.match(
      (await vm.run('sudo cat ~/my\\ corpus/d/a; echo new > /mnt/deep/ckpt/new; gsutil cat gs://ckpt/new')).stdout,
      /^hello\nnew\n$/,
    );
    assert.equal(await kindOf('gcsfuse', { gcsfuse: [corpus, ckpt] }), 'unchanged');

    await vm.run('sudo umount ~/my\\ corpus');
    assert.equal(await kindOf('gcsfuse', { gcsfuse: [corpus, ckpt] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/d/a')).stdout, /^hello\n$/);

    // The same place, another bucket.
    const other = { ...corpus, bucket: 'ckpt' };
    assert.equal(await kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/x; findmnt -rn -M ~/my\\ corpus | wc -l')).stdout, /^x\n1\n$/);

    // Somebody mounts another bucket there by hand.
    await vm.run('sudo umount ~/my\\ corpus; sudo gcsfuse corpus ~/my\\ corpus');
    assert.equal(await kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    await vm.run('sudo pkill -9 -f "gcsfuse.*my corpus"; sleep 0.2');
    assert.equal(await kindOf('gcsfuse', { gcsfuse: [other] }), 'done');
    assert.match((await vm.run('cat ~/my\\ corpus/x')).stdout, /^x\n$/);
  });

  it('gcsfuse says that there is no such bucket', async () => {
    const failed = await apply('gcsfuse', { gcsfuse: [{ bucket: 'nobody-has-this', path: '~/n' }] });
    assert.equal(failed.kind === 'failed' && failed.step, 'mount nobody-has-this');
    assert.match(failed.output, /bucket does not exist/);
  });

  it('docker pulls the image; unchanged while that very image is there', async () => {
    const docker = { image: 'us-docker.pkg.dev/p/r/i:v1', flags: [], mounts: [], env: {} };
    const first = await apply('docker', { docker });
    assert.equal(first.kind, 'done', first.output);
    assert.match(first.output, /docker: image sha256:/);
    assert.equal(await kindOf('docker', { docker }), 'unchanged');
    await vm.run('docker rmi us-docker.pkg.dev/p/r/i:v1');
    assert.equal(await kindOf('docker', { docker }), 'done');
    assert.equal(await kindOf('docker', { docker: { ...docker, image: 'python:3.12' } }), 'done');
  });

  it('conda makes the environment that the command runs in; anew when its file changed', async () => {
    const conda = { name: 'train', configFile: 'sub/environment.yml' };
    const file = (text: string): ModuleFiles => new Map([['sub/environment.yml', Buffer.from(text)]]);
    const plain = file('name: other\ndependencies:\n  - python\n');
    const first = await apply('conda', { conda }, plain);
    assert.equal(first.kind, 'done', first.output);
    assert.equal(await kindOf('conda', { conda }, plain), 'unchanged');
    assert.match(await runOf({ modules: ['conda', 'command'], conda }), /\/envs\/train\n$/);

    await vm.run('touch "$(cat ~/.jobctl/modules/conda.prefix)/mine"');
    const changed = await apply('conda', { conda }, file('name: other\ndependencies:\n  - python\n  - pip\n'));
    assert.match(changed.output, /making train anew/);
    assert.equal((await vm.run('ls "$(cat ~/.jobctl/modules/conda.prefix)/mine"')).code, 2);
    await vm.run('rm -rf "$(cat ~/.jobctl/modules/conda.prefix)/bin"');
    assert.equal(await kindOf('conda', { conda }, file('name: other\ndependencies:\n  - python\n  - pip\n')), 'done');
  });

  it('conda keeps an environment that it has not made', async () => {
    await vm.run('conda create -y -n theirs python; touch ~/miniconda3/envs/theirs/precious');
    assert.equal(await kindOf('conda', { conda: { name: 'theirs' } }), 'done');
    assert.equal((await vm.run('ls ~/miniconda3/envs/theirs/precious')).code, 0);
  });

  /** The output of a command under the job's environment. */
  async function runOf(spec: Pick<JobSpec, 'modules' | 'conda'>): Promise<string> {
    const runId = `train-a${++runs}`;
    const run = 'python -c "import sys; print(sys.prefix)"';
    const script = commandScript({ ...spec, command: { run, hosts: 'all' } }) ?? assert.fail('no command');
    let output = '';
    await connection.startRun({ runId, epoch: runs, script, env: {} });
    await connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never);
    return output;
  }
});

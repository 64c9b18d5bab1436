import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { freePort } from '../../temporal-server.js';
import { until } from '../../until.js';
import { debianImage } from './pod-images.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';

const REGISTRY = '/usr/bin/docker-registry';
/** The node has a network of its own, and its kubelet is in it. */
const NODE_PID = '/var/tmp/kube-node/kubelet.pid';

/**
 * One registry with two addresses: this computer pushes to one, and the node pulls from the other, each on its own loopback. Needs
 * kube-node, buildah and docker-registry.
 */
describe('an image that submit builds here, on a real Kubernetes', function () {
  this.timeout(2 * STEP_MS);
  const servers: ChildProcess[] = [];
  let pods: PodJobs;
  let work: string;
  let user: JobctlUser;
  let push: string;
  let pull: string;

  before(async function () {
    this.timeout(POD_JOBS_START_MS);
    pods = await PodJobs.start('built');
    // Its folder is what the base image is made of.
    await debianImage(pods.real.cluster);
    work = mkdtempSync(join(tmpdir(), 'built-image-'));
    [push, pull] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    serve(push, []);
    serve(pull, ['nsenter', `--net=/proc/${readFileSync(NODE_PID, 'utf8').trim()}/ns/net`]);
    await until('the registry answers', async () => (await fetch(`http://${push}/v2/`)).ok);
    user = JobctlUser.of(pods.stack, { ...buildahEnv(), KUBECONFIG: pods.real.kubeconfig, JOBCTL_BUILDER: 'buildah' });
    pushBase();
  });
  after(async () => {
    for (const server of servers) server.kill('SIGKILL');
    await user?.leave();
    await pods?.stop();
    if (work !== undefined) rmSync(work, { recursive: true, force: true, maxRetries: 3 });
  });

  function serve(address: string, through: readonly string[]): void {
    const file = join(work, `${address}.yml`);
    const storage = { filesystem: { rootdirectory: join(work, 'registry') } };
    writeFileSync(file, JSON.stringify({ version: 0.1, storage, http: { addr: address } }));
    const [program, ...args] = [...through, REGISTRY, 'serve', file];
    servers.push(spawn(program, args, { stdio: 'ignore' }));
  }

  function buildahEnv(): Readonly<Record<string, string>> {
    const storage = { driver: 'vfs', graphroot: join(work, 'storage'), runroot: join(work, 'storage-run') };
    const lines = Object.entries(storage).map(([key, value]) => `${key} = "${value}"`);
    writeFileSync(join(work, 'storage.conf'), `[storage]\n${lines.join('\n')}\n`);
    mkdirSync(join(work, '.config/containers'), { recursive: true });
    writeFileSync(
      join(work, '.config/containers/registries.conf'),
      '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n',
    );
    return { HOME: work, CONTAINERS_STORAGE_CONF: join(work, 'storage.conf'), BUILDAH_ISOLATION: 'chroot' };
  }

  /** A Debian that the agent runs in. */
  function pushBase(): void {
    const context = join(work, 'base');
    mkdirSync(context);
    writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY hosts-debian /\n');
    execFileSync('cp', ['-al', join(homedir(), '.cache/kube-node/hosts-debian'), context]);
    const env = { ...process.env, ...buildahEnv() };
    const run = (...words: string[]): unknown =>
      execFileSync('buildah', words, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    run('build', '--platform', 'linux/amd64', '--tag', `${push}/base:1`, context);
    run('push', `${push}/base:1`, `docker://${push}/base:1`);
  }

  function repository(content: string): string {
    const tree = join(work, 'tree');
    const git = (...words: string[]): unknown =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', tree, ...words], { stdio: 'ignore' });
    execFileSync('git', ['init', '-q', '--bare', join(work, 'remote')]);
    execFileSync('git', ['init', '-q', tree]);
    git('remote', 'add', 'origin', join(work, 'remote'));
    writeFileSync(join(tree, 'Dockerfile'), `FROM ${push}/base:1\nCOPY content /content\n`);
    writeFileSync(join(tree, 'content'), content);
    git('add', '.');
    git('commit', '-qm', 'x');
    git('push', '-q', 'origin', 'HEAD');
    return tree;
  }

  it('its pods run the digest, which they pull from where the node reaches the registry', async () => {
    const tree = repository('built from a commit');
    const file = join(work, 'job.yaml');
    const image = `image: ${push}/team/train, pull_image: "${pull}/team/train"`;
    const kubernetes = `kubernetes: {namespace: ${pods.real.namespace}, workers: 2}`;
    writeFileSync(
      file,
      `pool: kube\n${kubernetes}\nbuild: {context: ${tree}, ${image}}\ncommand: {run: 'cat /content; sleep 5'}\n`,
    );
    const { code, stdout, stderr } = await user.run('submit', file, '--build', 'local', '--no-verdict');
    assert.equal(code, 0, stderr);
    const id = stdout.trim();
    const digest = /pushed \S+@(sha256:[0-9a-f]{64})/.exec(stderr)?.[1] ?? assert.fail(stderr);
    await pods.inPhase(id, 'running');
    const images = pods.real.kubectl('get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[0].image}').split(' ');
    assert.deepEqual(images, [`${pull}/team/train@${digest}`, `${pull}/team/train@${digest}`]);
    assert.equal((await pods.stack.jobs.wait(id)).result, 'succeeded');
    assert.match(await pods.log(id), /built from a commit/);
    await pods.untilNothingIsLeft();
  });
});

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gate } from '../../building/gate.js';
import { GitServer, type GitTree } from '../../building/git-server.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { until } from '../../until.js';
import { buildkitFolder, GO_BUILD_MS } from '../built-by-go.js';
import { PlainRegistry } from '../plain-registry.js';
import { importImage } from './kube-node.js';
import { debianImage } from './pod-images.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';

/** This computer's end of the node's link: pods, the node and this computer reach it. */
const HOST = process.env['JOBCTL_KUBE_HOST'] ?? '10.210.0.254';
/** The pods' network, by the node's end of the link. */
const PODS = ['10.200.0.0/24', 'via', '10.210.0.1'];
/** The node has a network of its own, and its kubelet is in it. */
const NODE_PID = '/var/tmp/kube-node/kubelet.pid';
const BUILDKIT = 'docker.io/local/buildkit:1';

/**
 * A real BuildKit in a pod of a real Kubernetes fetches a commit from a git server, pushes to a real registry, and pods run the digest.
 * Privileged: the node's kernel is this computer's. Needs kube-node with this registry, buildah, runc, docker-registry and Go.
 */
describe('an image that a cluster builds, on a real Kubernetes', function () {
  this.timeout(2 * STEP_MS);
  let pods: PodJobs;
  let registry: PlainRegistry;
  let server: GitServer;
  /** Where the node reaches the registry. */
  let pull: string;
  let user: JobctlUser;
  let work: string;
  let count = 0;

  before(async function () {
    this.timeout(POD_JOBS_START_MS + GO_BUILD_MS);
    const buildkit = await buildkitFolder();
    work = mkdtempSync(join(tmpdir(), 'remote-build-'));
    registry = await PlainRegistry.start(HOST);
    server = await GitServer.start({ host: HOST });
    pods = await PodJobs.start('remote-build', {
      builds: { image: BUILDKIT, privileged: true, insecureRegistries: [registry.address] },
    });
    routeToPods();
    const node = readFileSync(NODE_PID, 'utf8').trim();
    pull = await registry.alsoIn(['nsenter', `--net=/proc/${node}/ns/net`]);
    await debianImage(pods.real.cluster);
    importBuildkit(buildkit);
    pushBase();
    user = JobctlUser.of(pods.stack, { KUBECONFIG: pods.real.kubeconfig, HOME: work });
  });
  after(async () => {
    await user?.leave();
    await pods?.stop();
    await server?.stop();
    await registry?.stop();
    if (pods !== undefined) execFileSync('ip', ['route', 'del', ...PODS]);
    if (work !== undefined) rmSync(work, { recursive: true, force: true, maxRetries: 3 });
  });

  /** This computer knows no way to the pods, and answers none of them. */
  function routeToPods(): void {
    execFileSync('ip', ['route', 'replace', ...PODS]);
  }

  /** As moby/buildkit has it: BuildKit, git and runc, over the same Debian as the other tests' images. */
  function importBuildkit(buildkit: string): void {
    const root = join(homedir(), '.cache/kube-node/buildkit');
    if (!existsSync(join(root, 'usr/bin/git'))) {
      rmSync(root, { recursive: true, force: true });
      execFileSync(
        'mmdebstrap',
        ['--variant=essential', '--include=git,runc,ca-certificates,mount', 'bookworm', root],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
    }
    for (const name of ['buildkitd', 'buildctl', 'buildctl-daemonless.sh'])
      cpSync(join(buildkit, name), join(root, 'usr/bin', name));
    importImage(BUILDKIT, root);
  }

  const containersEnv = (): NodeJS.ProcessEnv => {
    const storage = { driver: 'vfs', graphroot: join(work, 'storage'), runroot: join(work, 'storage-run') };
    const lines = Object.entries(storage).map(([key, value]) => `${key} = "${value}"`);
    writeFileSync(join(work, 'storage.conf'), `[storage]\n${lines.join('\n')}\n`);
    return { ...process.env, HOME: work, CONTAINERS_STORAGE_CONF: join(work, 'storage.conf') };
  };

  /** A Debian that the agent runs in, since no other registry can be reached. */
  function pushBase(): void {
    const context = join(work, 'base');
    mkdirSync(context);
    writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY hosts-debian /\n');
    execFileSync('cp', ['-al', join(homedir(), '.cache/kube-node/hosts-debian'), context]);
    const run = (...words: string[]): unknown =>
      execFileSync('buildah', words, {
        env: { ...containersEnv(), BUILDAH_ISOLATION: 'chroot' },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    run('build', '--platform', 'linux/amd64', '--tag', `${registry.address}/base:1`, context);
    run('push', '--tls-verify=false', `${registry.address}/base:1`, `docker://${registry.address}/base:1`);
  }

  const tree = (...lines: string[]): GitTree =>
    server.repository({
      Dockerfile: [`FROM ${registry.address}/base:1`, 'COPY content /content', ...lines, ''].join('\n'),
      content: 'built from a commit',
    });
  const image = (): string => `team/train${count}`;
  function jobFile(of: GitTree): string {
    const file = join(work, `job-${(count += 1)}.yaml`);
    const machines = `kubernetes: {namespace: ${pods.real.namespace}, workers: 2}`;
    const build = `build: {context: ${of.folder}, image: "${registry.address}/${image()}", pull_image: "${pull}/${image()}"}`;
    writeFileSync(file, `pool: kube\n${machines}\n${build}\ncommand: {run: 'cat /content; sleep 3'}\n`);
    return file;
  }
  async function submitted(file: string): Promise<string> {
    const { code, stdout, stderr } = await user.run('submit', file, '--no-verdict');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /is built in the cluster, from http:/);
    return stdout.trim();
  }
  const succeeds = async (id: string): Promise<void> => {
    const { result, cause } = await pods.stack.jobs.wait(id);
    assert.deepEqual(
      { result, cause },
      { result: 'succeeded', cause: undefined },
      `${JSON.stringify(cause)}\n${pods.stack.tail()}`,
    );
  };
  const buildLog = (id: string, host = 0): Promise<string> =>
    storedLog(pods.stack.store, { id, stream: 'build', host });
  const builds = (): string => pods.real.kubectl('get', 'jobs', '-l', 'jobctl-machines=build', '-o', 'name');
  /** By bash alone: the base image has no curl. */
  const waitFor = ({ url }: Gate): string => {
    const { hostname, port } = new URL(url);
    const ask = `exec 3<>/dev/tcp/${hostname}/${port}; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; read -r line <&3; [[ $line == *200* ]]`;
    return `RUN ["/bin/bash", "-c", ${JSON.stringify(`until (${ask}) 2> /dev/null; do sleep 0.3; done`)}]`;
  };

  it('the digest is what runs, and two jobs of one commit share one build, which the CLI does not wait for', async () => {
    const gate = await Gate.make(HOST);
    const file = jobFile(tree('RUN echo before the gate', waitFor(gate)));
    const first = await submitted(file);
    await pods.told('the build prints', first, async () => (await buildLog(first)).includes('before the gate'));
    const second = await submitted(file);
    await pods.told('the second has the log too', second, async () =>
      (await buildLog(second)).includes('before the gate'),
    );
    assert.equal(builds().trim().split('\n').length, 1);
    assert.match((await pods.stack.jobs.row(second)).why ?? '', /^building image/);
    gate.open();
    for (const id of [first, second]) {
      await succeeds(id);
      assert.match(await pods.log(id), /built from a commit/);
    }
    const images = new Set<string>();
    for (const id of [first, second]) {
      const { spec } = await pods.stack.jobs.describe(id);
      images.add('kubernetes' in spec ? spec.kubernetes.image : '');
    }
    const [reference = '', ...others] = images;
    assert.deepEqual(others, []);
    const digest = /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1] ?? assert.fail(reference);
    const built = await registry.config(image(), digest);
    assert.equal(built?.architecture, 'amd64');
    assert.equal((await registry.tags(image())).length, 1);
    const shown = await user.run('logs', first, '--module', 'build');
    assert.match(shown.stdout, /load git source http:[^]*before the gate/);
    await gate.close();
    await pods.untilNothingIsLeft();
  });

  it('a build pod that is killed is tried again; a build that fails is told with its last lines; dirty and unpushed are refused', async () => {
    const gate = await Gate.make(HOST);
    const of = tree('RUN echo before the gate', waitFor(gate));
    const id = await submitted(jobFile(of));
    await pods.told('the build prints', id, async () => (await buildLog(id)).includes('before the gate'));
    pods.real.kubectl('delete', 'pods', '-l', 'jobctl-machines=build', '--wait=false');
    await pods.told('another pod prints', id, async () => (await buildLog(id, 1)).includes('before the gate'));
    gate.open();
    await succeeds(id);
    await gate.close();

    const broken = await submitted(jobFile(tree('RUN echo missing header.h; exit 2')));
    const { result, cause } = await pods.stack.jobs.wait(broken);
    assert.deepEqual([result, cause?.by], ['failed', 'task']);
    assert.match(cause?.message ?? '', /missing header\.h[^]*error: failed to solve: .*exit code: 2/);

    of.write({ content: 'changed' });
    const file = jobFile(of);
    const dirty = await user.run('submit', file);
    assert.equal(dirty.code, 2);
    assert.match(dirty.stderr, /git status shows 1 file/);
    of.commit({});
    const unpushed = await user.run('submit', file);
    assert.equal(unpushed.code, 2);
    assert.match(unpushed.stderr, /no branch of a remote has commit/);
    await pods.untilNothingIsLeft();
  });

  it('a cancel of the only job that waits ends the build', async () => {
    const gate = await Gate.make(HOST);
    const id = await submitted(jobFile(tree('RUN echo before the gate', waitFor(gate))));
    await pods.told('the build prints', id, async () => (await buildLog(id)).includes('before the gate'));
    await pods.stack.jobs.cancel(id);
    assert.equal((await pods.stack.jobs.wait(id)).result, 'cancelled');
    await until('the build is gone', () => builds().trim() === '' || undefined, STEP_MS);
    assert.deepEqual(await registry.tags(image()), []);
    await gate.close();
    await pods.untilNothingIsLeft();
  });
});

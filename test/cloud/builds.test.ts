import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { buildHash, type OwnedBuild, DEFAULT_BUILD_SETTINGS } from '../../cloud/builds/port.js';
import { KubernetesBuilds } from '../../cloud/builds/kubernetes-builds.js';
import { buildName } from '../../cloud/builds/manifest.js';
import type { BuildCondition, RemoteBuild } from '../../domain/build/spec.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { GitServer, type GitTree } from '../building/git-server.js';
import { until } from '../until.js';
import { type RehearsedKubernetes, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

const NEVER = new AbortController().signal;

describe('builds in a cluster, on the rehearsed Kubernetes', function () {
  this.timeout(60_000);
  let rehearsed: RehearsedKubernetes;
  let server: GitServer;
  let builds: KubernetesBuilds;
  before(async function () {
    needsConfinement(this);
    rehearsed = await startRehearsedKubernetes();
    server = await GitServer.start();
    builds = new KubernetesBuilds(DEFAULT_BUILD_SETTINGS, { kubeconfig: rehearsed.kubeconfig });
  });
  after(async () => {
    await server?.stop();
    await rehearsed?.stop();
  });

  const ofTree = (tree: Pick<GitTree, 'url' | 'head'>, more: Partial<RemoteBuild> = {}): OwnedBuild => ({
    owner: 'own-1',
    build: {
      ...{ repository: tree.url, commit: tree.head, context: '', dockerfile: 'Dockerfile', args: {} },
      ...{ platform: 'linux/amd64', image: 'registry:5000/train', namespace: 'default', ...more },
    },
  });
  const seen = <Kind extends BuildCondition['kind']>(build: OwnedBuild, kind: Kind) =>
    until(`the build is ${kind}`, async () => {
      const condition = await builds.observe(build);
      return condition.kind === kind ? (condition as Extract<BuildCondition, { kind: Kind }>) : undefined;
    }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(await builds.observe(build))}`);
    });
  async function printed(build: OwnedBuild, name: string): Promise<string> {
    const chunks: Buffer[] = [];
    const output = new Writable({ write: (chunk: Buffer, _, done) => done(void chunks.push(chunk)) });
    await builds.follow(build.build, { name, uid: '' }, output, NEVER);
    return Buffer.concat(chunks).toString();
  }
  async function made(build: OwnedBuild): Promise<OwnedBuild> {
    assert.deepEqual(await builds.create(build), { kind: 'accepted' });
    return build;
  }
  async function removed(build: OwnedBuild): Promise<void> {
    await builds.remove(build);
    await seen(build, 'missing');
    assert.deepEqual(await builds.remove(build), { kind: 'gone' });
  }

  it('a commit is built: the digest is in the pod, what it printed in its log, and nothing is left', async () => {
    const tree = server.repository({
      Dockerfile: 'FROM scratch\nRUN echo note is $NOTE, \\\n  and $(cat content)\n',
      content: 'committed',
    });
    const build = await made(ofTree(tree, { args: { NOTE: 'a, "b" $c' } }));
    const { digest, pod } = await seen(build, 'built');
    assert.match(digest, /^sha256:[0-9a-f]{64}$/);
    assert.match(await printed(build, pod?.name ?? ''), /note is a, "b" \$c, and committed\n/);
    assert.deepEqual(await builds.create(build), { kind: 'exists' });
    await removed(build);
  });

  it('a folder of the repository is the context, and another word makes another image', async () => {
    const tree = server.repository({ 'app/b.Dockerfile': 'RUN cat here\n', 'app/here': 'in app' });
    const one = await made(ofTree(tree, { context: 'app', dockerfile: 'b.Dockerfile' }));
    const other = await made(ofTree(tree, { context: 'app', dockerfile: 'b.Dockerfile', target: 't' }));
    const digests = [await seen(one, 'built'), await seen(other, 'built')].map(({ digest }) => digest);
    assert.notEqual(digests[0], digests[1]);
    await Promise.all([removed(one), removed(other)]);
  });

  it('one that fails says so in its last lines; what cannot be fetched is no other failure', async () => {
    const tree = server.repository({ Dockerfile: 'RUN seq 1 1000; exit 7\n' });
    const failing = await made(ofTree(tree));
    const { message, lines } = await seen(failing, 'failed');
    assert.equal(message, 'BuildKit ended with code 1');
    assert.match(lines.at(-1) ?? '', /^error: failed to solve: process .*seq 1 1000; exit 7.*exit code: 7$/);
    assert.ok(lines.length <= 15 && lines.includes('1000'), lines.join('\n'));
    const nowhere = await made(ofTree({ url: tree.url, head: '0'.repeat(40) }));
    assert.match((await seen(nowhere, 'failed')).lines.join('\n'), /failed to fetch/);
    await Promise.all([removed(failing), removed(nowhere)]);
  });

  it('a Secret of the namespace logs in to the repository', async () => {
    const closed = await GitServer.start({ token: 's3cret' });
    const tree = closed.repository({ Dockerfile: 'FROM scratch\n' });
    const data = { token: Buffer.from('s3cret').toString('base64') };
    const body = { metadata: { name: 'git-login' }, data };
    await rehearsed.cluster.core.createNamespacedSecret({ namespace: 'default', body });
    const [without, withLogin] = [ofTree(tree), ofTree(tree, { gitSecret: 'git-login' })];
    await made(without);
    await made(withLogin);
    await seen(without, 'failed');
    await seen(withLogin, 'built');
    const missing = await made(ofTree(tree, { gitSecret: 'no-such' }));
    const refused = await seen(missing, 'refused');
    assert.deepEqual(refused.scope, 'request');
    assert.match(refused.message, /secret "no-such" not found/);
    await Promise.all([removed(without), removed(withLogin), removed(missing)]);
    await closed.stop();
  });

  it('a pod that is killed or deleted is lost, and not the fault of the build', async () => {
    const tree = server.repository({ Dockerfile: 'RUN sleep 1000\n' });
    const { batch, core } = rehearsed.cluster;
    const namespace = 'default';
    const deleted = await made(ofTree(tree));
    const { pod } = await seen(deleted, 'running');
    await core.deleteNamespacedPod({ namespace, name: pod.name });
    const lost = await seen(deleted, 'lost');
    assert.match(lost.message, /deleted|gone|code 1[34]\d|ContainerStatusUnknown/);
    await removed(deleted);
    const evicted = await made(ofTree(tree));
    const { pod: running } = await seen(evicted, 'running');
    const body = { metadata: { name: running.name, namespace } };
    await core.createNamespacedPodEviction({ namespace, name: running.name, body });
    await seen(evicted, 'lost');
    await removed(evicted);
    assert.deepEqual((await batch.listNamespacedJob({ namespace })).items, []);
  });

  it('a Job of its name that belongs to somebody else is neither read nor deleted', async () => {
    const build = ofTree(server.repository({ Dockerfile: 'FROM scratch\n' }));
    const name = buildName(buildHash(build));
    const template = {
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x:1', command: ['true'] }] },
    };
    const spec = { completionMode: 'Indexed', completions: 1, parallelism: 1, template };
    await rehearsed.cluster.batch.createNamespacedJob({ namespace: 'default', body: { metadata: { name }, spec } });
    assert.equal((await builds.observe(build)).kind, 'foreign');
    assert.equal((await builds.remove(build)).kind, 'refused');
    assert.equal((await builds.observe({ ...build, owner: 'own-2' })).kind, 'missing');
    await rehearsed.cluster.batch.deleteNamespacedJob({ namespace: 'default', name, propagationPolicy: 'Background' });
  });

  it('a namespace that does not exist is refused, and a cluster that is not known is waited for', async () => {
    const tree = server.repository({ Dockerfile: 'FROM scratch\n' });
    const nowhere = await builds.create(ofTree(tree, { namespace: 'no-such' }));
    assert.ok(nowhere.kind === 'refused' && nowhere.scope === 'request', JSON.stringify(nowhere));
    const unknown = await builds.create(ofTree(tree, { cluster: 'no-such' }));
    assert.ok(unknown.kind === 'refused' && unknown.scope === 'installation', JSON.stringify(unknown));
    assert.match(unknown.message, /no context 'no-such'/);
  });
});

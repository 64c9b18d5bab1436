import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestIn, isOfBuild, buildJob } from '../../cloud/builds/manifest.js';
import { inputsTag, DEFAULT_BUILD_SETTINGS } from '../../cloud/builds/port.js';
import type { RemoteBuild } from '../../domain/build/spec.js';
import { GitServer, type GitTree } from '../building/git-server.js';
import { buildkitFolder, GO_BUILD_MS } from './built-by-go.js';
import { PlainRegistry } from './plain-registry.js';

/**
 * What the pod of a build does, by a real BuildKit and a real registry, and without a cluster: its first process is run here, in a
 * mount namespace of its own. Needs root, Debian's runc and docker-registry, and Go for BuildKit: .ci/long.
 */
describe('the first process of a build pod, with a real BuildKit', function () {
  this.timeout(120_000);
  let registry: PlainRegistry;
  let work: string;
  let buildkit: string;
  const servers: GitServer[] = [];
  before(async function () {
    this.timeout(GO_BUILD_MS);
    buildkit = await buildkitFolder();
    registry = await PlainRegistry.start();
    work = mkdtempSync(join(tmpdir(), 'buildkit-test-'));
  });
  after(async () => {
    for (const server of servers) await server.stop();
    await registry?.stop();
    rmSync(work, { recursive: true, force: true, maxRetries: 3 });
  });

  async function gitServer(token?: string): Promise<GitServer> {
    const server = await GitServer.start(token === undefined ? {} : { token });
    servers.push(server);
    return server;
  }
  /** A tree with a static busybox, since nothing is there to begin FROM. */
  function treeOf(server: GitServer, files: Readonly<Record<string, string>>, folder = '.'): GitTree {
    const tree = server.repository({ ignored: '' });
    mkdirSync(join(tree.folder, folder, 'bin'), { recursive: true });
    copyFileSync('/bin/busybox', join(tree.folder, folder, 'bin/busybox'));
    tree.publish(files);
    return tree;
  }
  const ofTree = ({ url, head }: GitTree, more: Partial<RemoteBuild> = {}): RemoteBuild => ({
    ...{ repository: url, commit: head, context: '', dockerfile: 'Dockerfile', args: {}, platform: 'linux/amd64' },
    ...{ image: `${registry.address}/team/train`, namespace: 'default', ...more },
  });

  interface Ended {
    readonly code: number | null;
    readonly output: string;
    /** The termination message. */
    readonly message: string;
  }
  async function run(build: RemoteBuild, secrets: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const settings = { ...DEFAULT_BUILD_SETTINGS, privileged: true, insecureRegistries: [registry.address] };
    const [container] = buildJob({ owner: 'own-1', build }, settings).spec?.template.spec?.containers ?? [];
    assert.ok(container?.command && container.args);
    const folder = mkdtempSync(join(work, 'run-'));
    const message = join(folder, 'message');
    for (const [name, value] of Object.entries(secrets)) {
      mkdirSync(join(folder, 'git'), { recursive: true });
      writeFileSync(join(folder, 'git', name), value);
    }
    // Places of a pod that this computer shares with others.
    const here = (text: string): string =>
      text
        .replaceAll('/dev/termination-log', message)
        .replaceAll('/jobctl/git', join(folder, 'git'))
        .replaceAll('/tmp/jobctl-', `${folder}/`);
    const words = [...container.command, ...container.args].map(here);
    const own = Object.fromEntries((container.env ?? []).map(({ name, value = '' }) => [name, value]));
    const state = join(folder, 'state');
    mkdirSync(state);
    const private_ = [
      'unshare',
      '--mount',
      'sh',
      '-c',
      `mkdir -p /var/lib/buildkit && mount --bind ${state} /var/lib/buildkit && exec "$@"`,
      'x',
    ];
    const child = spawn(private_[0] ?? '', [...private_.slice(1), ...words], {
      env: { PATH: `${buildkit}:${process.env['PATH']}`, HOME: folder, TMPDIR: folder, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((done) => child.once('close', done));
    return { code, output, message: existsSync(message) ? readFileSync(message, 'utf8') : '' };
  }

  it('builds a commit of a closed repository, pushes it, and tells the digest that the registry has', async () => {
    const server = await gitServer('s3cret');
    const dockerfile = [
      ...['FROM scratch AS base', 'ARG NOTE', 'COPY . /', 'ENV NOTE=$NOTE'],
      ...['RUN ["/bin/busybox", "sh", "-c", "echo content is $(/bin/busybox cat /content)"]', 'FROM base AS other'],
    ];
    const tree = treeOf(server, { 'app/b.Dockerfile': dockerfile.join('\n'), 'app/content': 'committed' }, 'app');
    const args = { NOTE: 'a, "b" = $c' };
    const build = ofTree(tree, { context: 'app', dockerfile: 'b.Dockerfile', target: 'base', args });
    const refused = await run(build);
    assert.equal(refused.code, 1);
    assert.ok(isOfBuild(refused.output.slice(-2048)), refused.output);
    const built = await run(build, { token: 's3cret' });
    assert.equal(built.code, 0, built.output);
    assert.match(built.output, /content is committed/);
    const digest = digestIn(built.message) ?? assert.fail(built.message);
    // Within what Kubernetes keeps of it.
    assert.ok(built.message.length < 4096, built.message);
    const tag = inputsTag(build);
    assert.deepEqual(await registry.tags('team/train'), [tag]);
    for (const reference of [digest, tag]) {
      const image = await registry.config('team/train', reference);
      assert.equal(image?.architecture, 'amd64');
      assert.ok(image.config.Env?.includes('NOTE=a, "b" = $c'), JSON.stringify(image));
      assert.equal(image.config.Labels?.['org.opencontainers.image.revision'], tree.head);
    }
  });

  it('a step that fails, a Dockerfile that is wrong, and a push that is refused are the end of a build, in its last lines', async () => {
    const server = await gitServer();
    const step = 'FROM scratch\nCOPY . /\nRUN ["/bin/busybox", "sh", "-c", "/bin/busybox seq 1 3000; exit 7"]\n';
    const cases: readonly (readonly [RemoteBuild, RegExp])[] = [
      [ofTree(treeOf(server, { Dockerfile: step })), /exit code: 7/],
      [ofTree(treeOf(server, { Dockerfile: 'FORM scratch\n' })), /unknown instruction: FORM/],
      [ofTree(treeOf(server, { Dockerfile: 'FROM scratch\nCOPY gone /\n' })), /"\/gone": not found/],
      [ofTree(treeOf(server, { other: 'FROM scratch\n' })), /open Dockerfile: no such file/],
      [
        ofTree(treeOf(server, { Dockerfile: 'FROM scratch\nCOPY . /\n' }), { image: '127.0.0.1:9/train' }),
        /failed to push|connection refused/,
      ],
    ];
    for (const [build, why] of cases) {
      const { code, output, message } = await run(build);
      const tail = output.slice(-2048);
      assert.equal(code, 1, output);
      assert.match(tail, why);
      assert.ok(isOfBuild(tail), tail);
      assert.equal(message, '');
    }
  });

  it('a daemon that cannot start is not the end of a build', async () => {
    const server = await gitServer();
    const folder = buildkit;
    buildkit = mkdtempSync(join(work, 'broken-'));
    try {
      for (const name of ['buildctl', 'buildctl-daemonless.sh']) copyFileSync(join(folder, name), join(buildkit, name));
      writeFileSync(
        join(buildkit, 'buildkitd'),
        '#!/bin/sh\necho "[rootlesskit:parent] error: operation not permitted"\nexit 1\n',
        { mode: 0o755 },
      );
      const { code, output } = await run(ofTree(treeOf(server, { Dockerfile: 'FROM scratch\n' })));
      assert.equal(code, 1, output);
      assert.match(output, /could not connect[^]*operation not permitted/);
      assert.ok(!isOfBuild(output.slice(-2048)), output);
    } finally {
      buildkit = folder;
    }
  });

  it('the shell of its script is any: dash says nothing else of it', () => {
    const build = ofTree(treeOf(servers[0] ?? assert.fail(), { Dockerfile: 'FROM scratch\n' }));
    const job = buildJob({ owner: 'own-1', build }, DEFAULT_BUILD_SETTINGS);
    const script = job.spec?.template.spec?.containers[0]?.command?.[2] ?? '';
    for (const shell of [['dash'], ['bash', '--posix'], ['/bin/busybox', 'sh']])
      execFileSync(shell[0] ?? '', [...shell.slice(1), '-n', '-c', script]);
  });
});

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { modulePlans } from '../../activities/module-plans.js';
import { type ResolvedJob, resolveJob } from '../../domain/job-file/resolve.js';
import { programArguments } from '../built.js';
import { type Ended, jobctl } from '../cli/command-line.js';
import { applyModule } from '../hosts/apply-modules.js';
import { useDockerDaemon } from '../hosts/docker-daemon.js';
import { withHost } from '../hosts/session.js';
import { testServer } from '../temporal-server.js';
import { until } from '../until.js';
import { buildxPlugins, GO_BUILD_MS } from './built-by-go.js';
import { type DockerRegistry, startDockerRegistry, whyNoRegistry } from './docker-registry.js';

/** Needs root, dockerd, buildah, skopeo and docker-registry of Debian, and Go for buildx: .ci/long. */
describe('images that submit builds, by real builders and a real registry', function () {
  this.timeout(120_000);
  const daemon = useDockerDaemon();
  let registry: DockerRegistry;
  let work: string;
  let tree: string;
  let env: Readonly<Record<string, string>>;
  let count = 0;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    const why = whyNoRegistry();
    if (why !== undefined) throw new Error(why);
    work = mkdtempSync(join(tmpdir(), 'build-test-'));
    registry = await startDockerRegistry(daemon());
    const { address, namespace } = await testServer();
    env = {
      ...containersEnv(),
      DOCKER_CONFIG: dockerConfig(await buildxPlugins()),
      DOCKER_HOST: daemon().env.DOCKER_HOST,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      JOBCTL_TASK_QUEUE: `build-${process.pid}`,
      HOME: work,
    };
  });
  after(async () => {
    await registry?.stop();
    rmSync(work, { recursive: true, force: true, maxRetries: 3 });
  });

  function dockerConfig(plugins: string): string {
    const folder = join(work, 'docker');
    mkdirSync(folder);
    symlinkSync(plugins, join(folder, 'cli-plugins'));
    writeFileSync(join(folder, 'config.json'), '{}');
    return folder;
  }

  /** Buildah and skopeo: a storage of the test's own, and registries without TLS. */
  function containersEnv(): Readonly<Record<string, string>> {
    const storage = { driver: 'vfs', graphroot: join(work, 'storage'), runroot: join(work, 'storage-run') };
    const lines = Object.entries(storage).map(([key, value]) => `${key} = "${value}"`);
    writeFileSync(join(work, 'storage.conf'), `[storage]\n${lines.join('\n')}\n`);
    // Skopeo 1.9 reads no variable for it.
    const containers = join(work, '.config/containers');
    mkdirSync(containers, { recursive: true });
    writeFileSync(join(containers, 'registries.conf'), '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n');
    return {
      CONTAINERS_STORAGE_CONF: join(work, 'storage.conf'),
      BUILDAH_ISOLATION: 'chroot',
    };
  }

  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', tree, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const write = (name: string, text: string): void => writeFileSync(join(tree, name), text);
  function push(): void {
    git('add', '.');
    git('commit', '-qm', 'x');
    git('push', '-q', 'origin', 'HEAD');
  }

  /** A repository with a remote, whose image holds busybox and a text. */
  beforeEach(() => {
    const folder = join(work, String(++count));
    tree = join(folder, 'tree');
    execFileSync('git', ['init', '-q', '--bare', join(folder, 'remote')]);
    execFileSync('git', ['init', '-q', tree]);
    git('remote', 'add', 'origin', join(folder, 'remote'));
    mkdirSync(join(tree, 'bin'));
    copyFileSync('/bin/busybox', join(tree, 'bin/busybox'));
    write('Dockerfile', 'FROM scratch AS base\nARG NOTE=none\nCOPY . /\nENV NOTE=$NOTE\nFROM base AS other\n');
    write('content', 'one');
  });

  const image = (): string => `${registry.address}/team/train${count}`;
  function jobFile(build: string, more = ''): string {
    const file = join(work, String(count), 'job.yaml');
    const lines = ['tpu: {accelerator: v5litepod-8, zone: us-west4-a}', 'command: {run: x}', more];
    writeFileSync(file, `${lines.join('\n')}\nbuild: {context: tree, ${build}}\n`);
    return file;
  }
  /** @returns the id */
  async function accepted(...words: Parameters<typeof submit>): Promise<string> {
    const { exitCode, stdout, stderr } = await submit(...words);
    assert.equal(exitCode, 0, stderr);
    return stdout.trim();
  }
  const submit = (file: string, builder: string, ...more: string[]): Promise<Ended> =>
    jobctl(['submit', file, '--no-verdict', ...more], { ...env, JOBCTL_BUILDER: builder });

  /** The job as it was submitted. */
  async function submitted(id: string): Promise<Extract<ResolvedJob, { ok: true }>> {
    const connection = await Connection.connect({ address: env['TEMPORAL_ADDRESS'] ?? '' });
    const client = new Client({ connection, namespace: env['TEMPORAL_NAMESPACE'] ?? '' });
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    await connection.close();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { job } = JSON.parse(Buffer.from(payload?.data ?? []).toString()) as { job: unknown };
    const resolved = resolveJob(job);
    assert.ok(resolved.ok);
    return resolved;
  }
  async function imageOf(id: string): Promise<string> {
    return (await submitted(id)).spec.docker?.image ?? assert.fail('no image');
  }
  async function tags(): Promise<readonly string[]> {
    const answer = await fetch(`http://${registry.address}/v2/team/train${count}/tags/list`);
    return answer.ok ? (((await answer.json()) as { tags: string[] | null }).tags ?? []) : [];
  }
  const contentOf = (reference: string): string =>
    daemon().docker('run', '--rm', '--network=none', reference, '/bin/busybox', 'cat', '/content');

  for (const builder of ['docker', 'buildah'])
    it(`${builder}: the digest is what runs; the same commit is built once, another one anew`, async () => {
      push();
      const file = jobFile(`image: ${image()}, target: base, args: {NOTE: hello}`);
      const first = await submit(file, builder, '--name', `build-${builder}-${process.pid}`);
      assert.equal(first.exitCode, 0, first.stderr);
      const id = first.stdout.trim();
      const reference = await imageOf(id);
      assert.match(reference, new RegExp(`^${image()}@sha256:[0-9a-f]{64}$`));
      assert.ok(first.stderr.includes(`build: pushed ${reference}\n`), first.stderr);
      const [tag = '', ...others] = await tags();
      assert.deepEqual(others, []);
      assert.equal(tag.slice(0, 12), git('rev-parse', 'HEAD').slice(0, 12));

      const again = await submit(file, builder, '--name', id);
      assert.equal(again.exitCode, 0, again.stderr);
      assert.match(again.stderr, /is there already: sha256:[^]*was submitted before with the same content/);
      assert.equal(await imageOf(await accepted(file, builder)), reference);

      write('content', 'two');
      push();
      const newer = await imageOf(await accepted(file, builder));
      assert.notEqual(newer, reference);
      assert.equal((await tags()).length, 2);
      // Whoever moves the tag changes nothing of the job.
      daemon().docker('pull', newer);
      daemon().docker('tag', newer, `${image()}:${tag}`);
      daemon().docker('push', `${image()}:${tag}`);
      await withHost(
        async ({ connection }) => {
          const [plan] = modulePlans((await submitted(id)).spec, { files: new Map(), keys: [] });
          assert.ok(plan);
          const { kind, output } = await applyModule(connection, plan);
          assert.equal(kind, 'done', output);
          assert.ok(output.includes(`docker: image ${reference}\n`), output);
        },
        { env: daemon().env },
      );
      assert.deepEqual([contentOf(reference), contentOf(newer)], ['one', 'two']);
      const config = JSON.parse(daemon().docker('image', 'inspect', reference)) as {
        Config: { Env: string[]; Labels: Record<string, string> };
      }[];
      assert.ok(config[0]?.Config.Env.includes('NOTE=hello'), JSON.stringify(config));
      assert.match(config[0]?.Config.Labels['org.opencontainers.image.revision'] ?? '', /^[0-9a-f]{40}$/);
    });

  it('a dirty tree and an unpushed commit are refused, and built when they are let pass', async () => {
    push();
    const file = jobFile(`image: ${image()}`);
    write('content', 'changed');
    const dirty = await submit(file, 'buildah');
    assert.equal(dirty.exitCode, 2);
    assert.match(dirty.stderr, /cannot be built as it is\n[^]*1 file [^]*M content[^]*--allow-dirty/);
    git('commit', '-qam', 'y');
    const unpushed = await submit(file, 'buildah');
    assert.equal(unpushed.exitCode, 2);
    assert.match(unpushed.stderr, /no branch of a remote has commit[^]*git push/);
    assert.deepEqual(await tags(), []);
    const passed = await accepted(file, 'buildah', '--allow-unpushed');
    assert.equal(contentOf(await imageOf(passed)), 'changed');
    write('content', 'dirty');
    const allowed = await accepted(file, 'buildah', '--allow-dirty', '--allow-unpushed');
    assert.equal(contentOf(await imageOf(allowed)), 'dirty');
    assert.equal((await tags()).filter((tag) => tag.startsWith('dirty-')).length, 1);
  });

  for (const builder of ['docker', 'buildah']) {
    it(`${builder}: a build that fails says why in the builder's own words, and nothing is submitted`, async () => {
      write('Dockerfile', 'FROM scratch\nCOPY not-there /\n');
      push();
      const failed = await submit(jobFile(`image: ${image()}`), builder);
      assert.equal(failed.exitCode, 1);
      assert.match(failed.stderr, /build: the image was not built: `[^`]+` ended with \d/);
      assert.match(failed.stderr.split('the image was not built')[1] ?? '', /not-there/);
      assert.equal(failed.stdout, '');
    });

    it(`${builder}: an image of another platform that has the tag is refused`, async () => {
      push();
      const file = jobFile(`image: ${image()}`);
      await accepted(file, builder);
      const [tag = ''] = await tags();
      const other = await accepted(jobFile(`image: ${image()}, platform: linux/arm64`), builder);
      const reference = await imageOf(other);
      execFileSync('skopeo', ['copy', '--quiet', `docker://${reference}`, `docker://${image()}:${tag}`], {
        env: { ...process.env, ...env },
      });
      const refused = await submit(jobFile(`image: ${image()}`), builder);
      assert.equal(refused.exitCode, 1, refused.stderr);
      assert.match(refused.stderr, /is for linux\/arm64, and build\.platform is linux\/amd64/);
      assert.equal(refused.stdout, '');
    });

    it(`${builder}: a registry that refuses the push`, async () => {
      const closed = await startDockerRegistry(daemon(), {
        auth: { htpasswd: { realm: 'nobody', path: join(work, `htpasswd-${builder}`) } },
      });
      push();
      const failed = await submit(jobFile(`image: ${closed.address}/team/train`), builder);
      await closed.stop();
      assert.equal(failed.exitCode, 1);
      assert.match(failed.stderr, /build: the image was not pushed to 127\.0\.0\.1:\d+\/team\/train: `/);
      assert.match(failed.stderr.split('was not pushed to')[1] ?? '', /unauthorized|no basic auth|authentication/);
    });
  }

  it('a build that is killed leaves no image, no job and no process', async () => {
    write(
      'Dockerfile',
      'FROM scratch\nARG SECONDS=0\nCOPY . /\nRUN ["/bin/busybox", "sh", "-c", "/bin/busybox sleep $SECONDS"]\n',
    );
    push();
    const marker = `77${process.pid}`;
    const words = ['submit', jobFile(`image: ${image()}, args: {SECONDS: ${marker}}`), '--no-verdict'];
    const child: ChildProcess = spawn(process.execPath, [...programArguments('cli/main'), ...words], {
      env: { PATH: process.env['PATH'] ?? '', JOBCTL_HOME: '/nonexistent/jobctl', ...env, JOBCTL_BUILDER: 'buildah' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const sleepers = (): string => execFileSync('bash', ['-c', `pgrep -f '[s]leep ${marker}$' || true`]).toString();
    await until('the build sleeps', () => sleepers() !== '' || undefined, 60_000);
    const ended = new Promise((done) => child.once('close', done));
    child.kill('SIGTERM');
    assert.equal(await ended, 130);
    await until('its processes are gone', () => sleepers() === '' || undefined);
    assert.deepEqual([stdout, await tags()], ['', []]);
    const again = await submit(jobFile(`image: ${image()}`), 'buildah');
    assert.equal(again.exitCode, 0, again.stderr);
  });
});

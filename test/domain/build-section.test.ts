import assert from 'node:assert/strict';
import { pinned, withDigest } from '../../domain/build/build.js';
import { podsOf, remoteBuildOf } from '../../domain/build/spec.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { type ResolvedJob, resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';

const PODS = 'kubernetes: {workers: 2}\ncommand: {run: x}\n';
const VMS = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand: {run: x}\n';
const DIGEST = `sha256:${'1f'.repeat(32)}`;

const read = (text: string): ResolvedJob => parseJobFile(text, { file: 'train.yaml', env: {} });

function accepted(job: ResolvedJob) {
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  return job;
}

function refusal(job: ResolvedJob): string {
  assert.ok(!job.ok, 'it was accepted');
  return formatProblems(job.problems);
}

/** The images of its machines and hosts, once it is built. */
function imageOf(text: string): unknown {
  const job = accepted(read(text));
  const { spec } = accepted(resolveJob(withDigest(job.raw, DIGEST)));
  if ('kubernetes' in spec) return spec.kubernetes.image;
  return 'ray_cluster' in spec ? spec.ray_cluster.image : spec.docker?.image;
}

describe('the image of a job that is built', () => {
  it('runs by digest in pods, in RayClusters and on TPU VMs', () => {
    const build = 'build: {image: ghcr.io/team/train}\n';
    const ray = 'ray_cluster: {ray_version: 2.60.0, workers: {max: 2}}\ncommand: {run: x}\n';
    for (const text of [PODS, ray, VMS]) assert.equal(imageOf(text + build), `ghcr.io/team/train@${DIGEST}`);
  });

  it('is pulled from where the hosts reach the registry', () => {
    const build = 'build: {image: 127.0.0.1:5000/train, pull_image: registry.svc:5000/train}\n';
    assert.equal(imageOf(PODS + build), `registry.svc:5000/train@${DIGEST}`);
  });

  it('keeps what else docker says, and the order of modules', () => {
    const text = `${VMS}docker: {workdir: /app}\nbundle: .\nbuild: {image: train}\n`;
    const { spec } = accepted(read(text));
    assert.deepEqual([spec.docker?.image, spec.docker?.workdir], ['train', '/app']);
    assert.deepEqual(spec.modules, ['docker', 'bundle', 'command']);
  });

  it('has defaults, and says all of its words', () => {
    const { build } = accepted(read(`${PODS}build: {image: team/train}\n`));
    assert.deepEqual(build, {
      image: 'team/train',
      context: '.',
      dockerfile: 'Dockerfile',
      args: {},
      platform: 'linux/amd64',
      pullImage: 'team/train',
      remote: {},
    });
    const words = '{image: a, context: src, dockerfile: b.Dockerfile, target: t, args: {V: 3}, platform: linux/arm64}';
    assert.deepEqual(accepted(read(`${PODS}build: ${words}\n`)).build, {
      image: 'a',
      context: 'src',
      dockerfile: 'b.Dockerfile',
      target: 't',
      args: { V: '3' },
      platform: 'linux/arm64',
      pullImage: 'a',
      remote: {},
    });
  });

  it('is refused where nobody builds: in a workflow, and of a service', () => {
    const { raw } = accepted(read(`${PODS}build: {image: train}\n`));
    assert.match(refusal(resolveJob(raw)), /^build\.digest: is missing\n {2}jobctl submit builds the image/);
  });

  const WRONG: Readonly<Record<string, string>> = {
    '{image: train:v1}': "image: 'train:v1' is no repository\n  write train: a tag is made of the commit",
    [`{image: train@${DIGEST}}`]: 'write train: a tag is made',
    '{image: https://ghcr.io/team/train}': 'write ghcr.io/team/train: a tag is made',
    '{image: Team/Train}': "'Team/Train' is no repository\n  host/path in small letters",
    '{image: train, pull_image: train:v1}': "pull_image: 'train:v1' is no repository",
    '{image: train, platform: amd64}': "platform: 'amd64' is no platform",
    '{image: train, platform: "linux/amd64,linux/arm64"}': 'is no platform\n  one of them',
    '{image: train, args: {A-B: 1}}': "'A-B' is no build argument",
    '{image: train, digest: sha256:1f}': "'sha256:1f' is no digest",
    '{image: train, tag: v1}': 'tag: no such key',
    '{image: train, namespace: A}': "namespace: 'A' is no namespace",
    '{image: train, git_secret: "a b"}': "git_secret: 'a b' is no name of a Secret",
    '{image: train, commit: main}': "commit: 'main' is no commit\n  40 hex digits",
    '{image: train, repository: /work/train}': 'repository: is no URL that a cluster can fetch from: https://',
    '{image: train, repository: file:///work/train}': 'repository: is no URL that a cluster can fetch from',
    '{image: train, repository: "https://me:s3cret@host/a.git"}':
      'repository: is a URL with a login, which would be kept',
    '{}': 'build.image: is missing\n  where the image is pushed',
  };
  for (const [build, want] of Object.entries(WRONG))
    it(`${build} is wrong, and nothing else is reported`, () => {
      const text = refusal(read(`${PODS}build: ${build}\n`));
      assert.ok(text.includes(want), text);
      assert.equal(text.match(/^\S/gm)?.length, 1, text);
    });

  it('never shows a URL with a password', () => {
    const build = '{image: train, repository: "https://me:s3cret@host/a.git"}';
    assert.doesNotMatch(refusal(read(`${PODS}build: ${build}\n`)), /s3cret/);
  });

  const COMMIT = '1f'.repeat(20);
  const REMOTE = `image: train, repository: "https://host/a.git", commit: "${COMMIT}"`;
  const remoteOf = (text: string) => {
    const { build, spec } = accepted(resolveJob(accepted(read(text)).raw));
    assert.ok(build);
    return remoteBuildOf(build, podsOf(spec, ['kubernetes', 'ray_cluster']));
  };

  it('is taken by a workflow where a cluster can build it, in the namespace of the pods unless it is named', () => {
    const pods = 'kubernetes: {workers: 2, namespace: ml, context: east}\ncommand: {run: x}\n';
    assert.deepEqual(remoteOf(`${pods}build: {${REMOTE}, context: ./src//app}\n`), {
      ...{ repository: 'https://host/a.git', commit: COMMIT, context: 'src/app', dockerfile: 'Dockerfile' },
      ...{ args: {}, platform: 'linux/amd64', image: 'train', cluster: 'east', namespace: 'ml' },
    });
    const named = `${REMOTE}, namespace: builds, cluster: west, git_secret: g, push_secret: p, target: t`;
    const { cluster, namespace, gitSecret, pushSecret, target } = remoteOf(`${pods}build: {${named}}\n`) ?? {};
    assert.deepEqual([cluster, namespace, gitSecret, pushSecret, target], ['west', 'builds', 'g', 'p', 't']);
    assert.equal(remoteOf(`${VMS}build: {${REMOTE}}\n`)?.namespace, 'default');
    assert.equal(remoteOf(`${VMS}build: {${REMOTE}, digest: "${DIGEST}"}\n`), undefined);
  });

  const UNFETCHED: Readonly<Record<string, string>> = {
    [`{image: train, commit: "${COMMIT}"}`]: 'build.repository: is missing',
    [`{${REMOTE}, context: ../other}`]: "context: '../other' is no folder of build.repository",
    [`{${REMOTE}, context: /work}`]: "context: '/work' is no folder of build.repository",
    [`{${REMOTE}, dockerfile: ../Dockerfile}`]: "dockerfile: '../Dockerfile' is not in build.context",
  };
  for (const [build, want] of Object.entries(UNFETCHED))
    it(`${build} cannot be built by a cluster`, () => {
      const text = refusal(read(`${PODS}build: ${build}\n`));
      assert.ok(text.includes(want), text);
      assert.equal(text.match(/^\S/gm)?.length, 1, text);
    });

  it('takes the place of the one that was named without a digest', () => {
    const digest = DIGEST;
    for (const [text, section] of [
      [PODS, 'kubernetes'],
      [VMS, 'docker'],
    ] as const) {
      const { spec, build } = accepted(resolveJob(accepted(read(`${text}build: {${REMOTE}}\n`)).raw));
      assert.ok(build);
      const before = spec as unknown as Record<string, { image: string; workers?: number }>;
      const after = pinned(spec, { ...build, digest }, ['kubernetes', 'ray_cluster']) as unknown as typeof before;
      assert.deepEqual(after, { ...before, [section]: { ...before[section], image: `train@${DIGEST}` } });
    }
  });

  it('is refused beside another image, and where the command would not run in it', () => {
    const both = refusal(read('kubernetes: {image: other}\ncommand: {run: x}\nbuild: {image: train}\n'));
    assert.match(both, /image: is given beside build, which makes the image\n {2}keep one of the two/);
    const unused = refusal(read(`${VMS}setup: {modules: [command]}\nbuild: {image: train}\n`));
    assert.match(unused, /build: the image would not be used: the job does not have the module docker/);
  });
});

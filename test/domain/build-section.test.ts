import assert from 'node:assert/strict';
import { withDigest } from '../../domain/build/build.js';
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
    '{}': 'build.image: is missing\n  where the image is pushed',
  };
  for (const [build, want] of Object.entries(WRONG))
    it(`${build} is wrong, and nothing else is reported`, () => {
      const text = refusal(read(`${PODS}build: ${build}\n`));
      assert.ok(text.includes(want), text);
      assert.equal(text.match(/^\S/gm)?.length, 1, text);
    });

  it('is refused beside another image, and where the command would not run in it', () => {
    const both = refusal(read('kubernetes: {image: other}\ncommand: {run: x}\nbuild: {image: train}\n'));
    assert.match(both, /image: is given beside build, which makes the image\n {2}keep one of the two/);
    const unused = refusal(read(`${VMS}setup: {modules: [command]}\nbuild: {image: train}\n`));
    assert.match(unused, /build: the image would not be used: the job does not have the module docker/);
  });
});

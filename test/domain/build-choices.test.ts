import assert from 'node:assert/strict';
import { buildChoices } from '../../domain/job-choices.js';
import { resolveJob } from '../../domain/job-file/resolve.js';

const REMOTE = { image: 'host/train', repository: 'https://host/a.git', commit: '1f'.repeat(20) };

function choices(build: object, machines: object = { kubernetes: { workers: 1, namespace: 'ml' } }) {
  const job = { ...machines, build, command: { run: 'x' } };
  const resolved = resolveJob(job);
  assert.ok(resolved.ok);
  return buildChoices(job, resolved.spec).map(({ key, path, value }) => [key, path.join('.'), value]);
}

describe('what a build in a cluster chooses, and a pool may refuse', () => {
  it('is the namespace of the build, also where it is not that of the pods, and where it pushes', () => {
    const image = ['images', 'build.image', 'host/train'];
    assert.deepEqual(choices(REMOTE), [['machines', 'build.namespace', 'kubernetes/default-cluster/ml'], image]);
    const elsewhere = choices({ ...REMOTE, cluster: 'west', namespace: 'kube-system' });
    assert.deepEqual(elsewhere, [['machines', 'build.namespace', 'kubernetes/west/kube-system'], image]);
    const ofVms = choices(REMOTE, { tpu: { accelerator: 'v5litepod-8', zone: 'us-west4-a' } });
    assert.deepEqual(ofVms[0], ['machines', 'build.namespace', 'kubernetes/default-cluster/default']);
  });

  it('is the Secrets with which it fetches and pushes', () => {
    const logins = { ...REMOTE, git_secret: 'team-b-git', push_secret: 'registry', cluster: 'west' };
    assert.deepEqual(choices(logins).slice(2), [
      ['secrets', 'build.git_secret', 'west/ml/team-b-git'],
      ['secrets', 'build.push_secret', 'west/ml/registry'],
    ]);
  });

  it('is nothing of an image that is there', () => {
    assert.deepEqual(choices({ ...REMOTE, digest: `sha256:${'1f'.repeat(32)}` }), []);
  });
});

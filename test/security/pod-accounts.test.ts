import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1PodSpec } from '@kubernetes/client-node';
import { buildJob } from '../../cloud/builds/manifest.js';
import { DEFAULT_BUILD_SETTINGS } from '../../cloud/builds/port.js';
import { openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import { createPods } from '../../cloud/machines/kubernetes/create-pods.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import { manifestOf } from '../../cloud/machines/kubernetes/manifest.js';
import { rayClusterManifest } from '../../cloud/machines/ray-cluster/manifest.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { formatProblems } from '../../domain/problem.js';

const PLACE = {
  ...{ owner: 'o', googleProject: '', zone: 'default-cluster', name: 'jc-x-g1', job: 'x', run: 'r', generation: 1 },
  ...{ loginUser: 'me', publicKey: 'k' },
};

function specOf(sections: object) {
  const job = resolveJob({ command: { run: 'true' }, ...sections });
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  return job.spec;
}
function pods(more: object) {
  const spec = specOf({ kubernetes: { image: 'train:1', ...more } });
  assert.ok('kubernetes' in spec);
  return KINDS.kubernetes.plan(spec, PLACE);
}
function ray(more: object) {
  const spec = specOf({
    ray_cluster: { image: 'train:1', ray_version: '2.60.0', workers: { min: 2, max: 2 }, ...more },
  });
  assert.ok('ray_cluster' in spec);
  return rayClusterManifest(KINDS['ray-cluster'].plan(spec, PLACE)).cluster.spec ?? assert.fail();
}
const build = (): V1PodSpec | undefined =>
  buildJob(
    {
      owner: 'own-1',
      build: {
        ...{ hash: 'a'.repeat(16), repository: 'https://git.example.org/a.git', commit: 'a'.repeat(40), context: '' },
        ...{ dockerfile: 'Dockerfile', args: {}, platform: 'linux/amd64', image: 'own/image', namespace: 'ml' },
      },
    },
    DEFAULT_BUILD_SETTINGS,
  ).spec?.template.spec;

/** Every pod that jobctl makes, or has made, by the account that the job names. */
const PODS: Readonly<Record<string, (account: object) => V1PodSpec | undefined>> = {
  'a pod of a job': (account) => manifestOf(pods(account)).job.spec?.template.spec,
  'the head of a RayCluster': (account) => ray(account).headGroupSpec?.template.spec,
  'a worker of a RayCluster': (account) => ray(account).workerGroupSpecs?.[0]?.template.spec,
  'a worker of a RayCluster that scales': (account) =>
    ray({ ...account, workers: { min: 1, max: 4 } }).workerGroupSpecs?.[0]?.template.spec,
};

describe('S14: accounts of pods', () => {
  for (const [name, podOf] of Object.entries(PODS))
    it(`${name} has a token of an account only if the job names the account`, () => {
      const without = podOf({});
      assert.deepEqual([without?.serviceAccountName, without?.automountServiceAccountToken], [undefined, false]);
      const named = podOf({ service_account: 'trainer' });
      assert.deepEqual([named?.serviceAccountName, named?.automountServiceAccountToken], ['trainer', undefined]);
    });

  it('a pod that builds has none, and the head that scales has that of its own RayCluster', () => {
    assert.equal(build()?.automountServiceAccountToken, false);
    const head = ray({ workers: { min: 1, max: 4 } }).headGroupSpec?.template.spec;
    assert.equal(head?.automountServiceAccountToken, undefined);
  });

  for (const section of [
    { kubernetes: { image: 'train:1', service_account: 'jobctl-worker' } },
    { ray_cluster: { image: 'i', ray_version: '2.60.0', workers: { max: 1 }, service_account: 'jobctl-worker' } },
  ])
    it(`the worker’s account is no job’s, by its name in ${Object.keys(section).join('')}`, () => {
      const job = resolveJob({ command: { run: 'true' }, ...section });
      assert.ok(!job.ok);
      assert.match(formatProblems(job.problems), /'jobctl-worker' is no account of a job\n {2}it is jobctl's own/);
    });

  it('nor by another name, if jobctl logs in with it: nothing is asked of the cluster', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-own-account-'));
    const clusterOf = (sub: string) => {
      const token = ['{}', JSON.stringify({ sub }), 'x']
        .map((part) => Buffer.from(part).toString('base64url'))
        .join('.');
      const kubeconfig = join(folder, 'config');
      const config = {
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        // Nobody listens there: what is asked is unanswered.
        clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
        users: [{ name: 'u', user: { token } }],
      };
      writeFileSync(kubeconfig, JSON.stringify(config));
      return openCluster(library, { kubeconfig, callTimeoutMs: 2_000 });
    };
    const own = pods({ namespace: 'ml', service_account: 'ours' });
    const refused = await createPods(clusterOf('system:serviceaccount:ml:ours'), own);
    assert.deepEqual(refused, {
      ...{ kind: 'refused', scope: 'request' },
      message: "service account ours of namespace ml is jobctl's own, and no job's: name another one",
    });
    for (const sub of ['system:serviceaccount:jobctl:ours', 'system:serviceaccount:ml:other', 'ours'])
      assert.notEqual((await createPods(clusterOf(sub), own)).kind, 'refused', sub);
    rmSync(folder, { recursive: true });
  });
});

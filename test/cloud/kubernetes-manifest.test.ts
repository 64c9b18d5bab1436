import assert from 'node:assert/strict';
import { AGENT } from '../../cloud/machines/kubernetes/pod-template.js';
import { manifestOf } from '../../cloud/machines/kubernetes/manifest.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { formatProblems } from '../../domain/problem.js';

function manifest(section: object, name = 'jc-x-g1', more: object = { command: { run: 'true' } }) {
  const job = resolveJob({ kubernetes: { image: 'train:1', ...section }, ...more });
  assert.ok(job.ok && 'kubernetes' in job.spec, job.ok ? '' : formatProblems(job.problems));
  const place = { owner: 'o', googleProject: '', zone: 'default-cluster', name, job: 'x', run: 'r', generation: 1 };
  return manifestOf(KINDS.kubernetes.plan(job.spec, { ...place, loginUser: 'me', publicKey: 'k' }));
}
const podOf = (section: object) => manifest(section).job.spec?.template.spec ?? assert.fail();

/** What the tests on a real cluster cannot show: it has no GPUs and no TPUs. */
describe('the objects of a slice in Kubernetes', () => {
  it('TPUs are asked for by GKE’s labels, and by the chips of one pod', () => {
    const { nodeSelector, containers } = podOf({ tpu: { accelerator: 'v5litepod-16' }, node_selector: { a: 'b' } });
    assert.deepEqual(nodeSelector, {
      'cloud.google.com/gke-tpu-accelerator': 'tpu-v5-lite-podslice',
      'cloud.google.com/gke-tpu-topology': '4x4',
      a: 'b',
    });
    assert.deepEqual(containers[0]?.resources?.limits, { 'google.com/tpu': '4' });
    assert.equal(manifest({ tpu: { accelerator: 'v5litepod-16' } }).job.spec?.completions, 4);
  });

  it('GPUs, CPUs and memory are request and limit', () => {
    const resources = podOf({ gpus: 8, gpu_type: 'h100', cpus: 90, memory: '900Gi' }).containers[0]?.resources;
    assert.deepEqual(resources?.limits, { 'nvidia.com/gpu': '8', cpu: '90', memory: '900Gi' });
    assert.deepEqual(resources?.requests, resources?.limits);
  });

  it('a pod is never replaced, its disruption stays in its Job, and a silent node keeps it', () => {
    const { spec } = manifest({ workers: 3 }).job;
    assert.deepEqual([spec?.completionMode, spec?.completions, spec?.parallelism], ['Indexed', 3, 3]);
    assert.deepEqual([spec?.backoffLimit, spec?.podReplacementPolicy], [0, 'Failed']);
    assert.deepEqual(spec?.podFailurePolicy?.rules, [
      { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ]);
    const silent = spec?.template.spec?.tolerations?.filter(({ effect }) => effect === 'NoExecute') ?? [];
    assert.equal(silent.length, 2);
    assert.ok(silent.every(({ tolerationSeconds }) => tolerationSeconds === undefined));
  });

  it('the agent is the first process, and secrets are readable to its user alone', () => {
    const { configMap } = manifest({});
    const { containers, volumes } = podOf({ secrets: [{ name: 'hf', mount_path: '/secrets' }] });
    assert.equal(configMap.data?.['agent'], AGENT);
    assert.deepEqual([containers[0]?.name, containers[0]?.command], ['main', ['/bin/sh', '/jobctl/agent']]);
    assert.deepEqual(volumes?.[0], { name: 'jobctl-agent', configMap: { name: 'jc-x-g1', defaultMode: 0o555 } });
    assert.deepEqual(volumes[1]?.secret, { secretName: 'hf', defaultMode: 0o400 });
  });

  it('the agent knows its grace, and outlives what jobctl lets the pods be without a run', () => {
    const command = { run: 'true' };
    const hoursOf = (more: object): string => {
      const { containers, terminationGracePeriodSeconds } = manifest({}, 'jc-x-g1', more).job.spec?.template.spec ?? {};
      const env = Object.fromEntries((containers?.[0]?.env ?? []).map(({ name, value = '' }) => [name, value]));
      assert.equal(env['JOBCTL_AGENT_GRACE_SECONDS'], String(terminationGracePeriodSeconds));
      return env['JOBCTL_AGENT_HOURS'] ?? '';
    };
    assert.equal(hoursOf({ command }), '168');
    assert.equal(hoursOf({ command, keep: { when: 'always', for: '300h' } }), '324');
    assert.equal(hoursOf({ command, timeouts: { stop: '200h' } }), '224');
    assert.equal(hoursOf({}), '8760');
  });

  it('all three carry whose they are, and the slice’s whole name', () => {
    const name = `jc-${'x'.repeat(50)}-s10-g1`;
    const { job, service, configMap } = manifest({ labels: { team: 'v' } }, name);
    for (const { metadata } of [job, service, configMap]) {
      assert.equal(metadata?.labels?.['jobctl-name'], name);
      assert.deepEqual([metadata.labels['jobctl-owner'], metadata.labels['jobctl-job']], ['o', 'x']);
      assert.ok((metadata.name ?? '').length <= 58);
    }
    assert.equal(job.spec?.template.metadata?.labels?.['team'], 'v');
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Machines } from '../../../cloud/machines/port.js';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import { makeGone, makeReady } from '../../cloud/machines-conformance.js';
import { rehearsedPlan, startRehearsedKubernetes } from '../../cloud/rehearsed-kubernetes.js';
import { until } from '../../until.js';
import { openRealCluster } from './real-cluster.js';

/** What people do beside jobctl: `kubectl get, logs, exec, delete`, on a real cluster and on the rehearsed one alike. */

interface KubectlUnderTest {
  readonly port: Machines<'kubernetes'>;
  readonly kubeconfig: string;
  readonly namespace: string;
  plan(name: string): KubernetesPlan;
  close(): Promise<void>;
}

const DEADLINE_MS = 120_000;

/** Of this computer, of KUBECTL, or what kube-node has built. */
function kubectlProgram(): string {
  const cache = join(homedir(), '.cache/kube-node');
  const built = existsSync(cache) ? readdirSync(cache).map((version) => join(cache, version, 'kubectl')) : [];
  const program = process.env['KUBECTL'] ?? built.find((path) => existsSync(path)) ?? 'kubectl';
  return program;
}

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const section = { workers: 2, cpus: '10m' };
const PLACES: Readonly<Record<string, () => Promise<KubectlUnderTest>>> = {
  'the rehearsed Kubernetes': async () => {
    const rehearsed = await startRehearsedKubernetes();
    const plan = (name: string): KubernetesPlan => rehearsedPlan(name, section);
    return { ...rehearsed, namespace: 'default', plan, close: () => rehearsed.stop() };
  },
  'a real cluster': async () => {
    const real = await openRealCluster('kubectl');
    return { ...real, plan: (name) => real.plan(name, section) };
  },
};

for (const [place, open] of Object.entries(PLACES))
  describe(`kubectl on ${place}`, function () {
    this.timeout(240_000);
    let under: KubectlUnderTest;
    let pods: readonly string[];
    let plan: KubernetesPlan;
    before(async () => {
      under = await open();
      plan = under.plan('jc-kubectl-g1');
      const seen = await makeReady({ port: under.port, deadlineMs: DEADLINE_MS }, plan);
      pods = seen.hosts.map((host) => (host.reach === 'pod' ? host.pod : ''));
    });
    after(async () => {
      if (under === undefined) return;
      await makeGone({ port: under.port, deadlineMs: DEADLINE_MS }, plan);
      await under.close();
    });

    const kubectl = (words: readonly string[], stdin = ''): Promise<Said> =>
      new Promise((resolve, reject) => {
        const args = ['--kubeconfig', under.kubeconfig, '-n', under.namespace, ...words];
        const child = execFile(kubectlProgram(), args, { encoding: 'utf8' }, (error, stdout, stderr) => {
          if (error && typeof error.code !== 'number') reject(error);
          else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
        });
        child.stdin?.end(stdin);
      });
    const lines = async (...words: string[]): Promise<readonly string[]> => {
      const { code, stdout, stderr } = await kubectl(words);
      assert.equal(code, 0, stderr);
      return stdout.trim().split('\n');
    };

    it('get prints tables, names, wide columns and JSON', async () => {
      const [head = '', ...rows] = await lines('get', 'pods', '-l', 'jobctl-owner=own-1');
      assert.deepEqual(head.split(/\s+/), ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
      assert.deepEqual(
        rows.map((row) => row.split(/\s+/).slice(0, 4)),
        pods.map((pod) => [pod, '1/1', 'Running', '0']),
      );
      const [wide = ''] = await lines('get', 'pods', '-o', 'wide');
      assert.match(wide, /NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES/);
      const [jobHead = '', job = ''] = await lines('get', 'jobs');
      assert.deepEqual(jobHead.split(/\s+/), ['NAME', 'STATUS', 'COMPLETIONS', 'DURATION', 'AGE']);
      assert.deepEqual(job.split(/\s+/).slice(0, 3), ['jc-kubectl-g1', 'Running', '0/2']);
      const names = await lines('get', 'jobs,pods,services,configmaps', '-l', 'jobctl-owner', '-o', 'name');
      assert.deepEqual(names.toSorted(), [
        'configmap/jc-kubectl-g1',
        'job.batch/jc-kubectl-g1',
        ...pods.map((pod) => `pod/${pod}`),
        'service/jc-kubectl-g1',
      ]);
      const counts = ['get', 'job', 'jc-kubectl-g1', '-o', 'jsonpath={.status.active} {.status.ready}'];
      // A Job counts what is ready a second later than the pods say so.
      await until('both are counted', async () => (await lines(...counts))[0] === '2 2');
    });

    it('says what is not there, and which kinds are none', async () => {
      const missing = await kubectl(['get', 'pod', 'nobody']);
      assert.deepEqual([missing.code, missing.stderr], [1, 'Error from server (NotFound): pods "nobody" not found\n']);
      const unknown = await kubectl(['get', 'fish']);
      assert.deepEqual([unknown.code, unknown.stderr], [1, `error: the server doesn't have a resource type "fish"\n`]);
    });

    it('exec gives stdin, stdout, stderr and the exit code', async () => {
      const [pod = ''] = pods;
      const said = await kubectl(['exec', '-i', pod, '--', 'sh', '-c', 'cat; echo wrong >&2; exit 7'], 'a line\n');
      assert.deepEqual(said, { code: 7, stdout: 'a line\n', stderr: 'wrong\ncommand terminated with exit code 7\n' });
      const [first = ''] = await lines('exec', pod, '--', 'cat', '/proc/1/cmdline');
      assert.equal(first, '/bin/sh\0/jobctl/agent\0');
    });

    it('logs follow a pod until it is deleted, and delete waits for its end', async () => {
      const [, pod = ''] = pods;
      const following = kubectl(['logs', '-f', pod]);
      const { code, stdout, stderr } = await kubectl(['delete', 'pod', pod]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^pod "${pod}" deleted`));
      assert.match((await following).stdout, /jobctl: SIGTERM: the pod ends; its processes are told/);
      assert.equal((await kubectl(['get', 'pod', pod])).code, 1);
      const [reason] = await lines('get', 'job', 'jc-kubectl-g1', '-o', 'jsonpath={.status.conditions[*].reason}');
      assert.match(reason ?? '', /^BackoffLimitExceeded/);
    });

    it('delete of a Job takes its pods along', async () => {
      const { code, stderr } = await kubectl(['delete', 'job', 'jc-kubectl-g1', '--cascade=foreground']);
      assert.equal(code, 0, stderr);
      assert.deepEqual(await lines('get', 'pods', '-o', 'name'), ['']);
    });
  });

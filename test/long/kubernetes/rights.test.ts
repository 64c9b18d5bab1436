import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diagnoseKubernetes } from '../../../cli/doctor/kubernetes.js';
import { listNamespaceForAudit } from '../../../cloud/machines/kubernetes/audit.js';
import * as library from '../../../cloud/machines/kubernetes/library.js';
import { createKubernetes } from '../../../cloud/machines/kubernetes/kubernetes.js';
import { CloudRefused, CloudUnavailable } from '../../../cloud/machines/port.js';
import { makeGone, makeReady, observed } from '../../cloud/machines-conformance.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const RBAC = 'deploy/kubernetes/rbac.yaml';
const ACCOUNT = 'deploy/kubernetes/worker-account.yaml';
/** The namespace of the worker's account. */
const OF_WORKER = 'jobctl';

describe('rights of a worker, on a real cluster', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-rights-'));
  let real: RealCluster;
  before(async () => {
    real = await openRealCluster('rights');
  });
  after(async () => {
    await real.close();
    rmSync(folder, { recursive: true });
  });

  /** A kubeconfig of a service account. */
  async function loginAs(name: string, server = real.cluster.server): Promise<string> {
    const namespace = name === 'jobctl-worker' ? OF_WORKER : real.namespace;
    const body = { spec: { audiences: [], expirationSeconds: 3600 } };
    const { status } = await real.cluster.core.createNamespacedServiceAccountToken({
      name,
      namespace,
      body,
    });
    const file = join(folder, `${name}-${server.length}`);
    const cluster = { server, 'insecure-skip-tls-verify': true };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: status?.token } }],
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }
  const small = (name: string) => real.plan(`jc-${name}-g1`, { cpus: '10m' });

  it('an account without rights is told which verb on which resource, and nothing is known of its pods', async () => {
    const port = createKubernetes({ cluster: { kubeconfig: await loginAs('default') } });
    const answer = await port.create(small('forbidden'));
    assert.ok(answer.kind === 'refused' && answer.scope === 'permission', JSON.stringify(answer));
    assert.match(
      answer.message,
      /cannot create resource "configmaps" in API group "" in the namespace "machines-rights"/,
    );
    await assert.rejects(observed({ port }, small('forbidden')), CloudRefused);
    await assert.rejects(port.listOwned(`/${real.namespace}`, 'own-1'), CloudRefused);
    await port.close();
  });

  it('doctor names each right that is missing, and with the role of deploy/ none', async () => {
    const look = async (kubeconfig: string) => {
      const flags = { kubeconfig, kubeNamespace: real.namespace, externalIps: true, output: 'table' } as never;
      const { findings } = await diagnoseKubernetes(undefined, flags);
      return findings.map(({ check, state, what }) => `${state} ${check}: ${what}`);
    };
    const before = await look(await loginAs('default'));
    assert.ok(
      before.some((line) =>
        line.startsWith('failed rights: may not create, get, list, delete jobs in machines-rights'),
      ),
      before.join('\n'),
    );
    real.kubectl('apply', '-f', ACCOUNT, '--namespace', OF_WORKER);
    real.kubectl('apply', '-f', RBAC);
    const after = await look(await loginAs('jobctl-worker'));
    assert.ok(after.includes('ok rights: all that jobctl needs in machines-rights'), after.join('\n'));
    assert.match(after[0] ?? '', /^ok cluster: x at https:.*: Kubernetes v/);
    assert.ok(
      after.every((line) => !line.startsWith('failed')),
      after.join('\n'),
    );
  });

  it('with the role of deploy/ a slice lives and goes, and the audit sees what the adapter made', async () => {
    const kubeconfig = await loginAs('jobctl-worker');
    const port = createKubernetes({ cluster: { kubeconfig } });
    const plan = small('allowed');
    await makeReady({ port, deadlineMs: 120_000 }, plan);
    const before = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = kubeconfig;
    const all = await listNamespaceForAudit(library, `/${real.namespace}`, 'kubernetes').finally(() => {
      if (before === undefined) delete process.env['KUBECONFIG'];
      else process.env['KUBECONFIG'] = before;
    });
    const ours = all
      .filter(({ labels }) => labels['jobctl-owner'] === 'own-1')
      .map(({ kind, name }) => `${kind} ${name}`);
    const name = plan.ref.name;
    assert.deepEqual(ours.map((text) => text.replace(/(Pod .*-0)-\w+$/, '$1')).toSorted(), [
      `ConfigMap ${name}`,
      `Job ${name}`,
      `Pod ${name}-0`,
      `Service ${name}`,
    ]);
    await makeGone({ port, deadlineMs: 120_000 }, plan);
    await port.close();
  });

  it('an API server that does not answer is unknown, and a create is unanswered', async () => {
    const silent: Server = createServer((socket) => socket.resume().on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port: number } = silent.address() as { port: number };
    const closed = createKubernetes({ cluster: { kubeconfig: await loginAs('default', 'https://127.0.0.1:9') } });
    const mute = createKubernetes({
      cluster: { kubeconfig: await loginAs('default', `https://127.0.0.1:${number}`), callTimeoutMs: 500 },
    });
    for (const port of [closed, mute]) {
      assert.equal((await port.create(small('far'))).kind, 'unanswered');
      await assert.rejects(observed({ port }, small('far')), CloudUnavailable);
      const answer = await port.remove(small('far').ref, { owner: 'own-1', job: 'train', run: 'run-1' });
      assert.equal(answer.kind, 'unanswered');
      await port.close();
    }
    await new Promise((resolve) => silent.close(resolve));
  });

  it('a context that the kubeconfig does not have is refused with those that it has', async () => {
    const { ref, ...plan } = small('elsewhere');
    const answer = await real.port.create({ ...plan, ref: { ...ref, context: 'prod', zone: 'prod' } });
    assert.ok(answer.kind === 'refused' && answer.scope === 'installation', JSON.stringify(answer));
    assert.match(answer.message, /has no context 'prod'; it has x/);
  });
});

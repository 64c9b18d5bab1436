import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { createKubernetes } from '../../../cloud/machines/kubernetes/kubernetes.js';
import type { Machines } from '../../../cloud/machines/port.js';
import type { StuckDeletion } from '../../../domain/lease.js';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import { deletionOf, shouldNotTell } from '../../cloud/deletion.js';
import { makeReady } from '../../cloud/machines-conformance.js';
import { until } from '../../until.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const DEADLINE_MS = 120_000;
const ACCOUNT = 'giving-back';

/** The rows of test/cloud/permanent-answers.live.test.ts that a real API server can give (docs/adr/0099). */
describe('an answer that never changes, of a real cluster', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-giving-back-'));
  let real: RealCluster;
  let port: Machines<'kubernetes'>;
  before(async () => {
    real = await openRealCluster('giving-back');
    real.kubectl('create', 'serviceaccount', ACCOUNT);
    bind();
    port = createKubernetes({ cluster: { kubeconfig: await login() }, periods: { urgentMs: 200, quietMs: 1000 } });
  });
  after(async () => {
    await port?.close();
    await real?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const bind = (): string =>
    real.kubectl(
      'create',
      'rolebinding',
      ACCOUNT,
      '--clusterrole=admin',
      `--serviceaccount=${real.namespace}:${ACCOUNT}`,
    );
  const unbind = (): string => real.kubectl('delete', 'rolebinding', ACCOUNT);
  async function login(server = real.cluster.server): Promise<string> {
    const body = { spec: { audiences: [], expirationSeconds: 3600 } };
    const { namespace } = real;
    const { status } = await real.cluster.core.createNamespacedServiceAccountToken({ name: ACCOUNT, namespace, body });
    const file = join(folder, `login-${server.length}`);
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: status?.token } }],
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }
  const planOf = (name: string): KubernetesPlan => real.plan(`jc-${name}-g1`, { cpus: '10m' });
  async function running(name: string): Promise<KubernetesPlan> {
    const plan = planOf(name);
    await makeReady({ port, deadlineMs: DEADLINE_MS }, plan);
    return plan;
  }
  /** Until it is told for the first time. */
  async function toldOnce(through: Machines<'kubernetes'>, plan: KubernetesPlan): Promise<StuckDeletion> {
    const told: StuckDeletion[] = [];
    const deletion = deletionOf(through, plan, {}, async (stuck) => {
      told.push(stuck);
      deletion.environment.cancel('CANCELLED');
    });
    await assert.rejects(deletion.done, CancelledFailure);
    const [first] = told;
    assert.ok(first !== undefined && told.length === 1, JSON.stringify(told));
    return first;
  }
  /** @returns what is left in the namespace of the given slice */
  const left = (plan: KubernetesPlan): readonly string[] =>
    real
      .kubectl('get', 'jobs,pods,configmaps,services,secrets', '-o', 'name')
      .split('\n')
      .filter((line) => line.includes(plan.ref.name));

  it('a right that was taken away: what was never accepted is gone at once', async () => {
    unbind();
    await deletionOf(port, planOf('never'), { isNeverAccepted: true }, shouldNotTell).done;
    bind();
  });

  it('a right that was taken away: what may exist is told as final, waits, and is gone once the right is there again', async () => {
    const plan = await running('kept');
    unbind();
    const told: StuckDeletion[] = [];
    await deletionOf(port, plan, {}, async (stuck) => {
      told.push(stuck);
      if (told.length === 1) bind();
    }).done;
    assert.deepEqual([told.length, told[0]?.isFinal], [1, true], JSON.stringify(told));
    assert.match(told[0]?.answer ?? '', /forbidden/);
    await until('nothing is left', () => left(plan).length === 0, DEADLINE_MS);
  });

  it('a namespace that is gone: what was in it is gone', async () => {
    const namespace = `${real.namespace}-gone`;
    await real.cluster.core.createNamespace({ body: { metadata: { name: namespace } } });
    await until('its service account', () =>
      real.cluster.core.readNamespacedServiceAccount({ namespace, name: 'default' }).catch(() => undefined),
    );
    const plan = real.plan('jc-gone-g1', { cpus: '10m', namespace });
    await makeReady({ port: real.port, deadlineMs: DEADLINE_MS }, plan);
    await real.cluster.core.deleteNamespace({ name: namespace });
    await deletionOf(real.port, plan, {}, shouldNotTell).done;
    await until('the namespace is gone', async () =>
      real.cluster.core.readNamespace({ name: namespace }).then(
        () => false,
        () => true,
      ),
    );
    await deletionOf(real.port, plan, {}, shouldNotTell).done;
  });

  it('a namespace that never stops terminating: ours in it is gone, and nothing new is accepted', async () => {
    const { core } = real.cluster;
    const namespace = `${real.namespace}-held`;
    await core.createNamespace({ body: { metadata: { name: namespace } } });
    await until('its service account', () =>
      core.readNamespacedServiceAccount({ namespace, name: 'default' }).catch(() => undefined),
    );
    const plan = real.plan('jc-held-g1', { cpus: '10m', namespace });
    await makeReady({ port: real.port, deadlineMs: DEADLINE_MS }, plan);
    const finalizers = ['example.com/nobody-takes-it-off'];
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'held', finalizers } } });
    await core.deleteNamespace({ name: namespace });
    await deletionOf(real.port, plan, {}, shouldNotTell).done;
    const late = real.plan('jc-late-g1', { cpus: '10m', namespace });
    const answer = await real.port.create(late);
    assert.ok(answer.kind === 'refused' && answer.scope === 'zone-lasting', JSON.stringify(answer));
    await deletionOf(real.port, late, { isNeverAccepted: true }, shouldNotTell).done;
    const body = [{ op: 'remove', path: '/metadata/finalizers' }];
    await core.patchNamespacedConfigMap({ name: 'held', namespace, body });
  });

  it('a cluster that is gone: told as what may change', async () => {
    const closed = createKubernetes({ cluster: { kubeconfig: await login('https://127.0.0.1:9') } });
    const { isFinal, answer } = await toldOnce(closed, planOf('lost'));
    assert.deepEqual([isFinal, /ECONNREFUSED/.test(answer)], [undefined, true], answer);
    await closed.close();
  });

  it('credentials that were revoked: told as final; whoever has others finds it, and it goes', async () => {
    const plan = await running('revoked');
    real.kubectl('delete', 'serviceaccount', ACCOUNT);
    // The API server believes a token for a while that it has seen to be good.
    const isRefused = (): Promise<boolean> =>
      port.observe(plan).then(
        () => false,
        (error: unknown) => /Unauthorized/.test(String(error)),
      );
    await until('the token is refused', isRefused, DEADLINE_MS);
    const { isFinal, answer } = await toldOnce(port, plan);
    assert.deepEqual([isFinal, /Unauthorized/.test(answer)], [true, true], answer);
    await deletionOf(real.port, plan, {}, shouldNotTell).done;
    await until('nothing is left', () => left(plan).length === 0, DEADLINE_MS);
  });
});

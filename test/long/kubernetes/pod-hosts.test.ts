import assert from 'node:assert/strict';
import { RbacAuthorizationV1Api } from '@kubernetes/client-node';
import { createPodHosts } from '../../../cloud/hosts/pod-fleet.js';
import { HostUnfit, HostUnreachable } from '../../../cloud/hosts/port.js';
import { openCluster } from '../../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../../cloud/machines/kubernetes/library.js';
import { exercisePods, podOutput } from '../../hosts/pod-conformance.js';
import { ended, request } from '../../hosts/run.js';
import { never } from '../../hosts/session.js';
import { until } from '../../until.js';
import { killPart } from './kill-part.js';
import { PodsForTest } from './pod-cluster.js';
import { busyboxImage, debianImage } from './pod-images.js';

describe('pods as hosts, on a real Kubernetes', function () {
  this.timeout(300_000);
  describe('the suite of every Kubernetes', () => {
    exercisePods(async () => {
      const own = new PodsForTest();
      const debian = await debianImage(own.cluster);
      await own.open();
      return { pods: own, image: debian };
    });
  });

  let pods: PodsForTest;
  let image: string;
  before(async () => {
    pods = new PodsForTest();
    image = await debianImage(pods.cluster);
    await pods.open();
  });
  after(() => pods?.close());

  describe('what breaks', () => {
    it('the API server is killed and started while a command runs', async () => {
      const target = await pods.pod(image);
      const connection = await pods.connect(target);
      await connection.startRun(request('echo before; sleep 20; echo after; exit 6'));
      const following = connection.followOutput('train-x1-a1', 0, () => undefined, never);
      await until('the first line', async () => (await pods.logs(target)).includes('before'));
      const startAgain = killPart('kube-apiserver');
      await assert.rejects(following, HostUnreachable);
      await assert.rejects(connection.runStatus('train-x1-a1'), HostUnreachable);
      startAgain();
      const status = await until(
        'an answer',
        () => connection.runStatus('train-x1-a1').catch(() => undefined),
        120_000,
      );
      assert.notEqual(status.kind, 'lost');
      const exited = await until('the end', async () => {
        const now = await connection.runStatus('train-x1-a1');
        return now.kind === 'exited' ? now : undefined;
      });
      assert.deepEqual([exited.code, exited.host], [6, 'up']);
      assert.equal(
        await podOutput(connection, 'cat ~/.jobctl/starts.log | wc -l; cat ~/.jobctl/runs/train-x1-a1/output'),
        '1\nbefore\nafter\n',
      );
    });

    it('another pod, one that has ended, and rights that are missing are each named', async () => {
      const target = await pods.pod(image);
      await assert.rejects(
        pods.connect({ ...target, podUid: 'another' }),
        /another pod of the same name \(uid .*, not another\)/,
      );
      const connection = await pods.connect(target);
      await podOutput(connection, 'kill -TERM 1');
      const said = await until('its end', () =>
        connection.runStatus('x-a1').then(
          () => undefined,
          (error: Error) => (error.message.includes('ended') ? error.message : undefined),
        ),
      );
      assert.match(said, /its container has ended with code 143 \(Error\); the pod is (Running|Failed)/);
      const { core, config } = pods.cluster;
      const { namespace } = pods;
      await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: 'looker' } } });
      const rbac = config.makeApiClient(RbacAuthorizationV1Api);
      const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
      await rbac.createNamespacedRole({ namespace, body: { metadata: { name: 'looker' }, rules } });
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'looker' };
      const subjects = [{ kind: 'ServiceAccount', name: 'looker', namespace }];
      await rbac.createNamespacedRoleBinding({ namespace, body: { metadata: { name: 'looker' }, roleRef, subjects } });
      const { status } = await core.createNamespacedServiceAccountToken({
        name: 'looker',
        namespace,
        body: { spec: { audiences: [] } },
      });
      const limited = openCluster(library, { kubeconfig: pods.kubeconfig });
      Object.assign(limited.config.getCurrentUser() ?? {}, { token: status?.token });
      const other = await pods.pod(image);
      await assert.rejects(
        createPodHosts(async () => limited).connect(other, { privateKey: '' }, never),
        /pods "p\d+" is forbidden: .* cannot (get|create) resource "pods\/exec".*its role needs the verbs get and create on pods\/exec/,
      );
    });

    it('an image without flock is refused before anything is set up, by name', async () => {
      const name = await busyboxImage(pods.cluster);
      const target = await pods.pod(name);
      await assert.rejects(pods.connect(target), (error: Error) => {
        assert.ok(error instanceof HostUnfit);
        assert.match(
          error.message,
          /image docker.io\/local\/hosts-busybox:1 lacks .*: flock \(util-linux\); install it/,
        );
        return true;
      });
    });

    it('a command that is killed for memory says so', async () => {
      const target = await pods.pod(image, { resources: { limits: { memory: '64Mi' } } });
      const connection = await pods.connect(target);
      await connection.startRun(request('head -c 200M /dev/zero | tail -c 150M | wc -c; exit "${PIPESTATUS[1]}"'));
      const { code, killedForMemory = 0 } = await ended(connection);
      assert.deepEqual([code, killedForMemory > 0], [137, true]);
    });
  });
});

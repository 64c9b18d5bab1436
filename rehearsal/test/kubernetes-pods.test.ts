import assert from 'node:assert/strict';
import { until } from '../../test/until.js';
import { KubernetesClient } from './kubernetes-client.js';
import { needsConfinement } from './needs-confinement.js';
import { startRehearsalProcess } from './rehearsal-process.js';
import type { Scratch } from './scratch.js';
import { scratchFolder } from './scratch.js';

const PODS = '/api/v1/namespaces/default/pods';

const pod = (name: string, script: string, more: object = {}): object => ({
  metadata: { name },
  spec: {
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'x:1', command: ['sh', '-c', script] }],
    ...more,
  },
});

describe('pods of the rehearsed Kubernetes', function () {
  this.timeout(60_000);
  let scratch: Scratch;
  before(needsConfinementHere);
  function needsConfinementHere(this: Mocha.Context): void {
    needsConfinement(this);
    scratch = scratchFolder('kubernetes-pods');
  }
  after(() => scratch?.remove());

  it('outlive a rehearsal that is killed, and end with one that is stopped', async () => {
    const start = async () => {
      const rehearsal = await startRehearsalProcess(scratch.path, 2222, ['--kubernetes-port', '0']);
      return { rehearsal, client: new KubernetesClient(rehearsal.endpoints.kubeconfig ?? '') };
    };
    const first = await start();
    const phase = async (client: KubernetesClient, name: string): Promise<string> =>
      String((await client.get(`${PODS}/${name}`)).at('status.phase'));
    const stays = 'echo began; trap "exit 7" TERM; while :; do sleep 0.1; done';
    const create = (body: object) => () => first.client.call('POST', PODS, body).then(({ status }) => status === 201);
    await until('it is made', create(pod('stays', stays)));
    await first.client.call('POST', PODS, pod('ends', 'echo last words > /dev/termination-log; exit 3'));
    await until('one runs', async () => (await phase(first.client, 'stays')) === 'Running');
    await until('one has ended', async () => (await phase(first.client, 'ends')) === 'Failed');
    const ended = await first.client.get(`${PODS}/ends`);
    const how = ['exitCode', 'reason', 'message'].map((key) =>
      ended.at(`status.containerStatuses.0.state.terminated.${key}`),
    );
    assert.deepEqual(how, [3, 'Error', 'last words\n']);
    await first.rehearsal.end('SIGKILL');

    const second = await start();
    assert.equal(await phase(second.client, 'stays'), 'Running');
    assert.equal((await second.client.get(`${PODS}/stays/log`)).text, 'began\n');
    await second.rehearsal.end('SIGTERM');

    const third = await start();
    assert.equal(await phase(third.client, 'stays'), 'Failed');
    await third.rehearsal.end('SIGTERM');
  });
});

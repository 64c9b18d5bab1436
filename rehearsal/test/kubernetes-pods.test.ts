import assert from 'node:assert/strict';
import { until } from '../../test/until.js';
import { type Rehearsal, startRehearsal } from '../index.js';
import { SSH_PORT } from './cloud-under-test.js';
import { KubernetesClient } from './kubernetes-client.js';
import { needsConfinement } from './needs-confinement.js';
import { startRehearsalProcess } from './rehearsal-process.js';
import type { Scratch } from './scratch.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

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
    const clientOf = ({ endpoints }: Pick<Rehearsal, 'endpoints'>) => new KubernetesClient(endpoints.kubeconfig ?? '');
    const killed = await startRehearsalProcess(scratch.path, SSH_PORT, ['--kubernetes-port', '0']);
    const first = clientOf(killed);
    /** Only what is killed needs a process. */
    const start = () =>
      startRehearsal({ stateDir: scratch.path, sshPort: SSH_PORT, subnetOctet: SUBNET_OCTET, kubernetesPort: 0 });
    const phase = async (client: KubernetesClient, name: string): Promise<string> =>
      String((await client.get(`${PODS}/${name}`)).at('status.phase'));
    const stays = 'echo began; trap "exit 7" TERM; while :; do sleep 0.1; done';
    const create = (body: object) => () => first.call('POST', PODS, body).then(({ status }) => status === 201);
    await until('it is made', create(pod('stays', stays)));
    await first.call('POST', PODS, pod('ends', 'echo last words > /dev/termination-log; exit 3'));
    await until('one runs', async () => (await phase(first, 'stays')) === 'Running');
    await until('one has ended', async () => (await phase(first, 'ends')) === 'Failed');
    const ended = await first.get(`${PODS}/ends`);
    const how = ['exitCode', 'reason', 'message'].map((key) =>
      ended.at(`status.containerStatuses.0.state.terminated.${key}`),
    );
    assert.deepEqual(how, [3, 'Error', 'last words\n']);
    await killed.end('SIGKILL');

    const second = await start();
    assert.equal(await phase(clientOf(second), 'stays'), 'Running');
    assert.equal((await clientOf(second).get(`${PODS}/stays/log`)).text, 'began\n');
    await second.stop();

    const third = await start();
    assert.equal(await phase(clientOf(third), 'stays'), 'Failed');
    await third.stop();
  });
});

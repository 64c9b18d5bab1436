import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { JournalEvent } from '../journal.js';
import type { Rehearsal } from '../index.js';
import { startRehearsal } from '../index.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

const PLACE = 'projects/p/zones/us-central1-a';

describe('VMs of Compute Engine, from behind', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('vm-verbs');
  let rehearsal: Rehearsal;
  before(async () => {
    rehearsal = await startRehearsal({ stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET });
    const { status } = await call('POST', 'operations/none/wait');
    assert.equal(status, 404);
  });
  after(async () => {
    await rehearsal.stop();
    scratch.remove();
  });

  async function call(method: string, path: string, body?: object, host = '127.0.0.1'): Promise<Response> {
    const url = `${rehearsal.endpoints.rest.replace('127.0.0.1', host)}/compute/v1/${PLACE}/${path}`;
    const content = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    return fetch(url, { method, ...content });
  }
  async function make(name: string): Promise<{ readonly error?: object }> {
    const body = { name, machineType: 'zones/us-central1-a/machineTypes/e2-medium' };
    const { name: operation } = (await (await call('POST', 'instances', body)).json()) as { name: string };
    return (await (await call('POST', `operations/${operation}/wait`)).json()) as { error?: object };
  }
  const admin = async (verb: string, body: object): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${rehearsal.endpoints.admin}/admin/${verb}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    return { status: answer.status, text: await answer.text() };
  };
  const journal = async (): Promise<readonly JournalEvent[]> => {
    const text = await (await fetch(`${rehearsal.endpoints.admin}/admin/journal?after=0`)).text();
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JournalEvent]));
  };

  it('one is host 0 of itself: its processes can be killed, and a host 1 is told of as missing', async () => {
    await make('hosted');
    const killed = await admin('hosts', { name: 'hosted', host: 'all', action: 'kill-processes' });
    assert.deepEqual(JSON.parse(killed.text), { name: `${PLACE}/instances/hosted`, host: 'all', killed: 0 });
    const { status, text } = await admin('hosts', { name: 'hosted', host: 1, action: 'freeze' });
    assert.equal(status, 404);
    assert.match(text, /instances\/hosted has 1 running hosts \(0 to 0\), no host 1/);
  });

  it('one is STOPPING for as long as somebody says, and no node can be', async () => {
    await make('stopping');
    assert.equal((await admin('force', { name: 'stopping', state: 'STOPPING' })).status, 200);
    const seen = (await (await call('GET', 'instances/stopping')).json()) as { status: string };
    assert.equal(seen.status, 'STOPPING');
    const { status, text } = await admin('force', { name: 'nobody', state: 'STOPPING' });
    assert.equal(status, 400);
    assert.match(text, /nobody is no VM of Compute Engine: no node is forced to be STOPPING/);
  });

  it('the journal says by which name a caller dialled, and nothing of one that dialled the address', async () => {
    await make('called');
    await call('DELETE', 'instances/called', undefined, 'localhost');
    const hosts = (await journal())
      .filter(({ subject }) => subject === `${PLACE}/instances/called` || subject === PLACE)
      .filter(({ kind }) => kind === 'api-call')
      .map(({ details }) => details['host']);
    assert.deepEqual(new Set(hosts), new Set([undefined, `localhost:${new URL(rehearsal.endpoints.rest).port}`]));
  });

  it('the journal says why one that was asked for is gone', async () => {
    await admin('capacity', { zone: 'us-central1-a', generation: 'e2-medium', chips: 0 });
    const { error } = await make('refused');
    assert.ok(error !== undefined);
    const gone = (await journal()).find(
      ({ subject, details }) => subject.endsWith('/refused') && details['to'] === 'gone',
    );
    assert.match(
      JSON.stringify(gone?.details['error']),
      /ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS.*does not have enough/,
    );
  });
});

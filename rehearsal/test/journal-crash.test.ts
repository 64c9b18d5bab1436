import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Rehearsal, startRehearsal } from '../index.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import { replay } from './journal-replay.js';
import type { RehearsalProcess } from './rehearsal-process.js';
import { startRehearsalProcess } from './rehearsal-process.js';
import { until } from '../../test/until.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';
import type { Line } from './stepped-rehearsal.js';
import { PARENT } from './stepped-rehearsal.js';

const SSH_PORT = 2222;

describe('the journal of a rehearsal that is killed', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('journal-crash');
  let rehearsal: Rehearsal | undefined;
  after(async () => {
    await rehearsal?.stop();
    scratch.remove();
  });

  it('replays to the state that is there after the next start', async () => {
    const stateDir = join(scratch.path, 'state');
    await killAmidCalls(await startRehearsalProcess(stateDir, SSH_PORT));
    rehearsal = await startRehearsal({ stateDir, sshPort: SSH_PORT, subnetOctet: SUBNET_OCTET });
    const { admin } = rehearsal.endpoints;
    const journal = (): Promise<readonly Line[]> => linesOf(`${admin}/admin/journal`);
    let lines = await journal();
    let dump: readonly Line[] = [];
    // A deletion may end between the two answers.
    await until('nothing has happened while the state was read', async () => {
      const before = lines.length;
      dump = await linesOf(`${admin}/admin/dump`);
      lines = await journal();
      return lines.length === before;
    });
    const replayed = replay(lines, DEFAULT_SETTINGS as unknown as Line);
    // In real time what was due is told some ms, after a restart some seconds later than calls that came since.
    const faults = replayed.faults.filter((fault) => !/is of \d+ ms before the line above$/.test(fault));
    assert.deepEqual(faults, []);
    for (const [kind, field, table] of [
      ['queued-resource', 'resource', replayed.queuedResources],
      ['node', 'resource', replayed.nodes],
      ['operation', 'operation', replayed.operations],
    ] as const) {
      const there = dump.filter((line) => line['kind'] === kind);
      assert.deepEqual(Object.fromEntries(table), Object.fromEntries(there.map((line) => [line['name'], line[field]])));
    }
    assert.ok(replayed.queuedResources.size > 5, `${replayed.queuedResources.size} queued resources`);
  });
});

/** Requests are made and taken back, many at once; none gets a node. */
async function killAmidCalls({ endpoints, end }: RehearsalProcess): Promise<void> {
  const post = (url: string, body: object): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  await post(`${endpoints.admin}/admin/hold`, { state: 'WAITING_FOR_RESOURCES' });
  const url = `${endpoints.rest}/v2/${PARENT}/queuedResources`;
  let answers = 0;
  const calls = Array.from({ length: 60 }, async (_, index) => {
    const id = `r-${index}`;
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' };
    const body = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: id, node }] }, spot: {} };
    await post(`${url}?queuedResourceId=${id}`, body);
    answers += 1;
    if (index % 3 === 0) await fetch(`${url}/${id}`, { method: 'DELETE' });
    if (answers === 30) await end('SIGKILL');
  });
  await Promise.allSettled(calls);
}

async function linesOf(url: string): Promise<readonly Line[]> {
  const text = await (await fetch(url)).text();
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
}

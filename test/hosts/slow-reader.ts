import assert from 'node:assert/strict';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { never } from './session.js';

/** Each of its lines is a write of its own, and the command has long ended when the first has been taken. */
const LINES = Array.from({ length: 40 }, (_, at) => `line ${at}`);
const COMMAND = `for i in $(seq 0 ${LINES.length - 1}); do echo "line $i"; echo "line $i" >&2; done`;

async function allIsTaken(connection: HostConnection): Promise<void> {
  const taken = { out: '', err: '' };
  let ended = 0;
  const slowly = (stream: 'out' | 'err') => async (chunk: Buffer) => {
    // A turn of the event loop each, as a store or a full pipe takes: the channel is closed meanwhile.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(ended, 0, 'a chunk came after the end');
    taken[stream] += chunk.toString();
  };
  const { code } = await connection.exec(COMMAND, { onStdout: slowly('out'), onStderr: slowly('err'), signal: never });
  ended += 1;
  assert.equal(code, 0);
  assert.deepEqual([taken.out.split('\n').slice(0, -1), taken.err.split('\n').slice(0, -1)], [LINES, LINES]);
}

/** Twenty commands at a time. */
export const manyAreTaken = (connection: HostConnection): Promise<unknown> =>
  Promise.all(Array.from({ length: 20 }, () => allIsTaken(connection)));

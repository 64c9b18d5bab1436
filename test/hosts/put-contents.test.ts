import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { HostLink } from '../../cloud/hosts/remote-exec.js';
import { putContents } from '../../cloud/hosts/file-copy.js';
import type { FileSource } from '../../domain/local-files.js';
import { never } from './session.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What a host does with them: outputs-by-worker.test.ts. */
describe('contents for a host', () => {
  it('go a thousand and 4 MiB at a time', async () => {
    const batches: (readonly string[])[] = [];
    const exec: HostLink['exec'] = async (_command, { stdin } = {}) => {
      const sums = String(stdin ?? '').match(/^[0-9a-f]{64} \d+$/gm) ?? [];
      if (stdin !== undefined) batches.push(sums);
      return { code: 0, stdout: Buffer.alloc(0), stderr: `jobctl-runner: ${stdin === undefined ? 'listed' : 'done'}` };
    };
    const source = (text: string): FileSource => ({
      ...{ sha256: sha256(text), size: text.length },
      read: async function* () {
        yield Buffer.from(text);
      },
    });
    const small = Array.from({ length: 1_001 }, (_, at) => source(`${at}\n`));
    const larger = Array.from({ length: 18 }, (_, at) => source(`${`${at}`.padEnd(256 * 1024 - 1, 'x')}\n`));
    await putContents({ exec, where: 'host 3' } as HostLink, [...small, ...larger], 'there', never);
    assert.deepEqual(
      batches.map(({ length }) => length),
      [1_000, 16, 3],
    );
    assert.deepEqual(
      batches.flat(),
      [...small, ...larger].map(({ sha256: sum, size }) => `${sum} ${size}`),
    );
  });
});

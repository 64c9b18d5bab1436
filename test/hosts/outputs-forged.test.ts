import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { deliverOutputs, Talk } from '../../cloud/hosts/deliver-outputs.js';
import type { OutputsTaker, Taken } from '../../cloud/hosts/port.js';
import type { ExecOptions } from '../../cloud/hosts/remote-exec.js';
import type { RunnerClient } from '../../cloud/hosts/runner-client.js';
import type { FileSource } from '../../domain/local-files.js';
import { never } from './session.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const MIB = 1024 * 1024;

/** A host of which the job has root: it says `first`, and then `answer` to each line that it hears. */
async function hears(
  first: string,
  answer: (line: string) => string | undefined = () => undefined,
): Promise<{ readonly end: string; readonly heard: readonly string[]; readonly taken: readonly string[] }> {
  const heard: string[] = [];
  const taken: string[] = [];
  const runner = {
    talk: async (_words: readonly string[], { stdin, onStdout }: ExecOptions) => {
      await onStdout?.(Buffer.from(`\u0001jobctl-follow\n${first}`));
      let rest = '';
      for await (const chunk of stdin as AsyncIterable<Buffer>) {
        const lines = `${rest}${chunk.toString()}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          heard.push(line);
          const said = answer(line);
          if (said === undefined) return;
          await onStdout?.(Buffer.from(said));
        }
      }
    },
  } as unknown as RunnerClient;
  const read = async (source: FileSource): Promise<Taken> => {
    const hash = createHash('sha256');
    for await (const chunk of source.read(0)) hash.update(chunk);
    if (hash.digest('hex') !== source.sha256) return { kind: 'changed' };
    taken.push(source.sha256);
    return { kind: 'stored' };
  };
  const taker: OutputsTaker = {
    inTurn: (take) => take(),
    content: read,
    manifest: async (content) => {
      taken.push(content.toString());
      return { kind: 'stored' };
    },
  };
  const end = await deliverOutputs(runner, 'train-a1', taker, { where: 'host 1', signal: never }).catch(
    (error: Error) => `${error.name}: ${error.message}`,
  );
  return { end, heard, taken };
}

describe('a host that lies about what it hands over', () => {
  const offer = (size: number, sum = sha256('x')): string => `contents\n0 ${sum} ${size}\nend\n`;

  const cases: Record<string, { readonly first: string; readonly want: RegExp }> = {
    'a line that is no word of ours': { first: 'hello\n', want: /HostUnfit: host 1: its runner says "hello"/ },
    'a line without an end': { first: 'x'.repeat(100_000), want: /HostUnfit: .* a line without an end/ },
    'a list that is longer than any': { first: `manifest ${17 * MIB}\n`, want: /HostUnfit: .*"manifest 17825792"/ },
    'a number that is none': { first: 'manifest 1e9\n', want: /HostUnfit/ },
    'a name in place of a hash': { first: 'contents\n0 ../../../jobs/other 3\nend\n', want: /HostUnfit/ },
    'a hash in capitals': { first: `contents\n0 ${'A'.repeat(64)} 3\nend\n`, want: /HostUnfit/ },
    'a size below nothing': { first: `contents\n0 ${sha256('x')} -1\nend\n`, want: /HostUnfit/ },
    'more contents than a round has': {
      first: `contents\n${`1 ${sha256('x')} 1\n`.repeat(1_001)}end\n`,
      want: /HostUnfit/,
    },
  };
  for (const [name, { first, want }] of Object.entries(cases))
    it(`says ${name}: it is named, and nothing is taken`, async () => {
      const { end, taken } = await hears(first);
      assert.match(end, want);
      assert.deepEqual(taken, []);
    });

  for (const [kind, size] of [
    ['small', 3],
    ['large', 5 * MIB],
  ] as const)
    it(`sends another content than its hash says, ${kind}: it is not stored, and the host hears that it changed`, async () => {
      const lie = 'y'.repeat(size);
      const answer = (line: string): string | undefined => {
        const [word, , offset = '', length = ''] = line.split(' ');
        if (word === 'send') return lie.slice(Number(offset), Number(offset) + Number(length));
        return line === 'changed 0' ? '' : undefined;
      };
      const { end, heard, taken } = await hears(offer(size), answer);
      assert.deepEqual([end, taken, heard.slice(-2)], ['cut', [], ['changed 0', 'end']]);
    });

  it('sends more than was asked for: the rest is read as words, and it is none', async () => {
    const answer = (line: string): string => (line.startsWith('send') ? 'x and all this\n' : '');
    const { end, taken } = await hears(offer(1), answer);
    assert.match(end, /HostUnfit: .*" and all this"/);
    assert.deepEqual(taken, [sha256('x')]);
  });

  it('says a size of a petabyte: no more than a piece of it is asked for at a time', async () => {
    const { heard } = await hears(offer(999_999_999_999_999));
    assert.deepEqual(heard, [`send 0 0 ${4 * MIB}`]);
  });

  it('prints on while nobody reads: it is held back at a MiB', async () => {
    const talk = new Talk('host 1');
    const isHeld: boolean[] = [];
    for (let sent = 0; sent < 4; sent++) isHeld.push(talk.hear(Buffer.alloc(MIB / 2)) !== undefined);
    assert.deepEqual(isHeld, [false, false, true, true]);
    talk.close();
  });
});

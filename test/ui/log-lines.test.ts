import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bytesOf, LogLines, matchesOf } from '../../ui/log/log-lines.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const texts = ({ lines }: LogLines): readonly string[] => lines.map(({ text }) => text);

describe('the lines that the page keeps of a log', () => {
  it('are the same however the bytes were cut, with the offset of each', () => {
    const log = 'one\n\nzwei \u00fc\u20ac\n\u{1f600} four\nlast';
    const all = bytes(log);
    fc.assert(
      fc.property(fc.array(fc.nat(all.length), { maxLength: 8 }), (cuts) => {
        const lines = new LogLines();
        const at = [0, ...cuts.toSorted((a, b) => a - b), all.length];
        for (const [index, from] of at.slice(0, -1).entries())
          lines.push({ attempt: 1, host: 0, offset: from, bytes: all.slice(from, at[index + 1]) });
        lines.close();
        assert.deepEqual(texts(lines), log.split('\n'));
        for (const { offset, text } of lines.lines)
          assert.equal(new TextDecoder().decode(all.slice(offset, offset + bytes(text).length)), text);
      }),
    );
  });

  it('of hosts and attempts do not run into each other', () => {
    const lines = new LogLines();
    lines.push({ attempt: 1, host: 0, offset: 0, bytes: bytes('a') });
    lines.push({ attempt: 1, host: 1, offset: 0, bytes: bytes('b\n') });
    lines.push({ attempt: 1, host: 0, offset: 1, bytes: bytes('A\nrest') });
    lines.close(1);
    lines.push({ attempt: 2, host: 0, offset: 0, bytes: bytes('new\n') });
    assert.deepEqual(texts(lines), ['b', 'aA', 'rest', 'new']);
  });

  it('behind a gap begin anew', () => {
    const lines = new LogLines();
    lines.push({ attempt: 1, host: 0, offset: 0, bytes: bytes('cut') });
    lines.push({ attempt: 1, host: 0, offset: 900, bytes: bytes('here\n') });
    assert.deepEqual(texts(lines), ['here']);
  });

  it('have a word about output that was lost', () => {
    const lines = new LogLines();
    lines.push({ attempt: 1, host: 0, offset: 5, bytes: bytes('up to 3 s of output are lost\n'), isLostTail: true });
    assert.deepEqual(lines.lines, [
      { attempt: 1, host: 0, offset: 5, text: 'up to 3 s of output are lost', isNote: true },
    ]);
  });

  it('have a bound: the oldest go, and are counted', () => {
    const lines = new LogLines(100);
    for (let index = 0; index < 1_000; index++)
      lines.push({ attempt: 1, host: 0, offset: index * 2, bytes: bytes(`${index % 10}\n`) });
    assert.ok(lines.lines.length <= 100 && lines.lines.length >= 75);
    assert.equal(lines.lines.length + lines.dropped, 1_000);
    assert.equal(lines.lines.at(-1)?.offset, 1_998);
  });

  it('are cut if they have no end', () => {
    const lines = new LogLines();
    const endless = new Uint8Array(100_000).fill(0x78);
    for (let piece = 0; piece < 10; piece++)
      lines.push({ attempt: 1, host: 0, offset: piece * 100_000, bytes: endless });
    lines.close();
    assert.ok(lines.lines.every(({ text }) => text.length <= 16_384));
    assert.equal(texts(lines).join('').length, 1_000_000);
  });

  it('are found whatever their case, and not by their colours', () => {
    const lines = new LogLines();
    lines.push({ attempt: 1, host: 0, offset: 0, bytes: bytes('\u001b[31mERROR\u001b[0m: 31\nok\nan error\n') });
    assert.deepEqual(matchesOf(lines.lines, 'Error'), [0, 2]);
    assert.deepEqual(matchesOf(lines.lines, '[31'), []);
    assert.deepEqual(matchesOf(lines.lines, ''), []);
  });

  it('are decoded from base64', () => assert.deepEqual([...bytesOf('AP+A')], [0, 255, 128]));
});

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { foldLine } from '../../cli/terminal/render/columns.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { TerminalScreen } from '../../cli/jobs/watch/screen.js';

describe('a line that is wider than the terminal', () => {
  const cases: Record<string, { text: string; width: number | undefined; wants: readonly string[] }> = {
    'stays as it is if it fits': { text: 'a b c', width: 5, wants: ['a b c'] },
    'stays one line in a pipe': { text: 'a bc def', width: undefined, wants: ['a bc def'] },
    'is broken between words, and set in': { text: '  one two three', width: 9, wants: ['  one two', '    three'] },
    'is broken between the parts of a header': {
      text: 'train-7f3k   16 chips on 4 hosts   context local',
      width: 40,
      wants: ['train-7f3k   16 chips on 4 hosts', '  context local'],
    },
    'keeps a word that is longer whole': {
      text: 'into /a/very/long/path, once',
      width: 12,
      wants: ['into', '  /a/very/long/path,', '  once'],
    },
    'is measured without its colours': {
      text: '\u001b[32mone\u001b[0m two',
      width: 7,
      wants: ['\u001b[32mone\u001b[0m two'],
    },
    'is broken as often as it has to be': { text: 'aa bb cc dd', width: 6, wants: ['aa bb', '  cc', '  dd'] },
  };
  for (const [name, { text, width, wants }] of Object.entries(cases))
    it(name, () => assert.deepEqual(foldLine(text, width), wants));

  it('is so on the screen of a job that is followed', () => {
    const stream = new PassThrough();
    const look = lookOf({ isTTY: true, columns: 12 }, { LANG: 'C.UTF-8', NO_COLOR: '1' });
    new TerminalScreen(stream, look).line({ live: ' ✔ succeeded in 10s' });
    assert.equal(String(stream.read()), ' ✔ succeeded\n   in 10s\n');
  });
});

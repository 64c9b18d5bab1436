import assert from 'node:assert/strict';
import fc from 'fast-check';
import { plainText, type Span, spansOf } from '../../ui/log/ansi.js';

const ESC = '\u001b';

describe('colours in a line of a log', () => {
  const cases: Readonly<Record<string, readonly [line: string, spans: readonly Span[]]>> = {
    'a line without any': ['plain <b>&amp;', [{ text: 'plain <b>&amp;' }]],
    'an empty line': ['', []],
    'a colour and its end': [`${ESC}[31mred${ESC}[0m text`, [{ text: 'red', colour: 1 }, { text: ' text' }]],
    'bright, bold and a background': [`${ESC}[1;92;44mx`, [{ text: 'x', colour: 10, background: 4, isBold: true }]],
    'dim and its end': [`${ESC}[2mx${ESC}[22my`, [{ text: 'x', isDim: true }, { text: 'y' }]],
    'a reset without a number': [`${ESC}[4mx${ESC}[my`, [{ text: 'x', isUnderlined: true }, { text: 'y' }]],
    'one of 256 colours that is one of the 16': [`${ESC}[38;5;9mx`, [{ text: 'x', colour: 9 }]],
    'one of the cube, as its nearest': [`${ESC}[38;5;196mx`, [{ text: 'x', colour: 9 }]],
    'a true colour, as its nearest, and what follows it': [
      `${ESC}[38;2;0;0;255;1mx`,
      [{ text: 'x', colour: 12, isBold: true }],
    ],
    'a grey': [`${ESC}[38;5;240mx`, [{ text: 'x', colour: 8 }]],
    'a default colour': [`${ESC}[31;39mx`, [{ text: 'x' }]],
    'a moved cursor, which is dropped': [`a${ESC}[2Kb${ESC}[10;20Hc`, [{ text: 'a' }, { text: 'b' }, { text: 'c' }]],
    'a title, which is dropped': [`${ESC}]0;evil\u0007after`, [{ text: 'after' }]],
    'a link, of which the text stays': [`${ESC}]8;;javascript:x${ESC}\\link${ESC}]8;;${ESC}\\`, [{ text: 'link' }]],
    'a sequence without an end': [`a${ESC}[31`, [{ text: 'a' }, { text: '[31' }]],
    'an ESC at the end': [`a${ESC}`, [{ text: 'a' }]],
    'a progress bar, as its last state': ['10%\r50%\r100%\r', [{ text: '100%' }]],
    'text that would run backwards': ['user\u202egnp.exe', [{ text: 'user\u25afgnp.exe' }]],
    'control characters': ['a\u0000b\u0008c\td', [{ text: 'a\u25afb\u25afc\td' }]],
  };
  for (const [name, [line, spans]] of Object.entries(cases)) it(name, () => assert.deepEqual(spansOf(line), spans));

  it('leave no ESC in any line, and all of its other text', () => {
    const parts = fc.array(
      fc.constantFrom(ESC, `${ESC}[31m`, '[', ']', 'm', ';', '3', '1', '8', '\u0007', '\\', 'x', ' '),
      { maxLength: 60 },
    );
    let coloured = 0;
    fc.assert(
      fc.property(parts, (each) => {
        const line = each.join('');
        const spans = spansOf(line);
        if (spans.some(({ colour }) => colour !== undefined)) coloured++;
        assert.ok(spans.every(({ text }) => text !== '' && !text.includes(ESC)));
        if (line.includes(ESC)) assert.equal(plainText(line), spans.map(({ text }) => text).join(''));
      }),
      { numRuns: 2_000 },
    );
    assert.ok(coloured > 0, 'no line had a colour: this shows nothing');
  });

  it('are read in linear time, whatever the line', () => {
    for (const line of [
      ESC.repeat(100_000),
      `${ESC}[`.repeat(100_000),
      `${ESC}]`.repeat(100_000),
      `${ESC}[${'1;'.repeat(100_000)}m`,
    ])
      assert.ok(spansOf(line).length <= 200_001);
  });
});

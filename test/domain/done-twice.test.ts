import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { doneTwice, doneTwiceText } from '../../domain/done-twice.js';

const LOGS = new URL('../cli/rehearsed-logs/', import.meta.url);
const recorded = (name: string): string => readFileSync(new URL(name, LOGS), 'utf8');
const steps = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, at) => `step ${first + at} loss 0.5\n`).join('');

const CASES: Readonly<Record<string, { readonly texts: readonly string[]; readonly said: string | undefined }>> = {
  'what lay behind the last checkpoint': {
    texts: [steps(1, 57), `resumed at step 50\n${steps(51, 80)}`],
    said: 'step 51 to 57 by attempt 2',
  },
  'all of it, if it began where the job had begun': {
    texts: [recorded('forgetful-a1.txt'), recorded('forgetful-a2.txt')],
    said: 'epoch.step 1.1 to 1.8 by attempt 2, from its beginning',
  },
  'steps of an epoch that was cut': {
    texts: [recorded('epochs-a1.txt'), recorded('epochs-a2.txt')],
    said: 'epoch.step 2.1 to 2.7 by attempt 2',
  },
  'one step': {
    texts: [recorded('train-jax-a2.txt'), recorded('train-jax-a3.txt')],
    said: 'step 51 by attempt 2',
  },
  'nothing, if it went on where it was': { texts: [steps(1, 20), steps(21, 40)], said: undefined },
  'nothing of a program that counts nothing': {
    texts: [recorded('shards-a1.txt'), recorded('shards-a2.txt')],
    said: undefined,
  },
  'nothing of one attempt': { texts: [steps(1, 20)], said: undefined },
  'nothing where no log is stored any more': { texts: ['', ''], said: undefined },
  'past an attempt that printed nothing': {
    texts: [steps(1, 9), 'loading\n', steps(8, 12)],
    said: 'step 8 to 9 by attempt 3',
  },
  'by what was ever reached, also where an attempt in between came less far': {
    texts: [steps(1, 50), steps(11, 20), steps(21, 60)],
    said: 'step 11 to 20 by attempt 2; step 21 to 50 by attempt 3',
  },
  'of many attempts the first three': {
    texts: Array.from({ length: 6 }, (_, at) => steps(1, 3 + at)),
    said: `${[2, 3, 4].map((n) => `step 1 to ${n + 1} by attempt ${n}, from its beginning`).join('; ')}; and by 2 more`,
  },
  'under colours': {
    texts: [steps(1, 9), steps(9, 12).replaceAll('step', '\u001b[1;32mstep\u001b[0m')],
    said: 'step 9 by attempt 2',
  },
};

describe('what a job did twice', () => {
  for (const [name, { texts, said }] of Object.entries(CASES))
    it(name, () => {
      const found = doneTwice(texts.map((text, index) => ({ attempt: index + 1, text })));
      assert.equal(found && doneTwiceText(found), said);
    });
});

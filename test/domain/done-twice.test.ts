import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { doneTwice, doneTwiceText } from '../../domain/done-twice.js';

const LOGS = new URL('../cli/rehearsed-logs/', import.meta.url);
const recorded = (name: string): string => readFileSync(new URL(name, LOGS), 'utf8');
const run = (first: number, last: number, line: (n: number) => string): string =>
  Array.from({ length: last - first + 1 }, (_, at) => `${line(first + at)}\n`).join('');
const steps = (first: number, last: number): string => run(first, last, (n) => `step ${n} loss 0.5`);
const percents = (first: number, last: number): string => run(first, last, (n) => `${n}% done`);

const json = (first: number, last: number): string =>
  run(first, last, (n) => JSON.stringify({ loss: 1 / (n + 2), step: n, epoch: n / 100 }));

const metrics = (first: number, last: number): string =>
  run(
    first,
    last,
    (n) => `eval ${n % 3}: JOBCTL_METRIC ${n % 2 === 0 ? `best=${n}` : 'lr=1e-3'} loss=${9 - n} step=${n}`,
  );

const said = (texts: readonly string[]): string | undefined => {
  const found = doneTwice(texts.map((text, index) => ({ attempt: index + 1, text, isAfterLoss: index > 0 })));
  return found && doneTwiceText(found);
};

const SPEAKS: Readonly<Record<string, { readonly texts: readonly string[]; readonly said: string }>> = {
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
  'of a bar': {
    texts: [recorded('tqdm-a1.txt'), recorded('tqdm-a2.txt')],
    said: 'progress 17 to 19 by attempt 2',
  },
  'of percentages': { texts: [percents(1, 57), percents(41, 100)], said: 'percent 41 to 57 by attempt 2' },
  'of lines with metrics, whatever else differs in them': {
    texts: [metrics(1, 57), `JOBCTL_METRIC resumed=1\n${metrics(51, 80)}`],
    said: 'step 51 to 57 by attempt 2',
  },
  'of JSON lines': {
    texts: [json(1, 57), json(51, 80)],
    said: 'step 51 to 57 by attempt 2',
  },
  'of a host of four, preempted twice': {
    texts: [steps(1, 30), `resumed at step 14\n${steps(15, 52)}`, `resumed at step 40\n${steps(41, 60)}`],
    said: 'step 15 to 30 by attempt 2; step 41 to 52 by attempt 3',
  },
  'of AXLearn': {
    texts: [
      run(1, 57, (n) => `I1129 12:00:${10 + (n % 50)}.123456 140234 trainer.py:1] Starting step ${n}`),
      run(51, 80, (n) => `I1130 02:00:${10 + (n % 50)}.654321 140999 trainer.py:1] Starting step ${n}`),
    ],
    said: 'step 51 to 57 by attempt 2',
  },
  'of MaxText': {
    texts: [
      run(0, 57, (n) => `completed step: ${n}, seconds: 0.1${n}, TFLOP/s: 3.1`),
      `restoring from this run's directory step 50\n${run(51, 80, (n) => `completed step: ${n}, seconds: 0.2, TFLOP/s: 3`)}`,
    ],
    said: 'step 51 to 57 by attempt 2',
  },
  'of numbers with _': {
    texts: [run(1050, 1060, (n) => `step 1_0${n - 1000} loss`), run(1055, 1070, (n) => `step 1_0${n - 1000} loss`)],
    said: 'step 1055 to 1060 by attempt 2',
  },
  "of Lightning's bar, from one epoch into the one before": {
    texts: [lightning(0, 1, 50) + lightning(1, 1, 20), lightning(0, 31, 50) + lightning(1, 1, 50)],
    said: 'epoch.progress 0.31 to 1.20 by attempt 2',
  },
  'of samples': { texts: [mnist(1, 0, 90), mnist(1, 41, 93)], said: 'epoch.progress 1.2624 to 1.5760 by attempt 2' },
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
    texts: [steps(1, 9), steps(8, 12).replaceAll('step', '\u001b[1;32mstep\u001b[0m')],
    said: 'step 8 to 9 by attempt 2',
  },
  'though each start prints a mark before it goes on': {
    texts: [steps(0, 57), `${steps(0, 0)}${steps(51, 80)}`],
    said: 'step 51 to 57 by attempt 2',
  },
  'behind the same stages of each start': {
    texts: [stages() + steps(1, 57), stages() + steps(51, 80)],
    said: 'step 51 to 57 by attempt 2',
  },
  'from its beginning, where all before it is the same but for times and names': {
    texts: [
      `2026-11-29 10:00:00 INFO attempt 1 on t1v-n-0a1b2c3d-w-0, pid 4711: 8 devices, compiled in 31 s\n${steps(1, 57)}`,
      `2026-11-29 11:30:00 INFO attempt 2 on t1v-n-99b7ee01-w-0, pid 32: 8 devices, compiled in 27 s\n${steps(1, 57)}`,
    ],
    said: 'step 1 to 57 by attempt 2, from its beginning',
  },
  'of a long log, of which the middle is not read': {
    texts: [steps(1, 90) + steps(9000, 9090), steps(1, 90) + steps(9500, 9590)],
    said: 'step 1 to 9090 by attempt 2, from its beginning',
  },
};

function lightning(epoch: number, first: number, last: number): string {
  return run(first, last, (n) => `\rEpoch ${epoch}: ${2 * n}%|## | ${n}/50 [00:${10 + n}<00:10,  4.9it/s, v_num=0]`);
}

function mnist(epoch: number, first: number, last: number): string {
  return run(first, last, (n) => `Train Epoch: ${epoch} [${n * 64}/6000 (${n}%)]\tLoss: 0.1`);
}

function stages(end = ''): string {
  return ['fetch data', 'build model', 'train'].map((what, at) => `Step ${at + 1}/3${end || `: ${what}`}\n`).join('');
}

const FETCHING = run(1, 5, (n) => `Fetching 5 files: ${n * 20}%|##| ${n}/5 [00:00<00:00, 123.4it/s]`);
const twice = (text: string): readonly string[] => [text, text];
/** Each attempt prints this first, and goes on where the last one was. */
const goesOn = (first: string, second = first): readonly string[] => [
  first + percents(1, 57),
  second + percents(58, 99),
];

const SILENT: Readonly<Record<string, readonly string[]>> = {
  'goes on where it was': [steps(1, 20), steps(21, 40)],
  'counts nothing': [recorded('shards-a1.txt'), recorded('shards-a2.txt')],
  'had one attempt': [steps(1, 20)],
  'has no log any more': ['', ''],
  'prints the mark at which it stopped once more': [steps(1, 18), steps(18, 40)],
  ...Object.fromEntries(
    [
      'Continuing from step 57',
      'Starting at step 57',
      'Found latest step: 57',
      'start step = 57',
      'Resume: step 57',
    ].map((line) => [`prints '${line}'`, [steps(1, 57), `${line}\n${steps(58, 80)}`]]),
  ),
  ...Object.fromEntries(
    ['From step 56, step 57', 'beginning with step 56\nbeginning with step 57', 'at step 57 now'].map((lines) => [
      `prints '${lines}' in no words that we know`,
      [steps(1, 57), `${lines}\n${steps(58, 80)}`],
    ]),
  ),
  'prints its configuration': goesOn('per-device batch 32\nglobal batch 256\n'),
  'prints rising numbers of its configuration': goesOn('batch 32\nbatch 64\nbatch 256\n'),
  'dumps its configuration': goesOn('epoch: 100\nbatch: 32\nstep: 5\n'),
  'prints stages of its start': [
    `${stages()}${run(1, 7, (n) => `epoch ${n} loss 3`)}`,
    `${stages()}epoch 8\nepoch 9\n`,
  ],
  'prints stages without a word': [stages(' ') + steps(1, 57), stages(' ') + steps(58, 80)],
  'prints stages and then no counter': twice(stages(' ') + 'working\n'),
  "resumes in the middle of Lightning's epoch": [
    lightning(0, 1, 50) + lightning(1, 1, 18),
    lightning(1, 19, 50) + lightning(2, 1, 20),
  ],
  "resumes in the middle of Lightning's first epoch": [lightning(0, 1, 18), lightning(0, 19, 50)],
  "resumes in the middle of MNIST's epoch": [mnist(1, 0, 90), mnist(1, 91, 93) + mnist(2, 0, 90)],
  "begins Keras' next epoch": [
    `Epoch 1/3\n${run(1, 100, (n) => `${n}/100 [===>..] - ETA: 3s - loss: 0.3`)}Epoch 2/3\n`,
    `Epoch 2/3\n${run(1, 100, (n) => `${n}/100 [===] - ETA: 3s`)}Epoch 3/3\n`,
  ],
  'prints numbers with _': [
    run(1000, 1057, (n) => `step 1_0${n - 1000} loss`.replace('_0', n < 1010 ? '_00' : '_0')),
    run(1058, 1099, (n) => `step 1_0${n - 1000} loss`),
  ],
  'fetches files at each start': goesOn(FETCHING),
  'fetches files at each start and counts nothing': twice(`${FETCHING}working\n`),
  'compiles at step 0': [`step 0 compile\n${steps(1, 57)}`, `step 0 compile\n${steps(58, 80)}`],
  'prints step 0 at each start': [steps(0, 57), steps(0, 0) + steps(58, 80)],
  'warms up at each start': [steps(0, 57), steps(0, 5) + steps(58, 80)],
  'counts anew in each epoch, of which the line before tells': [
    `Epoch 1/2\n${run(1, 100, (n) => `  batch ${n}/100 loss`)}checkpoint written\n`,
    `Epoch 2/2\n${run(1, 100, (n) => `  batch ${n}/100 loss`)}`,
  ],
  'counts anew up to the same total': twice(run(1, 100, (n) => `batch ${n}/100 loss`)),
  'counts anew in each phase': [`phase A\n${steps(1, 100)}`, `phase B\n${steps(1, 50)}`],
  'goes on in a phase that counts anew': [`phase A\n${steps(1, 100)}`, `phase B\n${steps(1, 50)}`, steps(51, 70)],
  'counts anew in each phase of one line': [
    run(1, 100, (n) => `phase A step ${n}`),
    run(1, 50, (n) => `phase B step ${n}`),
  ],
  'counts anew in each trial': [run(1, 10, (n) => `trial 1 step ${n}`), run(1, 10, (n) => `trial 2 step ${n}`)],
  'counts anew in each shard': [1, 2, 3].map((shard) => run(1, 5, (n) => `shard ${shard} of 3: step ${n}/5`)),
  ...Object.fromEntries(
    ['sec', 'min', 'us', 's', 'ms', 'seconds', 'minutes', 'hours', 'it/s'].map((unit) => [
      `tells ${unit} of a step`,
      twice(run(41, 48, (n) => `avg step ${n} ${unit}`)),
    ]),
  ),
  'shows one batch': twice('batch[0] shape (3,4)\nbatch[0] ok\n'),
  'tells an accuracy': twice(run(50, 60, (n) => `accuracy ${n}%`)),
  'was killed within a number': [
    steps(1, 57),
    `${run(58, 105, (n) => `step ${n}`)}step 1`,
    run(106, 120, (n) => `step ${n}`),
  ],
};

describe('what a job did twice', () => {
  for (const [name, { texts, said: want }] of Object.entries(SPEAKS)) it(name, () => assert.equal(said(texts), want));

  it('is not said across a start on purpose, and behind it of what was done since', () => {
    const texts = [steps(1, 50), steps(1, 30), steps(21, 40)];
    const found = doneTwice(texts.map((text, index) => ({ attempt: index + 1, text, isAfterLoss: index === 2 })));
    assert.equal(found && doneTwiceText(found), 'step 21 to 30 by attempt 3');
  });
});

describe('nothing was surely done twice by a job that', () => {
  for (const [name, texts] of Object.entries(SILENT)) it(name, () => assert.equal(said(texts), undefined));
});

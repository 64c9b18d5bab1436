import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lostPercent, measureWork } from '../../cli/local/rehearse/lost-work.js';
import type { LostWork } from '../../cli/local/rehearse/lost-work.js';
import { DEFAULT_MEASURES, givenMeasure } from '../../domain/progress-marks.js';
import type { AttemptOutput, ProgressMeasure } from '../../domain/progress-marks.js';

const LOGS = fileURLToPath(new URL('rehearsed-logs/', import.meta.url));

/** What a real job wrote, attempt by attempt; each but the last was ended by SIGKILL. */
function recorded(job: string): readonly AttemptOutput[] {
  const files = readdirSync(LOGS).filter((name) => name.startsWith(`${job}-a`));
  return files.toSorted().map((name) => new Map([[0, readFileSync(`${LOGS}${name}`, 'utf8')]]));
}

const output = (...lines: readonly string[]): AttemptOutput => new Map([[0, `${lines.join('\n')}\n`]]);
const steps = (first: number, last: number, every = 1): readonly string[] =>
  Array.from(
    { length: Math.floor((last - first) / every) + 1 },
    (_, index) => `step ${first + index * every} loss 0.5`,
  );

interface Case {
  readonly attempts: readonly AttemptOutput[];
  readonly measures?: readonly ProgressMeasure[];
  /** What the first attempt lost. */
  readonly lost: Partial<LostWork>;
  readonly percent?: number;
}

const CASES: Readonly<Record<string, Case>> = {
  'of train-jax, what was behind the last checkpoint': {
    attempts: recorded('train-jax').slice(1),
    lost: { kind: 'counted', lastBefore: '51', firstAfter: '51', redone: 1 },
  },
  'of train-jax, nothing where it was preempted right behind a checkpoint': {
    attempts: recorded('train-jax'),
    lost: { kind: 'counted', lastBefore: '20', firstAfter: '21', redone: 0, made: 20 },
    percent: 0,
  },
  'of steps that are counted anew in each epoch, those of the epoch that was cut': {
    attempts: recorded('epochs'),
    lost: { kind: 'counted', lastBefore: '2.7', firstAfter: '2.1', redone: 7, made: 15 },
  },
  'of a job without a checkpoint, all': {
    attempts: recorded('forgetful'),
    lost: { kind: 'counted', lastBefore: '1.8', firstAfter: '1.1', redone: 8, made: 8 },
    percent: 100,
  },
  'of a progress bar, where it shows the place that it went on from': {
    attempts: recorded('tqdm'),
    lost: { kind: 'counted', lastBefore: '19', firstAfter: '17', redone: 3, made: 19 },
  },
  'of a job without a counter that prints the same lines again, all': {
    attempts: recorded('shards'),
    lost: { kind: 'repeated-lines' },
    percent: 100,
  },
  'by marks, not by the numbers between them': {
    attempts: [output(...steps(10, 50, 10)), output(...steps(50, 90, 10))],
    lost: { kind: 'counted', redone: 1, made: 5 },
    percent: 20,
  },
  'all, where the first step of all is printed again': {
    attempts: [output(...steps(1, 30)), output(...steps(1, 40))],
    lost: { kind: 'counted', redone: 30, made: 30 },
    percent: 100,
  },
  'none, where the next attempt goes on behind it': {
    attempts: [output(...steps(1, 30)), output(...steps(31, 40))],
    lost: { kind: 'counted', redone: 0, made: 30 },
    percent: 0,
  },
  'none, of an attempt that had made no step': {
    attempts: [output('compiling'), output(...steps(1, 9))],
    lost: { kind: 'none-made' },
    percent: 0,
  },
  'by an attempt further on, where the next one made no step either': {
    attempts: [output(...steps(1, 9)), output('compiling'), output(...steps(6, 12))],
    lost: { kind: 'counted', lastBefore: '9', firstAfter: '6', redone: 4, made: 9 },
  },
  'unknown, where no later attempt made a step': {
    attempts: [output(...steps(1, 9)), output('compiling')],
    lost: { kind: 'unknown', reason: 'no attempt after it printed a step' },
  },
  'unknown, where a job without a counter prints other lines': {
    attempts: [output('a', 'b', 'c', 'd', 'e', 'f', 'g'), output('a', 'b', 'x', 'd', 'e', 'f', 'g')],
    lost: { kind: 'unknown', reason: 'its output has no step counter' },
  },
  'unknown, where the lines that come again are few': {
    attempts: [output('hello', 'loading', 'cut'), output('hello', 'loading', 'cut', 'done')],
    lost: { kind: 'unknown' },
  },
  'unknown, where the counter falls within an attempt': {
    attempts: [output(...steps(1, 9), ...steps(1, 9)), output(...steps(5, 9))],
    lost: { kind: 'unknown', reason: "'step N' goes from 9 back to 1 within an attempt" },
  },
  'by the epoch, where the steps of each epoch have lines of their own': {
    attempts: [
      output('epoch 1', ...steps(1, 5), 'epoch 2', ...steps(1, 5), 'epoch 3', ...steps(1, 2)),
      output('epoch 3', ...steps(1, 5)),
    ],
    lost: { kind: 'counted', lastBefore: '3', firstAfter: '3', redone: 1, made: 3 },
  },
  'by the pattern that the user gave': {
    attempts: [output('Trained 100 batches', 'Trained 200 batches'), output('Trained 200 batches')],
    measures: [givenMeasure(/Trained (\d+) batches/)],
    lost: { kind: 'counted', redone: 1, made: 2 },
  },
};

describe('work lost by a preemption', () => {
  for (const [name, { attempts, measures, lost, percent }] of Object.entries(CASES)) {
    it(name, () => {
      const measured = measureWork(attempts, measures).lostBy(0);
      assert.deepEqual({ ...measured, ...lost }, measured);
      if (percent !== undefined) assert.equal(lostPercent(measured), percent);
    });
  }

  it('of the second of two preemptions counts only what that attempt made', () => {
    const attempts = [output(...steps(1, 50)), output(...steps(41, 45)), output(...steps(41, 60))];
    const { lostBy } = measureWork(attempts);
    assert.deepEqual(lostBy(0), { kind: 'counted', redone: 10, made: 50, lastBefore: '50', firstAfter: '41' });
    assert.deepEqual(lostBy(1), { kind: 'counted', redone: 5, made: 45, lastBefore: '45', firstAfter: '41' });
  });

  it('is read from the host that counts, also where that is not the first', () => {
    const quiet = (text: AttemptOutput): AttemptOutput =>
      new Map([
        [0, 'ready\n'],
        [3, text.get(0) ?? ''],
      ]);
    const work = measureWork([quiet(output(...steps(1, 9))), quiet(output(...steps(5, 9)))]);
    assert.deepEqual(work.measure, { kind: 'counter', name: 'step N', host: 3 });
  });
});

describe('a step counter', () => {
  const mark = (line: string): string | undefined => {
    const [measure] = DEFAULT_MEASURES.filter(({ markOf }) => markOf(line) !== undefined);
    return measure && `${measure.name}: ${measure.markOf(line)?.join('.')}`;
  };

  const COUNTED: Readonly<Record<string, string>> = {
    'step 12 loss 0.3': 'step N: 12',
    '[2026-11-21 18:00:01] Step: 1,200/5,000 lr=1e-4': 'step N: 1200',
    "{'loss': 0.31, 'step': 40, 'epoch': 0.03}": 'step N: 40',
    'global_step=400 epoch=2': 'global step N: 400',
    'I1121 trainer.py:88] global step 7: loss': 'global step N: 7',
    'Epoch 3/10 - batch 4': 'epoch N, batch M: 3.4',
    'Epoch [2/5], Step [7/8], loss: 0.3': 'epoch N, step M: 2.7',
    'iter 250: loss 2.1, time 40ms': 'iteration N: 250',
    'step 1_057 loss': 'step N: 1057',
    'I1129 trainer.py:1] Starting step 7': 'step N: 7',
    'Epoch 1: 36%|## | 18/50 [00:10<00:10, 4.9it/s, v_num=0]': 'epoch N, M/L [ of a progress bar: 1.18',
    'Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.1': 'epoch N, M/L [ of a progress bar: 1.640',
    '57% done': 'N %: 57',
    'progress: 57%': 'N %: 57',
    ' 12%|#2        | 12/100 [00:01<00:08, 9.80it/s]': 'N/M [ of a progress bar: 12',
  };
  for (const [line, want] of Object.entries(COUNTED)) it(`is read in: ${line}`, () => assert.equal(mark(line), want));

  const OTHERS = [
    'resumed at step 40 from gs://bucket/x',
    'Saved checkpoint, step 40',
    'stored gs://b/step-00000040.npz',
    'steps 100',
    'max step 100',
    'eval step 3: accuracy 0.9',
    'step 0.5 of an hour',
    'step 12 ms',
    'num_step 5',
    ' 40%|#### | 16/40 [00:00<?, ?it/s]',
    'Continuing from step 40',
    'Starting at step 40',
    'Found latest step: 40',
    'step 12 sec',
    'step 12 min',
    'step 250 us',
    'accuracy 57%',
  ];
  for (const line of OTHERS) it(`is not: ${line}`, () => assert.equal(mark(line), undefined));
});

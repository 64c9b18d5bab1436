import assert from 'node:assert/strict';
import { z } from 'zod';
import type { SignalDefinition } from '@temporalio/common';
import { form } from '../../contract/form.js';
import { Inbox, type KeptMessage } from '../../workflows/inbox.js';
import { BareRun } from './bare-run.js';

interface Note {
  readonly v?: number;
  readonly text: string;
}
const note = form<Note>(z.object({ v: z.literal(1).exactOptional(), text: z.string() }));
const signal = <Args extends unknown[]>(name: string): SignalDefinition<Args> =>
  ({ type: 'signal', name }) as SignalDefinition<Args>;
const oneSignal = signal<[Note]>('one');
const eachSignal = signal<[readonly Note[]]>('each');
const bareSignal = signal<[]>('bare');
const newer = (text: string): object => ({ v: 2, text, more: true });

/** A run of a workflow that has nothing but an inbox. */
class Run extends BareRun {
  readonly heard: unknown[] = [];
  readonly inbox: Inbox;

  constructor(kept: readonly KeptMessage[] = []) {
    super();
    this.inbox = new Inbox(kept)
      .on(oneSignal, note, ({ text }) => void this.heard.push(text))
      .onEach(eachSignal, note, (notes) => void this.heard.push(notes.map(({ text }) => text)))
      .onBare(bareSignal, () => void this.heard.push('bare'));
  }

  open(): this {
    this.inbox.open();
    return this;
  }

  /** What was counted: `SIGNAL REASON`; and what the log said of it. */
  refusals(): { readonly counted: readonly string[]; readonly logged: string } {
    const calls = this.activator.getAndResetSinkCalls();
    const counted = calls.flatMap(({ ifaceName, args }) => {
      const tags = args.find((each): each is Tags => typeof each === 'object' && each !== null && 'reason' in each);
      return ifaceName.includes('metric') && tags !== undefined
        ? [`${tags.workflow} ${tags.signal} ${tags.reason}`]
        : [];
    });
    return { counted, logged: JSON.stringify(calls.filter(({ ifaceName }) => !ifaceName.includes('metric'))) };
  }
}

interface Tags {
  readonly workflow: string;
  readonly signal: string;
  readonly reason: string;
}

const GARBAGE: readonly unknown[] = [null, 'secret-value', 7, {}, [null], { text: 7 }];

describe('an inbox', () => {
  afterEach(() => BareRun.end());

  it('hands over nothing before it is open, then everything that came before', () => {
    const run = new Run().send('one', { text: 'a' }).send('bare').send('one', { text: 'b' });
    assert.deepEqual(run.heard, []);
    run.open();
    assert.deepEqual(run.heard, ['a', 'b', 'bare']);
    run.send('one', { text: 'c' });
    assert.deepEqual(run.heard.at(-1), 'c');
  });

  it('takes no handler once it is open: what it would have heard went by', () => {
    const run = new Run().open();
    assert.throws(() => run.inbox.onBare(signal('late'), () => undefined), /signal late: the inbox is open already/);
  });

  it('hears a flood of signals in its order, before it is open and after, without the SDK making promises of any', () => {
    const flood = (from: number) =>
      Array.from({ length: 9_000 }, (_, index) => ({ name: 'one', value: { text: String(from + index) } }));
    const run = new Run().sendAll(flood(0));
    assert.deepEqual(run.heard, []);
    run.open().sendAll([...flood(9_000), { name: 'one', value: 7 }, { name: 'unknown', value: 7 }]);
    assert.deepEqual(
      run.heard,
      Array.from({ length: 18_000 }, (_, index) => String(index)),
    );
    assert.deepEqual(run.refusals().counted, ['probe one malformed']);
    assert.equal(run.handedOverBySdk, 0);
  });

  it('leaves some signals of one activation to the SDK', () => {
    const run = new Run().open().sendAll([{ name: 'one', value: { text: 'a' } }]);
    assert.deepEqual(run.heard, ['a']);
    assert.equal(run.handedOverBySdk, 1);
  });

  it('drops what is malformed, counted and without its value in the log', () => {
    const run = new Run().open();
    for (const garbage of GARBAGE) run.send('one', garbage);
    run.send('one').send('one', { text: 'good' });
    assert.deepEqual(run.heard, ['good']);
    const { counted, logged } = run.refusals();
    assert.deepEqual(counted, Array<string>(GARBAGE.length + 1).fill('probe one malformed'));
    assert.match(logged, /dropped a malformed signal/);
    assert.doesNotMatch(logged, /secret-value/);
    assert.deepEqual(run.inbox.kept, []);
  });

  it('drops the bad messages of a list one by one, and keeps the order of the rest', () => {
    const run = new Run().open();
    run.send('each', [{ text: 'a' }, ...GARBAGE, { text: 'b' }, newer('later'), { text: 'c' }]);
    assert.deepEqual(run.heard, [['a', 'b', 'c']]);
    const { counted } = run.refusals();
    assert.equal(counted.filter((line) => line === 'probe each malformed').length, GARBAGE.length);
    assert.deepEqual(run.inbox.kept, [{ signal: 'each', value: [newer('later')] }]);
  });

  it('calls no handler for a list without a good message, nor for what is no list', () => {
    const run = new Run().open();
    run
      .send('each', [null, 7])
      .send('each', [])
      .send('each', { 0: { text: 'a' }, length: 1 })
      .send('each', 'abc');
    assert.deepEqual(run.heard, []);
    assert.equal(run.refusals().counted.length, 4);
  });

  it('does not look at what comes with a bare signal', () => {
    const run = new Run().open();
    for (const garbage of GARBAGE) run.send('bare', garbage);
    assert.deepEqual(run.heard, Array<string>(GARBAGE.length).fill('bare'));
    assert.deepEqual(run.refusals().counted, []);
  });

  it('keeps messages of an unknown version, and the next run offers them again, before what it was sent itself', () => {
    const first = new Run().open();
    first
      .send('one', newer('a'))
      .send('each', [newer('b'), { text: 'now' }, newer('c')])
      .send('one', newer('d'));
    assert.deepEqual(first.heard, [['now']]);
    assert.deepEqual(first.refusals().counted, [
      'probe one unknown-version',
      'probe each unknown-version',
      'probe each unknown-version',
      'probe one unknown-version',
    ]);
    const carried = JSON.parse(JSON.stringify(first.inbox.kept)) as readonly KeptMessage[];

    // On the same code they wait on, in the order in which they came.
    const second = new Run(carried).send('one', newer('e')).open();
    assert.deepEqual(
      second.inbox.kept.map(({ value }) => textsOf(value)),
      ['a', 'b', 'c', 'd', 'e'],
    );
    // Code that has learned version 2 by then reads them.
    const learned = second.inbox.kept.map(({ signal: name, value }) => ({ signal: name, value: asVersion1(value) }));
    const third = new Run(learned).send('one', { text: 'f' }).open();
    assert.deepEqual(third.heard, ['a', ['b'], ['c'], 'd', 'e', 'f']);
    assert.deepEqual(third.inbox.kept, []);
  });

  it('drops a kept message of a signal that the next version has no more', () => {
    const run = new Run([{ signal: 'gone', value: 1 }]).open();
    assert.deepEqual([run.heard, run.inbox.kept], [[], []]);
  });

  it('keeps 200 at most, and counts those beyond', () => {
    const run = new Run().open();
    for (let index = 0; index < 203; index++) run.send('one', newer(`m${index}`));
    assert.deepEqual([run.inbox.kept.length, textsOf(run.inbox.kept.at(-1)?.value)], [200, 'm199']);
    const { counted, logged } = run.refusals();
    assert.equal(counted.length, 203);
    assert.equal(logged.match(/dropped a signal of an unknown version/g)?.length, 3);
  });
});

const textsOf = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).map((each) => (each as Note).text).join(' ');

const asVersion1 = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(asVersion1) : { text: (value as Note).text };

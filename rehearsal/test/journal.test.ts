import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Journal } from '../journal.js';
import { scratchFolder } from './scratch.js';

describe('the journal', () => {
  const scratch = scratchFolder('journal');
  let files = 0;
  after(() => scratch.remove());

  const newFile = (): string => join(scratch.path, `${(files += 1)}.jsonl`);
  const seqs = (events: Iterable<{ readonly seq: number }>): readonly number[] => Array.from(events, ({ seq }) => seq);

  function journalOf(file: string, events: number): Journal {
    const journal = new Journal(file);
    for (let event = 1; event <= events; event += 1)
      journal.record('test', `s/${event}`, { text: 'ü'.repeat(event % 50) });
    return journal;
  }

  it('is read from any event on, so many as are asked for', () => {
    const journal = journalOf(newFile(), 1000);
    for (const after of [0, 1, 62, 63, 64, 65, 127, 500, 999]) {
      assert.deepEqual(
        seqs(journal.after(after, 3)),
        [1, 2, 3].map((n) => after + n).filter((seq) => seq <= 1000),
      );
    }
    assert.equal(seqs(journal.after(0)).length, 1000);
    assert.deepEqual(seqs(journal.after(1000)), []);
    assert.deepEqual(seqs(journal.after(5000)), []);
    journal.close();
  });

  it('goes on with its numbers after a restart', () => {
    const file = newFile();
    journalOf(file, 130).close();
    const journal = journalOf(file, 1);
    assert.deepEqual(seqs(journal.after(128)), [129, 130, 131]);
    journal.close();
  });

  for (const half of ['{"seq":4,"at"', '{"seq":4,"at":1,"kind":"x","subject":"y","details":{}']) {
    it(`drops half a line that a killed process left: ${half}`, () => {
      const file = newFile();
      journalOf(file, 3).close();
      appendFileSync(file, half);
      const journal = journalOf(file, 1);
      assert.deepEqual(
        Array.from(journal.after(2), ({ seq, kind }) => [seq, kind]),
        [
          [3, 'test'],
          [4, 'test'],
        ],
      );
      journal.close();
      for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) JSON.parse(line);
    });
  }

  it('has the cloud’s time beside the wall’s', () => {
    const journal = new Journal(newFile());
    journal.timeBy(() => 42);
    journal.record('test', 's');
    journal.record('test', 's', {}, 41);
    const events = [...journal.after(0)];
    assert.deepEqual(
      events.map(({ at }) => at),
      [42, 41],
    );
    assert.ok(events.every(({ wall }) => wall > 1_600_000_000_000));
    journal.close();
  });

  it('shows a reader what there was when it began, whatever is written meanwhile', () => {
    const journal = journalOf(newFile(), 200);
    const read = [];
    for (const { seq } of journal.after(0)) {
      read.push(seq);
      journal.record('test', 'more');
    }
    assert.equal(read.length, 200);
    journal.close();
  });

  it('takes no more when it is closed', () => {
    const file = newFile();
    const journal = journalOf(file, 2);
    journal.close();
    journal.record('test', 'late');
    const again = new Journal(file);
    assert.equal(again.lastSeq, 2);
    again.close();
  });
});

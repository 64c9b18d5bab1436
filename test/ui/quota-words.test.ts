import assert from 'node:assert/strict';
import { withFooter } from '../../activities/operator-file.js';
import { formatProblems } from '../../domain/problem.js';
import { checkFiles } from '../../quota/files/pool-files.js';
import { appliedText, effectOf, placeOfLine, problemsIn } from '../../ui/quota-words.js';

describe('a quota file on the page', () => {
  it('is the text that was applied, without the line that says who applied it', () => {
    const text = '[a]\nb = 1\n';
    assert.deepEqual(appliedText(withFooter(text, 'olga', '2026-11-30T08:00:00.000Z')), {
      ...{ text, by: 'olga', at: '2026-11-30T08:00:00.000Z' },
    });
    for (const plain of [
      '',
      text,
      'no end',
      '# applied by x\n',
      `# applied by x with jobctl quota apply, now\n${text}`,
    ])
      assert.deepEqual(appliedText(plain), { text: plain });
  });

  it('has each problem at its line', () => {
    const text = '[toml-schema]\nversion = "1"\n[total_resources]\nv4 = -1\nv5p = "x"\n';
    const checked = checkFiles({ quotaFile: { name: 'quota.toml', text } }, 'default');
    const found = problemsIn(checked.ok ? '' : formatProblems(checked.problems), 'quota.toml');
    // The first two are tables that it lacks.
    assert.deepEqual(
      found.map(({ line }) => line),
      [1, 1, 4, 5],
    );
    assert.match(found[2]?.text ?? '', /v4: -1 is not a whole number/);
  });

  it('keeps the lines of one problem together, and takes no other file for its own', () => {
    assert.deepEqual(
      problemsIn('quota.toml:2:1: a\n  did you mean b?\npool.toml:9:1: c\nquota.toml:x: d', 'quota.toml'),
      [{ text: 'quota.toml:2:1: a\n  did you mean b?', line: 2 }, { text: 'pool.toml:9:1: c\nquota.toml:x: d' }],
    );
    assert.deepEqual(problemsIn('nobody may', 'quota.toml'), [{ text: 'nobody may' }]);
  });

  it('shows a line by its place in the text', () => {
    const text = 'one\n\nthree';
    const of = (line: number): string => text.slice(...placeOfLine(text, line));
    assert.deepEqual([of(1), of(2), of(3), of(9)], ['one', '', 'three', 'three']);
    assert.deepEqual(placeOfLine('', 1), [0, 0]);
  });

  it('would preempt and start jobs, of which it says those that happen anyway', () => {
    const plan = (grants: readonly string[], preemptions: readonly string[], waiting: readonly string[]) => ({
      grants: grants.map((id) => ({ id, tier: 0 })),
      preemptions: preemptions.map((id) => ({ id, for: 'w' })),
      waiting: waiting.map((id) => ({ id, position: 1, reasons: ['none is free'], details: [] })),
    });
    const holder = { job: 'p1', user: 'ann', isVerified: true, project: 'a', units: { v4: 8 }, state: 'held' };
    const use = {
      ...{ pool: 'x', at: 1, admission: 'open' as const, tiers: [], projects: [], users: [], waiting: [] },
      jobs: [{ ...holder, tier: 0, priority: 3, since: 1, isBorrowing: false }],
    };
    const effect = effectOf(
      plan(['g1'], ['p1'], ['w', 'z']),
      { ...plan(['g1', 'g2'], ['p1', 'p2'], ['w']), warnings: ['hm'] },
      use,
    );
    assert.deepEqual(effect, {
      preempted: [
        { job: 'p1', isAnyway: true, user: 'ann', project: 'a', units: { v4: 8 }, for: 'w' },
        { job: 'p2', isAnyway: false, for: 'w' },
      ],
      started: [
        { job: 'g1', isAnyway: true },
        { job: 'g2', isAnyway: false },
      ],
      waiting: [{ job: 'w', isAnyway: true, position: 1, why: 'none is free' }],
      ...{ waitingNow: 2, warnings: ['hm'] },
    });
  });
});

import assert from 'node:assert/strict';
import { JOB_VERBS } from '../../contract/job-requests.js';
import { inputProblems } from '../../workflows/job/accept.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { pageText, quotedWords, tableRows } from '../docs/tables.js';
import { EXAMPLES } from './examples.js';

/** docs/contract.md, whose JSON is what the compiler and the other tests here hold to be right. */
const TEXT = pageText('docs/contract.md');
const BLOCKS = [...TEXT.matchAll(/(?:<!-- example: (?<name>[\w ]+) -->\n)?```json\n(?<json>[^`]*)```/g)].map(
  ({ groups = {} }) => ({ name: groups['name'], value: JSON.parse(groups['json'] ?? '') as unknown }),
);

describe('docs/contract.md', () => {
  it('shows every example, and no JSON that is none', () =>
    assert.deepEqual(BLOCKS.map(({ name }) => name ?? 'a block without a name').sort(), Object.keys(EXAMPLES).sort()));

  for (const [name, example] of Object.entries(EXAMPLES)) {
    it(`shows the ${name} as it is`, () =>
      assert.deepEqual(BLOCKS.find((block) => block.name === name)?.value, example));
  }

  it('has each request to a job in its table of updates', () => {
    const told = tableRows('docs/contract.md', '| update | argument |').flatMap(([cell]) => quotedWords(cell));
    assert.deepEqual(told.toSorted(), JOB_VERBS.toSorted());
  });

  it('shows inputs that are taken', () => {
    for (const input of [EXAMPLES['least input'], EXAMPLES['full input']]) {
      assert.deepEqual(inputProblems(input), []);
      assert.ok(resolveJob(input.job).ok);
    }
  });
});

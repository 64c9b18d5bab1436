import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inputProblems } from '../../workflows/job/accept.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { EXAMPLES } from './examples.js';

/** docs/contract.md, whose JSON is what the compiler and the other tests here hold to be right. */
const TEXT = readFileSync(new URL('../../docs/contract.md', import.meta.url), 'utf8');
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

  it('shows inputs that are taken', () => {
    for (const input of [EXAMPLES['least input'], EXAMPLES['full input']]) {
      assert.deepEqual(inputProblems(input), []);
      assert.ok(resolveJob(input.job).ok);
    }
  });
});

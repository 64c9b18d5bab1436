import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_BAD_INPUT, LIBRARIES, prepared } from '../cli/all-bad-input.js';
import { jobctl } from '../cli/command-line.js';

/** `npm test` has the same cases in one process (test/cli/bad-input.test.ts): a process for each takes minutes. */
describe('every wrong file, flag and setting, by the program as it is installed', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wrong-input-'));
    mkdirSync(join(folder, 'folder'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  for (const [name, badInput] of Object.entries(ALL_BAD_INPUT))
    it(name, async () => {
      const { args, wants } = prepared(folder, badInput);
      const env = { HOME: folder, JOBCTL_HOME: join(folder, 'no-stack'), ...badInput.env };
      const ended = await jobctl(args, env);
      assert.deepEqual(ended, { exitCode: 2, stdout: '', stderr: `${wants}\n` });
      assert.doesNotMatch(ended.stderr, LIBRARIES);
    });
});

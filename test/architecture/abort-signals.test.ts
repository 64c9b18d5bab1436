import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { committedSources } from './committed-sources.js';

const PRODUCT = ['domain', 'contract', 'activities', 'cloud', 'server', 'client', 'cli', 'worker', 'rehearsal'];
const FOLDERS = [...PRODUCT, 'scripts', 'bench', 'chaos', 'test'];
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;

describe('a time limit', () => {
  /** Node 20 forgets an AbortSignal.timeout that only AbortSignal.any holds: one AbortController with a timer does not. */
  it('is none of the signals that AbortSignal.any joins', () => {
    const both = committedSources(FOLDERS)
      .filter((file) => !file.endsWith('abort-signals.test.ts'))
      .filter((file) => {
        const code = readFileSync(file, 'utf8').replaceAll(COMMENT, '');
        return code.includes('AbortSignal.any(') && code.includes('AbortSignal.timeout(');
      });
    assert.deepEqual(both, []);
  });
});

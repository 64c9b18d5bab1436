import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { wordsOf } from '../own-program.js';

const QUESTION = wordsOf(new URL('./question.ts', import.meta.url));
/** A terminal of its own; what comes in is typed on it. */
const ON_A_TERMINAL = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';

/** What a program says after the question, when these keys are typed as its answer. */
function answered(keys: string): Promise<string> {
  const words = ['-c', ON_A_TERMINAL, process.execPath, ...QUESTION];
  const child = spawn('python3', words, { stdio: ['pipe', 'pipe', 'inherit'] });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const isAsked = shown.includes('[y/N]');
    shown += text;
    // Not before: the keys would be the terminal's own until then, and Ctrl-C a signal.
    if (!isAsked && shown.includes('[y/N]')) child.stdin.write(keys);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(shown.trimEnd().split(/\r?\n/).at(-1) ?? ''));
  });
}

describe('a question on a terminal', function () {
  this.timeout(30_000);
  const cases: Record<string, { keys: string; want: string }> = {
    'y is yes': { keys: 'y\r', want: 'heard true' },
    'N is no': { keys: 'N\r', want: 'heard false' },
    'the end of the input is no': { keys: '\u0004', want: 'heard false' },
    'Ctrl-C ends the command as interrupted, and says that nothing was changed': {
      keys: '\u0003',
      want: 'exit 130: interrupted: nothing was changed',
    },
  };
  for (const [name, { keys, want }] of Object.entries(cases)) {
    it(name, async () => assert.equal(await answered(keys), want));
  }
});

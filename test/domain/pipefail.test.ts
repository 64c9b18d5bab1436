import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { besideCommand, commandScript } from '../../domain/modules/command.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { jobFile } from '../end-to-end/job-files.js';

const FAILS = 'false | cat';

function specOf(command: object, more: object = {}) {
  const resolved = resolveJob(jobFile(undefined, { command, ...more }));
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.spec;
}

const bash = (script: string | undefined) =>
  spawnSync('bash', ['-c', script ?? assert.fail('no script')], { encoding: 'utf8' });

describe('a pipe in a script of a job file', () => {
  const codes: Readonly<Record<string, readonly [object, number]>> = {
    'fails if any of its programs does': [{ run: FAILS }, 1],
    'fails so in a text that begins with an empty line or a comment': [{ run: `\n# train\n${FAILS}` }, 1],
    'fails so with shell: bash': [{ run: FAILS, shell: 'bash' }, 1],
    'has the code of its last program with shell: plain': [{ run: FAILS, shell: 'plain' }, 0],
    'has it with cmd, the key of JobMan': [{ cmd: FAILS }, 0],
    'fails with cmd and shell: bash': [{ cmd: FAILS, shell: 'bash' }, 1],
    'fails by SIGPIPE if its reader ends first': [{ run: 'seq 1000000 | head -n 1' }, 141],
    'does not with shell: plain': [{ run: 'seq 1000000 | head -n 1', shell: 'plain' }, 0],
  };
  for (const [claim, [command, code]] of Object.entries(codes))
    it(`${claim}, in a hook as in the command`, () => {
      const spec = specOf(command);
      assert.equal(bash(commandScript(spec)).status, code);
      assert.equal(bash(besideCommand(spec, spec.command?.run ?? '')).status, code);
    });

  it('moves no line: what the shell says of line 2 stands there', () =>
    assert.match(bash(commandScript(specOf({ run: 'true\nnone-such' }))).stderr, /line 2: none-such/));

  it('is one of the words bash and plain', () => {
    const resolved = resolveJob(jobFile(undefined, { command: { run: 'x', shell: 'zsh' } }));
    assert.match(resolved.ok ? 'ok' : JSON.stringify(resolved.problems), /bash.*plain/);
  });
});

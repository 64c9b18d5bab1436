import assert from 'node:assert/strict';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModulePlan } from '../../domain/modules/module.js';
import { until } from '../until.js';
import { type Applied, applyModule } from './apply-modules.js';
import { type HostSession, isAlive, withHost } from './session.js';

const plan = (...scripts: readonly string[]): ModulePlan => ({
  name: 'demo',
  fingerprint: 'one',
  check: 'true',
  steps: scripts.map((script, step) => ({ name: `step ${step + 1}`, script })),
});

const apply = ({ connection }: HostSession, ...scripts: readonly string[]): Promise<Applied> =>
  applyModule(connection, plan(...scripts));

const codeOf = (outcome: Applied): number => (outcome.kind === 'failed' ? outcome.code : 0);

const login = ({ host }: HostSession, text: string): void =>
  appendFileSync(join(host.home, '.bash_profile'), `${text}\n`);

/** Each login shell leaves a line in ~/.jobctl, which is no place that a login could depend on. */
const LOGS_IN = 'echo >> ~/.jobctl/logins';

describe('the login shell of a step', function () {
  this.timeout(60_000);

  it('is one for all steps of a module', () =>
    withHost(async (session) => {
      await session.connection.runStatus('none');
      login(session, LOGS_IN);
      assert.equal((await apply(session, 'true', 'echo x > ~/.jobctl/x', 'true', 'true')).kind, 'done');
      assert.equal(session.read('.jobctl/logins').length, 1);
    }));

  for (const [what, change] of Object.entries({
    'a login file was changed': 'echo "export MADE=yes" >> ~/.bash_profile',
    'a folder was made that login files look for': 'mkdir ~/tool',
  })) {
    it(`is a new one where ${what}`, () =>
      withHost(async (session) => {
        login(session, '[ ! -d ~/tool ] || MADE=yes');
        assert.equal((await apply(session, 'echo "1 $MADE"', change, 'echo "3 $MADE"')).output, '1 \n3 yes\n');
      }));
  }

  it('keeps nothing of a step but what it did to the host: no folder, variable, option, trap or exit', () =>
    withHost(async (session) => {
      login(session, 'KEPT=login; tool() { echo "tool of $KEPT"; }');
      const changes = 'cd /; KEPT=step; export OTHER=1; umask 000; trap "echo trapped" EXIT; exec > /dev/null; exit 0';
      const { output } = await apply(
        session,
        changes,
        'pwd; echo "$KEPT $OTHER"; [ "$(umask)" = 0000 ] && umask; tool',
        'set -e; true',
      );
      assert.equal(output, `${session.host.home}\nlogin \ntool of login\n`);
    }));

  it('gives a step its own errexit, stdin, signals and no descriptor of ours', () =>
    withHost(async (session) => {
      assert.equal(codeOf(await apply(session, 'set -e; false; true')), 1);
      const { output } = await apply(
        session,
        'for fd in 3 4 5 6 7 8 9; do ! { true >&$fd; } 2> /dev/null || echo "open $fd"; done; read -r line || echo no stdin',
        'sed -n "s/^SigIgn:.*\\(.\\)$/ignored \\1/p" /proc/self/status; [ -t 0 ] || echo "${-//[^em]/}."',
      );
      assert.equal(output, 'no stdin\nignored 0\n.\n');
    }));

  it('that its own login files end is told, and not taken for a step that went well', () =>
    withHost(async (session) => {
      login(session, 'exit 0');
      const outcome = await apply(session, 'touch made');
      assert.equal(codeOf(outcome), 78);
      assert.match(outcome.output, /the login shell ended before the step: see the login files of \//);
      assert.ok(!existsSync(join(session.host.home, 'made')));
    }));

  for (const [what, kill, code] of [
    ['a step kills', 'kill -9 $$; sleep 60', 137],
    ['a step kills with its whole process group', 'kill 0; sleep 60', 143],
  ] as const) {
    it(`that ${what} is that step's failure; nothing of it is left, and the next call goes on from there`, () =>
      withHost(async (session) => {
        const steps = ['echo 1 >> did', `echo $BASHPID > pid; [ -f go ] || { ${kill}; }`, 'echo 3 >> did'] as const;
        assert.equal(codeOf(await apply(session, ...steps)), code);
        assert.ok(!isAlive(Number(session.read('pid'))));
        writeFileSync(join(session.host.home, 'go'), '');
        assert.equal((await apply(session, ...steps)).kind, 'done');
        assert.equal(session.read('did'), '1\n3\n');
      }));
  }

  it('is not what a stop ends: that is the step, with all that it forked, and no daemon of an earlier one', () =>
    withHost(async (session) => {
      // Not in the home folder: a new login shell has a session of its own, and then all is easy.
      const cancel = new AbortController();
      const loop = 'while :; do read -t 0.2 < <(:); done';
      const first =
        'sleep 300 & echo $! > ~/.jobctl/earlier; (while :; do sleep 0.1; done) & echo $! >> ~/.jobctl/earlier';
      const second = `(${loop}) & echo $! > ~/.jobctl/later; setsid sleep 300 & echo $! >> ~/.jobctl/later; sleep 300 & echo $! >> ~/.jobctl/later; echo here; wait`;
      const stopped = applyModule(
        session.connection,
        plan(first, second),
        (chunk) => chunk.includes('here') && cancel.abort(new Error('stop')),
        cancel.signal,
      );
      await assert.rejects(stopped, { message: 'stop' });
      const pids = (file: string): number[] => session.read(file).trim().split('\n').map(Number);
      await until('the step to be gone', () => (pids('.jobctl/later').some(isAlive) ? undefined : true));
      assert.deepEqual(pids('.jobctl/earlier').map(isAlive), [true, true]);
    }));
});

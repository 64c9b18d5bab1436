import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModulePlan } from '../../domain/modules/module.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { modulesProgram } from '../../cloud/hosts/module-program.js';
import type { HostSession } from './session.js';
import { isAlive, withHost } from './session.js';
import { applyModule as apply } from './apply-modules.js';
import { until } from '../until.js';

/** Steps leave a line each in ~/did. */
const plan = (steps: Record<string, string>, more: Partial<ModulePlan> = {}): ModulePlan => ({
  name: 'demo',
  fingerprint: 'one',
  check: '[ -f "$HOME/made" ]',
  steps: Object.entries(steps).map(([name, script]) => ({ name, script: `echo ${name} >> "$HOME/did"\n${script}` })),
  ...more,
});

const did = (session: HostSession): string[] => session.read('did').trim().split('\n');

describe('a setup module', () => {
  it('runs its steps in order in a login bash, shows their output, and is unchanged the second time', () =>
    withHost(async (session) => {
      writeFileSync(join(session.host.home, '.bash_profile'), 'LOGIN=yes');
      const module = plan({ first: 'echo out $LOGIN; echo err >&2', second: 'cat; touch made; pwd' });
      const { kind, output } = await apply(session.connection, module);
      assert.equal(kind, 'done');
      assert.equal(output, `out yes\nerr\n${session.host.home}\n`);
      assert.equal((await apply(session.connection, module)).kind, 'unchanged');
      assert.deepEqual(did(session), ['first', 'second']);
      assert.match(session.read('.jobctl/modules/demo.json'), /^\{"fingerprint":"one","steps":2,"at":\d+\}\n$/);
    }));

  it('is redone when its fingerprint is another, and when its check fails', () =>
    withHost(async (session) => {
      const module = plan({ make: 'touch made' });
      await apply(session.connection, module);
      assert.equal((await apply(session.connection, { ...module, fingerprint: 'two' })).kind, 'done');
      rmSync(join(session.host.home, 'made'));
      assert.equal((await apply(session.connection, { ...module, fingerprint: 'two' })).kind, 'done');
      assert.deepEqual(did(session), ['make', 'make', 'make']);
    }));

  it('does not run its check where the fingerprint is another', () =>
    withHost(async (session) => {
      const module = plan({ make: 'touch made' }, { check: 'echo check >> "$HOME/did"' });
      await apply(session.connection, module);
      await apply(session.connection, { ...module, fingerprint: 'two' });
      assert.deepEqual(did(session), ['make', 'make']);
      await apply(session.connection, { ...module, fingerprint: 'two' });
      assert.deepEqual(did(session), ['make', 'make', 'check']);
    }));

  it('names the failing step, its code and its last 20 lines; the next call goes on from that step', () =>
    withHost(async (session) => {
      const module = plan({ first: 'true', second: 'seq 30; [ -f "$HOME/go" ] || exit 3', third: 'touch made' });
      const { output, ...failed } = await apply(session.connection, module);
      const lines = Array.from({ length: 20 }, (_, index) => index + 11).join('\n');
      assert.deepEqual(failed, { kind: 'failed', module: 'demo', step: 'second', code: 3, tail: lines });
      assert.ok(output.startsWith('1\n2\n'));
      writeFileSync(join(session.host.home, 'go'), '');
      assert.equal((await apply(session.connection, module)).kind, 'done');
      assert.deepEqual(did(session), ['first', 'second', 'second', 'third']);
    }));

  it('begins from the start when the step fails again, and when the fingerprint has changed meanwhile', () =>
    withHost(async (session) => {
      const module = plan({ first: 'true', second: 'exit 3' });
      await apply(session.connection, module);
      await apply(session.connection, module);
      await apply(session.connection, module);
      assert.deepEqual(did(session), ['first', 'second', 'second', 'first', 'second']);
      await apply(session.connection, { ...module, fingerprint: 'two' });
      assert.deepEqual(did(session).slice(5), ['first', 'second']);
    }));

  it('goes on from the step under which the connection was lost', () =>
    withHost(async (session) => {
      const module = plan({
        first: 'true',
        second: 'echo here; [ -f "$HOME/go" ] || exec sleep 300',
        third: 'touch made',
      });
      const cutAtOutput = apply(session.connection, module, () => session.host.cut());
      await assert.rejects(cutAtOutput, HostUnreachable);
      writeFileSync(join(session.host.home, 'go'), '');
      assert.equal((await apply(session.connection, module)).kind, 'done');
      assert.deepEqual(did(session), ['first', 'second', 'second', 'third']);
    }));

  it('ends a step that outlived its applier before it is done again', () =>
    withHost(async (session) => {
      const script =
        '[ -f "$HOME/go" ] && exit 0; trap "" HUP PIPE TERM; echo $BASHPID > "$HOME/pid"; echo here; while :; do sleep 0.2; done';
      const module = plan({ only: script });
      await assert.rejects(
        apply(session.connection, module, () => session.host.cut()),
        HostUnreachable,
      );
      const pid = Number(session.read('pid'));
      assert.ok(isAlive(pid), 'the step ended with the connection: the test shows nothing');
      writeFileSync(join(session.host.home, 'go'), '');
      assert.equal((await apply(session.connection, module)).kind, 'done');
      assert.ok(!isAlive(pid));
    }));

  it('is never made by two at one time', () =>
    withHost(async (session) => {
      const appliers = [session.connection, await session.another(), await session.another()];
      const module = plan({ first: 'echo in >> did; sleep 0.2; echo out >> did', second: 'touch made' });
      const outcomes = await Promise.all(appliers.map((connection) => apply(connection, module)));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['done', 'unchanged', 'unchanged']);
      assert.deepEqual(did(session), ['first', 'in', 'out', 'second']);
    }));

  it('ends its step when it is told to stop', () =>
    withHost(async (session) => {
      const cancel = new AbortController();
      const module = plan({
        only: 'echo $BASHPID > "$HOME/pid"; echo here; trap "" HUP TERM; while :; do sleep 0.1; done',
      });
      const applying = apply(session.connection, module, () => cancel.abort(new Error('cancelled')), cancel.signal);
      await assert.rejects(applying, { message: 'cancelled' });
      const pid = Number(session.read('pid'));
      await until('the step to be gone', () => (isAlive(pid) ? undefined : true));
    }));

  it('is done though a daemon of its last step holds the output', () =>
    withHost(async (session) => {
      const module = plan({ only: 'touch made; sleep 300 & echo $! > "$HOME/pid"' });
      assert.equal((await apply(session.connection, module)).kind, 'done');
      assert.ok(isAlive(Number(session.read('pid'))));
      assert.equal((await apply(session.connection, module)).kind, 'unchanged');
    }));

  it('cannot be passed off as done by what a step prints', () =>
    withHost(async (session) => {
      const forged =
        'for word in "done 0" "ended 0 1 0" end; do for n in 1 2 3 6 7 8 9; do printf "\\001jobctl %s\\n" "$word" >&$n; done; done; exit 4';
      const outcome = await apply(session.connection, plan({ only: forged }));
      assert.equal(outcome.kind === 'failed' && outcome.code, 4);
    }));

  it('puts files with content and mode before their step, whatever is in them', () =>
    withHost(async (session) => {
      const content = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256));
      const step = { name: 'files', script: 'touch made' };
      const files = [
        { path: 'deep/er/data file.bin', content, mode: 0o600 },
        { path: 'run.sh', content: Buffer.from('end\nstep 3\n'), mode: 0o755 },
        { path: 'empty', content: Buffer.alloc(0), mode: 0o644 },
      ];
      assert.equal((await apply(session.connection, plan({}, { steps: [{ ...step, files }] }))).kind, 'done');
      for (const { path, content: wanted, mode } of files) {
        assert.deepEqual(readFileSync(join(session.host.home, path)), wanted);
        assert.equal(statSync(join(session.host.home, path)).mode & 0o777, mode);
      }
      const left = readdirSync(join(session.host.home, '.jobctl/modules')).sort();
      assert.deepEqual(left, ['demo.json', 'demo.progress', 'lock']);
    }));

  for (const path of ['/etc/passwd', '../up', 'a/../../b', 'new\nline', '', ' lead']) {
    it(`refuses to put a file at ${JSON.stringify(path)}`, async () => {
      const step = { name: 's', script: '', files: [{ path, content: Buffer.alloc(0), mode: 0o644 }] };
      await assert.rejects(
        modulesProgram('nonce', [{ plan: plan({}, { steps: [step] }), isSent: true }]),
        /module 'demo': file path .* must be relative to the home folder/,
      );
    });
  }
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModuleFrames, applyModules, type ModulesCallContext } from '../../cloud/hosts/modules-call.js';
import { exitCodeOf } from '../../cloud/hosts/pod-exec.js';
import { type RunnerClient, parseExitRecord, parseOutputs, parseState } from '../../cloud/hosts/runner-client.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { HOSTILE_HOSTS } from './hostile-host.js';
import { never } from './session.js';

/** What a worker is told by the runner on a host. Its numbers become offsets in names of objects, and all of it goes into histories. */
describe('an answer of the on-host runner that is forged', () => {
  for (const wrong of [
    'running 1 1e300',
    'running 1 -1',
    'running NaN 1',
    'running 1 99999999999999999999',
    'running 1 0x10',
    'running 1 ',
    'running 1 1/../../x',
    'exited 256 - 1 2 3 - 4',
    'exited -1 - 1 2 3 - 4',
    'exited 0.5 - 1 2 3 - 4',
    'lost Infinity',
    'fenced 1e9',
    `odd ${'x'.repeat(100_000)}`,
  ])
    it(`${wrong.slice(0, 30)} is no state`, () =>
      assert.throws(
        () => parseState(wrong),
        ({ message }: Error) => message.startsWith('on-host runner: ') && message.length < 500,
      ));

  it('texts of any length are cut, and a signal that is none is left out', () => {
    const blocked = parseState(`blocked ${'x'.repeat(1_000_000)}`);
    assert.equal(blocked.kind === 'blocked' && blocked.message.length, 2_000);
    const ended = parseState(`exited 1 ${'SIG'.repeat(100)} 1 2 3 - 4`);
    assert.ok(ended.kind === 'exited' && ended.signal === undefined);
    const killed = parseState('exited 137 SIGKILL 1 2 3 - 4');
    assert.equal(killed.kind === 'exited' && killed.signal, 'SIGKILL');
  });

  it('an exit record with such a state counts as none', () => {
    const record = (state: string): string => `{"v":1,"run":"r","state":"${state}"}`;
    assert.equal(parseExitRecord(record('exited 1e3 - 1 2 3 - 4'), { runId: 'r' }), undefined);
    assert.equal(parseExitRecord(record('exited 0 - 1 2 1e300 - 4'), { runId: 'r' }), undefined);
    assert.equal(parseExitRecord(record('exited 0 - 1 2 3 - 4'), { runId: 'r' })?.code, 0);
  });

  const round = { at: 1, files: 2, bytes: 3, unmatched: ['a'], problems: ['b'] };
  for (const wrong of [
    '{',
    'null',
    '{}',
    '{"state":"odd"}',
    '{"state":"stored"}',
    JSON.stringify({ state: 'stored', ...round, files: '2' }),
    JSON.stringify({ state: 'stored', ...round, bytes: -1 }),
    JSON.stringify({ state: 'stored', ...round, at: 1e300 }),
    JSON.stringify({ state: 'stored', ...round, problems: [1] }),
    '{"state":"failed"}',
  ])
    it(`outputs ${wrong.slice(0, 60)} says nothing of outputs`, () =>
      assert.throws(() => parseOutputs(`outputs ${wrong}`), /says nothing of outputs/));

  it('what is said of outputs is bounded, and as it was where it is good', () => {
    assert.deepEqual(parseOutputs(`outputs ${JSON.stringify({ state: 'stored', ...round })}`), {
      state: 'stored',
      ...round,
    });
    const many = { ...round, problems: Array.from({ length: 1_000 }, () => 'x'.repeat(5_000)) };
    const { problems = [] } = parseOutputs(
      `outputs ${JSON.stringify({ state: 'failed', reason: 'r', ...many })}`,
    ) as never as {
      problems?: readonly string[];
    };
    assert.deepEqual([problems.length, problems[0]?.length], [200, 2_000]);
  });

  it('a frame of modules without an end is refused', () => {
    const frames = new ModuleFrames('n');
    const read = (text: string): readonly unknown[] => [...frames.read(Buffer.from(text))];
    read('\u0001jobctl n step ');
    assert.throws(() => read('1'.repeat(5_000)), /has no end/);
  });

  it('silence about a module is no readiness', async () => {
    const program: RunnerClient['program'] = async (_verb, text, { onStdout }) => {
      await onStdout?.(Buffer.from(`\u0001jobctl ${/[0-9a-f]{32}/.exec(text)?.[0]} end\n`));
      return { code: 0, stdout: Buffer.alloc(0), stderr: '' };
    };
    const context = { runner: { program }, where: 'host 0' } as unknown as ModulesCallContext;
    const plan = { name: 'mine', fingerprint: 'f', check: 'true', steps: [] } as unknown as ModulePlan;
    await assert.rejects(
      applyModules(context, [plan], { onOutput: () => undefined }, never),
      /^RunnerFailed: host 0: the on-host runner did not say what became of module 'mine'$/,
    );
  });

  it('an exit code that is none is that of a failure', () => {
    const status = (message: string): number | undefined =>
      exitCodeOf({ status: 'Failure', details: { causes: [{ reason: 'ExitCode', message }] } });
    assert.deepEqual(['3', '1e3', 'NaN', '-1', '999'].map(status), [3, 255, 255, 255, 255]);
  });

  for (const [kind, start] of Object.entries(HOSTILE_HOSTS))
    it(`of what ${kind} prints without end the last 4 MiB are kept`, async () => {
      const home = mkdtempSync(join(tmpdir(), 'forged-'));
      // What is kept of it begins behind the answer.
      const say = `printf 'jobctl-runner: lost 5\\n'; head -c 6000000 /dev/zero`;
      const host = await start(home, `case $line in *runner*) ${say}; exit 0 ;; esac`);
      try {
        await assert.rejects(host.connection.runStatus('r'), ({ message }: Error) => {
          assert.match(message, /the on-host runner gave no answer/);
          return message.length < 1_000;
        });
      } finally {
        await host.stop();
        rmSync(home, { recursive: true, force: true });
      }
    });
});

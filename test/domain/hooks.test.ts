import assert from 'node:assert/strict';
import { hooksAfter, hookText } from '../../domain/hooks.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { commandScript } from '../../domain/modules/command.js';
import { ownEnds, attendEveryMs } from '../../activities/attempt/ends.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { formatProblems } from '../../domain/problem.js';

const job = (keys: object) =>
  resolveJob({
    tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' },
    command: { run: 'python3 train.py' },
    ...keys,
  });
function specOf(keys: object): JobSpec {
  const resolved = job(keys);
  assert.ok(resolved.ok, resolved.ok ? '' : formatProblems(resolved.problems));
  return resolved.spec;
}
function problemsOf(keys: object): string {
  const resolved = job(keys);
  return resolved.ok ? '' : formatProblems(resolved.problems);
}

describe('hooks of a job file', () => {
  it('are a script, or a section; one host and five minutes, for preemption all and 15 s', () => {
    const { hooks } = specOf({
      hooks: { preemption: 'save', success: 'a', failure: { run: 'b', timeout: '2m', workers: 3 }, finally: null },
    });
    assert.deepEqual(hooks, {
      preemption: { run: 'save', seconds: 15, hosts: 'all' },
      success: { run: 'a', seconds: 300, hosts: 'first' },
      failure: { run: 'b', seconds: 120, hosts: [3] },
    });
  });
  it('preemption has half of a short grace, and never the whole of it', () => {
    assert.equal(specOf({ grace: 10, hooks: { preemption: 'save' } }).hooks?.preemption?.seconds, 5);
    assert.match(
      problemsOf({ grace: 20, hooks: { preemption: { run: 'x', timeout: 20 } } }),
      /^hooks\.preemption\.timeout: 20 is no time for this hook\n {2}a time shorter than grace \(20 s\)/,
    );
  });
  it('hold a job that has ended for an hour at most', () => {
    assert.match(problemsOf({ hooks: { finally: { run: 'x', timeout: '61m' } } }), /a time of 1h at most/);
    assert.equal(specOf({ hooks: { finally: { run: 'x', timeout: '1h' } } }).hooks?.finally?.seconds, 3600);
  });
  it('without a script are refused; without a command they do nothing, which is said', () => {
    assert.match(problemsOf({ hooks: { success: { timeout: 5 } } }), /hooks\.success\.run/);
    const resolved = job({ command: null, hooks: { success: 'x' } });
    assert.ok(resolved.ok);
    assert.equal(resolved.spec.hooks, undefined);
    assert.match(resolved.warnings.join(), /^hooks: there is no command/);
  });
  it('that follow an end are its own and then finally, which alone follows a cancel', () => {
    const { hooks } = specOf({ hooks: { preemption: 'p', success: 's', failure: 'f', finally: 'l' } });
    assert.deepEqual(hooksAfter('succeeded', hooks), ['success', 'finally']);
    assert.deepEqual(hooksAfter('failed', hooks), ['failure', 'finally']);
    assert.deepEqual(hooksAfter('cancelled', hooks), ['finally']);
    assert.deepEqual(hooksAfter('failed'), []);
  });
  it('are told in words', () => {
    assert.equal(hookText({ hook: 'finally', status: 'done' }), 'finally done');
    assert.equal(hookText({ hook: 'success', status: 'not-run', message: 'why' }), 'success not run: why');
  });
});

describe('exit codes that ask for another start', () => {
  it('are one or a list, each once, with a budget of 20', () => {
    const { command, retries } = specOf({ command: { run: 'x', restart_on: [75, 75, 9] } });
    assert.deepEqual([command?.restartOn, retries.requested], [[75, 9], 20]);
    assert.deepEqual(specOf({ command: { run: 'x', restart_on: 75 } }).command?.restartOn, [75]);
    assert.equal('restartOn' in (specOf({}).command ?? {}), false);
  });
  it('are no success, no code above 255, and nothing beside loop, which is said', () => {
    assert.match(problemsOf({ command: { run: 'x', restart_on: [0] } }), /from 1 to 255/);
    assert.match(problemsOf({ command: { run: 'x', restart_on: 256 } }), /from 1 to 255/);
    const resolved = job({ loop: true, command: { run: 'x', restart_on: 75 } });
    assert.match(resolved.ok ? resolved.warnings.join() : '', /^command\.restart_on: loop starts the command again/);
  });
});

describe('whose success ends a command', () => {
  it('is that of all hosts, unless the file says otherwise', () => {
    assert.equal(specOf({ command: { run: 'x', success: 'any' } }).command?.success, 'any');
    assert.equal('success' in (specOf({ command: { run: 'x', success: 'all' } }).command ?? {}), false);
  });
  it('is one of three words, and not for Ray', () => {
    assert.match(problemsOf({ command: { run: 'x', success: 'last' } }), /allowed: all, first, any/);
    assert.match(problemsOf({ ray: {}, command: { run: 'x', success: 'first' } }), /is not for Ray/);
  });
});

describe('what a host does by itself with a command', () => {
  const LIMITS = { graceMs: 30_000, maxUnattendedMs: 72 * 3_600_000 };
  it('ends it after three days without a worker, which speaks to it every hour', () => {
    assert.deepEqual(ownEnds(specOf({}), 0), LIMITS);
    assert.equal(attendEveryMs(specOf({})), 3_600_000);
  });
  it('ends it sooner or never, as the job file says, and a worker speaks as often as that needs', () => {
    const short = specOf({ max_unattended: '20m' });
    assert.deepEqual([ownEnds(short, 0).maxUnattendedMs, attendEveryMs(short)], [1_200_000, 300_000]);
    const never = specOf({ max_unattended: 'never' });
    assert.deepEqual([ownEnds(never, 0), attendEveryMs(never)], [{ graceMs: 30_000 }, undefined]);
    assert.match(problemsOf({ max_unattended: 179 }), /max_unattended: 179 is shorter than 180 s/);
    const { heartbeatTimeoutMs, claimTimeoutMs } = DEFAULT_TIMINGS;
    const shortest = specOf({ max_unattended: 180 });
    const aloneMs = (attendEveryMs(shortest) ?? Infinity) + heartbeatTimeoutMs + claimTimeoutMs;
    assert.ok(aloneMs < 180_000, 'the shortest outlasts the death of a worker');
  });
  it('saves before a preemption where its workers say, as the command would', () => {
    const spec = specOf({
      hooks: { preemption: { run: 'save', timeout: 7, workers: [2] } },
      venv: { name: 'v' },
      setup: { modules: ['venv', 'command'] },
    });
    assert.deepEqual(ownEnds(spec, 0), LIMITS);
    const script = commandScript(spec)?.replace('python3 train.py', 'save');
    assert.deepEqual(ownEnds(spec, 2), { ...LIMITS, preemptionHook: { script, timeoutMs: 7_000 } });
  });
});

import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { ModuleOutcome } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/local-files.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';

/** Each command that arrives at the host over SSH leaves a line in ~/execs. */
const COUNTED = { enter: ['sh', '-c', 'echo >> "$HOME/execs"; exec "$@"', 'sh'] };

interface Result {
  /** `name kind`, in order. */
  readonly kinds: readonly string[];
  readonly outcomes: readonly ModuleOutcome[];
  readonly output: string;
  readonly steps: readonly string[];
  /** SSH commands, each a round trip. */
  readonly calls: number;
}

async function apply(session: HostSession, plans: readonly ModulePlan[]): Promise<Result> {
  let output = '';
  const steps: string[] = [];
  const before = countOf(session);
  const listener = {
    onOutput: (module: string, chunk: Buffer) => void (output += `${module}: ${chunk.toString()}`),
    onStep: (event: { module: string; step: string; code?: number }) =>
      void steps.push(`${event.module}/${event.step}${event.code === undefined ? '' : ` ${event.code}`}`),
  };
  const outcomes = await session.connection.applyModules(plans, listener, never);
  const kinds = outcomes.map(({ module, kind }) => `${module} ${kind}`);
  return { kinds, outcomes, output, steps, calls: countOf(session) - before };
}

const countOf = ({ host }: HostSession): number => {
  const file = join(host.home, 'execs');
  return existsSync(file) ? readFileSync(file, 'utf8').length : 0;
};

/** Makes ~/NAME, and says so in ~/did. */
const maker = (name: string, more: Partial<ModulePlan> = {}): ModulePlan => ({
  name,
  fingerprint: 'one',
  check: `echo ${name} >> "$HOME/checked"; [ -f "$HOME/${name}" ]`,
  steps: [{ name: 'make', script: `echo ${name} >> "$HOME/did"; touch "$HOME/${name}"; echo made ${name}` }],
  ...more,
});

/** What is too large to be sent before it is asked for. */
function largeSource(bytes: number): FileSource & { reads: number } {
  const content = randomBytes(bytes);
  const source = {
    size: bytes,
    sha256: createHash('sha256').update(content).digest('hex'),
    reads: 0,
    async *read(start: number): AsyncGenerator<Buffer> {
      source.reads += 1;
      yield content.subarray(start);
    },
  };
  return source;
}

describe('the setup modules of a host', function () {
  this.timeout(60_000);

  it('are made in order in one call, and unchanged in one call in which every check ran', () =>
    withHost(async (session) => {
      await session.connection.runStatus('none');
      const plans = [maker('a'), maker('b'), maker('c')];
      const first = await apply(session, plans);
      assert.deepEqual(first.kinds, ['a done', 'b done', 'c done']);
      assert.deepEqual(first.steps, ['a/make', 'a/make 0', 'b/make', 'b/make 0', 'c/make', 'c/make 0']);
      assert.equal(first.output, 'a: made a\nb: made b\nc: made c\n');
      assert.ok(!existsSync(join(session.host.home, 'checked')));
      const second = await apply(session, plans);
      assert.deepEqual(second.kinds, ['a unchanged', 'b unchanged', 'c unchanged']);
      assert.equal(session.read('checked'), 'a\nb\nc\n');
      assert.deepEqual([first.calls, second.calls, second.steps], [1, 1, []]);
    }, COUNTED));

  it('cost a host that has never been used one call more, which brings the runner along', () =>
    withHost(async (session) => {
      const { kinds, calls } = await apply(session, [maker('a')]);
      assert.deepEqual([kinds, calls], [['a done'], 2]);
    }, COUNTED));

  it('leave alone what is unchanged before and behind one that is redone; what is behind is checked again', () =>
    withHost(async (session) => {
      const plans = [maker('a'), maker('b'), maker('c')];
      await apply(session, plans);
      const changed = [plans[0]!, maker('b', { fingerprint: 'two' }), plans[2]!];
      assert.deepEqual((await apply(session, changed)).kinds, ['a unchanged', 'b done', 'c unchanged']);
      assert.equal(session.read('did'), 'a\nb\nc\nb\n');
      assert.equal(session.read('checked'), 'a\nc\nc\n');

      // One that takes away what the next needs.
      const eater = maker('a', { fingerprint: 'x', steps: [{ name: 'make', script: 'touch a; rm c' }] });
      const kinds = (await apply(session, [eater, changed[1]!, changed[2]!])).kinds;
      assert.deepEqual(kinds, ['a done', 'b unchanged', 'c done']);
    }));

  it('do not send what is large before the host has asked for it, and then what it needs alone', () =>
    withHost(async (session) => {
      const source = largeSource(1024 * 1024);
      const large = (fingerprint: string): ModulePlan => ({
        name: 'large',
        fingerprint,
        check: `[ -f "$HOME/got" ]`,
        steps: [{ name: 'copy', script: 'true', files: [{ path: 'got', content: source, mode: 0o600 }] }],
      });
      await session.connection.runStatus('none');
      assert.deepEqual((await apply(session, [maker('a'), large('one'), maker('b')])).kinds, [
        'a done',
        'large done',
        'b done',
      ]);
      const sent = createHash('sha256')
        .update(readFileSync(join(session.host.home, 'got')))
        .digest('hex');
      assert.equal(sent, source.sha256);
      assert.equal(statSync(join(session.host.home, 'got')).mode & 0o777, 0o600);
      const reads = source.reads;
      const again = await apply(session, [maker('a'), large('one'), maker('b')]);
      assert.deepEqual([again.kinds, again.calls], [['a unchanged', 'large unchanged', 'b unchanged'], 1]);
      assert.equal(source.reads, reads);
    }, COUNTED));

  it('end at the first step that fails; the next call goes on from there', () =>
    withHost(async (session) => {
      const steps = [
        { name: 'first', script: 'echo first >> did' },
        { name: 'second', script: '[ -f go ] || { echo nothing to go; exit 7; }' },
      ];
      const plans = [maker('a'), maker('b', { steps, check: 'true' }), maker('c')];
      const failed = await apply(session, plans);
      assert.deepEqual(failed.outcomes[1], {
        kind: 'failed',
        module: 'b',
        step: 'second',
        code: 7,
        tail: 'nothing to go',
      });
      assert.equal(failed.outcomes.length, 2);
      writeFileSync(join(session.host.home, 'go'), '');
      assert.deepEqual((await apply(session, plans)).kinds, ['a unchanged', 'b done', 'c done']);
      assert.equal(session.read('did'), 'a\nfirst\nc\n');
    }));

  it('are made anew when they are forgotten', () =>
    withHost(async (session) => {
      const plans = [maker('a'), maker('b')];
      await apply(session, plans);
      await session.connection.forgetModules(['b']);
      assert.deepEqual((await apply(session, plans)).kinds, ['a unchanged', 'b done']);
    }));

  it('tell a check that fails, exits, breaks its shell or speaks for others from one that passes', () =>
    withHost(async (session) => {
      const checks = {
        a: 'exit 0',
        b: 'exit 3',
        c: 'if then',
        d: 'echo "0 0" >&3; kill $$',
        e: 'cat; true',
        f: "[ 'it''s' ]",
      };
      const plans = Object.entries(checks).map(([name, check]) => maker(name, { check }));
      await apply(session, plans);
      const { kinds } = await apply(session, plans);
      assert.deepEqual(kinds.slice(0, 3), ['a unchanged', 'b done', 'c done']);
      assert.equal(kinds[3], 'd done');
    }));

  it('take what login files print for no answer, and print nothing of theirs into a log', () =>
    withHost(async (session) => {
      appendFileSync(join(session.host.home, '.bashrc'), 'echo welcome; echo welcome >&2\n');
      const { kinds, output } = await apply(session, [maker('a')]);
      assert.deepEqual(kinds, ['a done']);
      assert.match(output, /^a: (welcome\n)*made a\n$/);
      assert.deepEqual((await apply(session, [maker('a')])).kinds, ['a unchanged']);
    }));

  it('are not ended by a .bash_logout that fails', () =>
    withHost(async (session) => {
      appendFileSync(join(session.host.home, '.bash_logout'), 'exit 9\n');
      const steps = [{ name: 'make', script: 'touch a; exit 0' }];
      assert.deepEqual((await apply(session, [maker('a', { steps })])).kinds, ['a done']);
      assert.deepEqual((await apply(session, [maker('a', { check: 'exit 0' })])).kinds, ['a unchanged']);
    }));

  it('say that the disk is full when it is, and are made when it is no more', () =>
    withHost(async (session) => {
      const steps = [{ name: 'make', script: 'dd if=/dev/zero of=/dev/full bs=1 count=1' }];
      const [outcome] = (await apply(session, [maker('a', { steps })])).outcomes;
      assert.match(outcome?.kind === 'failed' ? outcome.tail : '', /No space left on device/);
      rmSync(join(session.host.home, '.jobctl/modules/a.progress'));
      assert.deepEqual((await apply(session, [maker('a')])).kinds, ['a done']);
    }));
});

import assert from 'node:assert/strict';
import type { Outcome } from '../../domain/job-state.js';
import { LAST_LINES, toldWithoutOutput, withoutOutput } from '../../domain/output-lines.js';

const REST = ' (the rest is for those who may read its logs)';
const OUTPUT = 'SECRET\nexport TOKEN=hf_1\n';

describe('a failure without the lines that the job printed', () => {
  const cases: Readonly<Record<string, readonly [text: string, told: string]>> = {
    'of a set-up': [
      `set-up of tools failed on host 2: step 'second' ended with code 1 (pip finds no such package)${LAST_LINES}${OUTPUT}`,
      `set-up of tools failed on host 2: step 'second' ended with code 1 (pip finds no such package)${REST}`,
    ],
    'of a set-up that was tried again': [
      `set-up of tools did not work on host 0: step 'get' ended with code 22, 5 times${LAST_LINES}${OUTPUT}`,
      `set-up of tools did not work on host 0: step 'get' ended with code 22, 5 times${REST}`,
    ],
    'of a build': [
      `its image was not built: BuildKit ended with code 1\n${OUTPUT}`,
      `its image was not built: BuildKit ended with code 1${REST}`,
    ],
    'of a build that told its last line in a sentence': [
      'its image was not built: 3 tries came to nothing, the last because BuildKit ended with code 137: SECRET: x',
      `its image was not built: 3 tries came to nothing, the last because BuildKit ended with code 137${REST}`,
    ],
    'of a build whose container was ended, in one sentence': [
      'BuildKit ended with Error: SECRET',
      `BuildKit ended with Error${REST}`,
    ],
    'of whatever else has more lines': [`it went wrong\n${OUTPUT}`, `it went wrong${REST}`],
    'with nothing but output': [`\n${OUTPUT}`, REST],
    'of one sentence, whole': [
      'the command exited with code 3 on host 1 of slice 0',
      'the command exited with code 3 on host 1 of slice 0',
    ],
    'of a build without output': [
      'its image was not built: BuildKit ended with code 1',
      'its image was not built: BuildKit ended with code 1',
    ],
  };
  for (const [name, [text, told]] of Object.entries(cases)) it(name, () => assert.equal(withoutOutput(text), told));

  it('in every place of a job that has words; a job without output is the very same', () => {
    const outcome = { result: 'failed', attempts: 1, preemptions: 0, submittedAt: 1, endedAt: 2 } as const;
    const of = (message: string): { readonly why: string; readonly outcome: Outcome } => ({
      why: message,
      outcome: {
        ...outcome,
        exitCode: 3,
        cause: { by: 'task', message, host: 2 },
        hooks: [
          { hook: 'on_failure', status: 'failed', message },
          { hook: 'always', status: 'done' },
        ] as never,
      },
    });
    assert.deepEqual(toldWithoutOutput(of(`failed\n${OUTPUT}`)), of(`failed${REST}`));
    for (const place of ['why', 'cause', 'hooks'] as const) {
      const { why, outcome: whole } = of(`failed\n${OUTPUT}`);
      const one =
        place === 'why' ? { why, outcome } : { why: 'x', outcome: { ...outcome, [place]: whole[place] } as Outcome };
      assert.ok(!JSON.stringify(toldWithoutOutput(one)).includes('SECRET'), place);
    }
    const told = (message: string) => ({
      at: 1,
      kind: 'failed',
      facts: { by: 'task', host: 2, message },
      text: `failed: ${message}`,
    });
    const events = [told('no host'), told(`no pip\n${OUTPUT}`)];
    assert.deepEqual(toldWithoutOutput({ events }), { events: [told('no host'), told(`no pip${REST}`)] });
    for (const same of [of('failed'), {}, { why: 'x' }, { outcome }, { events: events.slice(0, 1) }])
      assert.equal(toldWithoutOutput(same), same);
  });
});

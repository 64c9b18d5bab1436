import assert from 'node:assert/strict';
import type { Command } from 'commander';
import { PHASES } from '../../cli/jobs/job-filter.js';
import { durationOption } from '../../cli/terminal/options.js';
import { createProgram } from '../../cli/program.js';
import { JobPhase } from '../../domain/job-state.js';
import { jobctl } from './command-line.js';

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  return text;
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

describe('help', () => {
  const program = createProgram({ commandWords: undefined, exitCode: 0 });

  for (const command of withSubcommands(program)) {
    if (command.name() === 'dev') continue;
    it(`jobctl ${command.name()} shows an example that starts with jobctl`, () => {
      assert.match(helpOf(command), /\nExamples?:\n {2}jobctl /);
    });
  }

  it('has the verbs of this version and no others', () => {
    assert.deepEqual(
      program.commands.map((command) => command.name()),
      [
        ...[
          'init',
          'submit',
          'build',
          'launch',
          'validate',
          'list',
          'top',
          'capacity',
          'status',
          'why',
          'logs',
          'wait',
          'export',
          'cancel',
        ],
        ...['stop', 'resume', 'restart', 'requeue', 'delete', 'import'],
        ...['ssh', 'exec', 'stacks', 'cp', 'port-forward'],
        ...['download', 'outputs', 'context', 'login', 'logout', 'whoami'],
        ...['secret', 'quota', 'machines'],
        ...[
          'setup',
          'doctor',
          'contract',
          'audit',
          'codec',
          'worker',
          'serve',
          'access',
          'version',
          'completion',
          'dev',
          'rehearsal',
          'rehearse',
        ],
      ],
    );
  });

  it('who asks is --by of each verb that changes something', () => {
    const asking = withSubcommands(program).filter(({ options }) => options.some(({ long }) => long === '--by'));
    assert.deepEqual(
      asking.map((command) => `${command.parent?.name()} ${command.name()}`),
      [
        ...['cancel', 'stop', 'resume', 'restart', 'requeue', 'delete'].map((verb) => `jobctl ${verb}`),
        ...['apply', 'freeze', 'drain', 'thaw', 'set-priority', 'release'].map((verb) => `quota ${verb}`),
        ...['check', 'drain', 'undrain', 'forget', 'release'].map((verb) => `machines ${verb}`),
        'jobctl setup',
      ],
    );
  });

  it('knows every phase', () => assert.deepEqual([...PHASES].toSorted(), Object.values(JobPhase).toSorted()));

  const durations: Record<string, number> = {
    '90': 90_000,
    '90s': 90_000,
    '10m': 600_000,
    '1h30m': 5_400_000,
    '500ms': 500,
  };
  for (const [text, want] of Object.entries(durations))
    it(`a duration of ${text} is ${want} ms`, () => assert.equal(durationOption(text), want));

  it('the process prints help on stdout and exits 0; without a verb it is a usage error', async function () {
    this.timeout(20_000);
    const [asked, bare] = await Promise.all([jobctl(['--help']), jobctl([])]);
    assert.deepEqual([asked.exitCode, asked.stderr], [0, '']);
    assert.match(asked.stdout, /Exit codes:\n {2}0 +done/);
    assert.deepEqual([bare.exitCode, bare.stdout], [2, '']);
  });
});

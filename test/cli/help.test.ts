import assert from 'node:assert/strict';
import type { Command } from 'commander';
import { CHANGING_VERBS } from '../../cli/commands/changing.js';
import type { Verb } from '../../cli/commands/define-verb.js';
import { VERBS } from '../../cli/commands/verbs.js';
import { PHASES } from '../../cli/jobs/job-filter.js';
import { durationOption } from '../../cli/terminal/options.js';
import { createProgram } from '../../cli/program.js';
import { JobPhase } from '../../domain/job-state.js';
import { quotedWords, tableRows } from '../docs/tables.js';
import { jobctl } from './command-line.js';
import { ASKS, triedAs, VERBS as TRIED_VERBS } from './tried-verbs.js';

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  return text;
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** Verbs that do something, by their words. */
const runVerbs = (verbs: readonly Verb[], above = ''): readonly string[] =>
  verbs.flatMap(({ name, run, verbs: below = [] }) => [
    ...(run === undefined ? [] : [`${above}${name}`]),
    ...runVerbs(below, `${above}${name} `),
  ]);

/** ``| `dev up`, `down` | ..`` names `dev up` and `dev down`. */
function verbsOfRow(cell: string, verbs: readonly string[]): readonly string[] {
  const spans = quotedWords(cell).map((span) => span.split(' '));
  const group = spans[0]?.[0];
  return spans.flatMap(([first, second]) => {
    const readings = [`${group} ${first}`, `${first} ${second}`, `${first}`];
    return readings.find((words) => verbs.includes(words)) ?? [];
  });
}

describe('help', () => {
  const program = createProgram({ commandWords: undefined, exitCode: 0 });

  for (const command of withSubcommands(program)) {
    if (command.name() === 'dev') continue;
    it(`jobctl ${command.name()} shows an example that starts with jobctl`, () => {
      assert.match(helpOf(command), /\nExamples?:\n {2}jobctl /);
    });
  }

  it('is of verbs that test/long/every-verb.test.ts tries: a verb needs a row if it takes more than a job', () => {
    const untried = TRIED_VERBS.filter(([verb, command]) => triedAs(verb, command) === undefined);
    assert.deepEqual(
      untried.map(([verb]) => verb),
      [],
    );
    const asking = TRIED_VERBS.filter(([, { options }]) => options.some(({ long }) => long === '--yes'));
    assert.deepEqual(asking.map(([verb]) => verb).toSorted(), Object.keys(ASKS).toSorted());
  });

  it('a word of another tool or of a verb means one verb', () => {
    const words = VERBS.flatMap(({ name, nearWords = [] }) => [name, ...nearWords]);
    assert.deepEqual(words, [...new Set(words)]);
  });

  it('docs/cli.md has every verb in its table', () => {
    const verbs = runVerbs(VERBS);
    const told = tableRows('docs/cli.md', '| verb | does |').map(([cell]) => verbsOfRow(cell, verbs));
    assert.deepEqual(
      told.filter(({ length }) => length === 0),
      [],
    );
    assert.deepEqual([...new Set(told.flat())].toSorted(), verbs.toSorted());
  });

  it('who asks is --by of each verb that changes something', () => {
    const asking = withSubcommands(program)
      // Of a report, --by is the column.
      .filter(({ parent }) => parent?.name() !== 'report')
      .filter(({ options }) => options.some(({ long }) => long === '--by'));
    assert.deepEqual(
      asking.map((command) => `${command.parent?.name()} ${command.name()}`),
      [
        ...['pause', 'resume', 'trigger', 'delete'].map((verb) => `schedule ${verb}`),
        ...CHANGING_VERBS.map(({ name }) => `jobctl ${name}`),
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

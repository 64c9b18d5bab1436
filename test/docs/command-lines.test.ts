import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { isForeign } from '../../cli/job/migrating/foreign-words.js';
import { asVerb, createProgram } from '../../cli/program.js';
import { verbReached } from '../cli/verb-reached.js';
import { codeSpansOf, commandsOf, docPages, jobctlCallsIn } from './commands.js';

const ROOT = join(import.meta.dirname, '../..');
/** What a span may leave out, since its sentence says it. */
const UNFINISHED = new Set(['commander.missingArgument', 'commander.optionMissingArgument']);

/** @returns what is wrong with it */
async function problemOf(typed: readonly string[], accepts: ReadonlySet<string>): Promise<string | undefined> {
  const words = asVerb(typed);
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  // `jobctl VERB --help`, `jobctl help where`, a line of another tool (test/cli/migrating), a group's name
  if (own.includes('VERB') || own[0] === 'help' || isForeign(own)) return undefined;
  if ((accepts.size > 0 || own.includes('--help')) && isGroup(own.filter((word) => word !== '--help')))
    return undefined;
  try {
    await verbReached(words.map((word) => (word === 'N' ? '1' : word)));
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return accepts.has(error.code) ? undefined : error.message;
  }
}

const PROGRAM = createProgram({ commandWords: undefined, exitCode: 0 });

function isGroup(words: readonly string[]): boolean {
  let command: Command | undefined = PROGRAM;
  for (const word of words) command = command?.commands.find((one) => one.name() === word);
  return command !== undefined && command.commands.length > 0;
}

describe('command lines of jobctl', () => {
  const pages = [...docPages(ROOT), 'CHANGELOG.md'];
  let checked = 0;

  for (const page of pages)
    it(`${page}: every call in a block and in \`code\` has verbs and flags that exist`, async () => {
      const problems: string[] = [];
      const look = async (line: number, text: string, accepts: ReadonlySet<string>): Promise<void> => {
        for (const words of jobctlCallsIn(text)) {
          checked++;
          const problem = await problemOf(words, accepts);
          if (problem !== undefined) problems.push(`${page}:${line}: jobctl ${words.join(' ')}: ${problem}`);
        }
      };
      for (const { line, text } of commandsOf(ROOT, page)) await look(line, text, new Set());
      for (const { line, text } of codeSpansOf(ROOT, page)) await look(line, text, UNFINISHED);
      assert.deepEqual(problems, []);
    });

  it('are many', () => assert.ok(checked > 300, `${checked}`));

  const withSubcommands = (command: Command): readonly Command[] => [
    command,
    ...command.commands.flatMap(withSubcommands),
  ];
  for (const command of withSubcommands(PROGRAM))
    it(`${pathOf(command)} --help: each example has verbs and flags that exist`, async () => {
      let help = '';
      command.configureOutput({ writeOut: (more) => (help += more) });
      command.outputHelp();
      const [, examples = ''] = /\nExamples?:\n((?: {2}\S.*\n)+)/u.exec(help) ?? [];
      const calls = jobctlCallsIn(examples);
      assert.ok(calls.length > 0 || command.name() === 'dev', help);
      for (const words of calls) assert.equal(await problemOf(words, new Set()), undefined);
    });
});

/** `jobctl quota show` */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

import { type Command, Option } from 'commander';
import type { MachineVerb } from '../../contract/machines.js';
import { byOption } from '../jobs/job-filter.js';
import { type Invocation, outputOption, withConnection } from '../terminal/options.js';
import type { MachinesFlags } from './verbs/machines.js';

const GROUP_NOTES = `
The machines are named in the pool file ([[machines]]); docs/own-machines.md has the rules. A worker reaches them and answers.

Examples:
  jobctl machines ls
  jobctl machines check rack-3
`;

interface Verb {
  readonly verb: MachineVerb;
  readonly words: string;
  readonly summary: string;
  readonly description: string;
  readonly example: string;
}

const VERBS: readonly Verb[] = [
  {
    verb: 'ls',
    words: '[machines...]',
    summary: 'show machines, and who holds them',
    description: 'Looks at each machine over SSH, and shows who holds it, or why it is not used.',
    example: 'machines ls --pool lab --output json',
  },
  {
    verb: 'check',
    words: '[machines...]',
    summary: 'inspect machines that nobody holds',
    description:
      'Inspects machines that no slice holds: reach, disk, driver, devices, their own check. Those that are well and were put aside are used again. What an ended slice left on them is ended.',
    example: 'machines check rack-3',
  },
  {
    verb: 'drain',
    words: '<machines...>',
    summary: 'begin nothing more on machines',
    description: 'A job that runs on a drained machine goes on; no other begins there until it is undrained.',
    example: "machines drain rack-3 --reason 'new power supply'",
  },
  {
    verb: 'undrain',
    words: '<machines...>',
    summary: 'use drained machines again',
    description: 'Ends the drain of machines.',
    example: 'machines undrain rack-3',
  },
  {
    verb: 'forget',
    words: '<machines...>',
    summary: 'say that silent machines are off',
    description:
      'Says that machines which do not answer are off, so that jobctl stops waiting for them and their jobs start elsewhere. If one is not off, its command may run twice. It is used again only after a check, which ends what it still runs.',
    example: 'machines forget rack-3',
  },
  {
    verb: 'release',
    words: '<machine>',
    summary: 'end what a lost installation left on a machine',
    description:
      'Ends what runs on a machine under a claim that nobody looks after any more, such as that of a stack whose data were removed, and removes the claim. The claim must be named as `machines ls` shows it, so that no other is removed. One that a job of this pool has is refused.',
    example: 'machines release rack-3 --claim 0b9e3f0c-5a44-4a63-9d3b-0c8e3c1f2a77',
  },
];

/** Adds `machines ls | check | drain | undrain | forget | release`. */
export function registerMachines(program: Command, invocation: Invocation): void {
  const group = program
    .command('machines')
    .description("show and change a pool's own machines")
    .addHelpText('after', GROUP_NOTES);
  for (const each of VERBS) registerVerb(group, each, invocation);
}

function registerVerb(
  group: Command,
  { verb, words, summary, description, example }: Verb,
  invocation: Invocation,
): void {
  const command = group
    .command(`${verb} ${words}`)
    .summary(summary)
    .description(description)
    .addOption(new Option('--pool <name>', 'the pool').default('default'))
    .addOption(outputOption());
  if (verb !== 'ls') command.addOption(byOption());
  if (verb === 'drain') command.option('--reason <text>', 'why, for others');
  if (verb === 'release') command.requiredOption('--claim <id>', 'the claim that is removed');
  command.addHelpText('after', `\nExample:\n  jobctl ${example}\n`);
  withConnection(command).action(async (words: string | readonly string[], flags: MachinesFlags) => {
    const names = [words].flat();
    const verbs = await import('./verbs/machines.js');
    invocation.exitCode = await verbs.machines(verb, names, flags);
  });
}

import { Option } from 'commander';
import type { MachineVerb } from '../../contract/machines.js';
import { BY } from '../jobs/job-filter.js';
import { type Flag, outputOption } from '../terminal/options.js';
import { defineVerb, type Verb } from './define-verb.js';
import type { MachinesFlags } from './verbs/machines.js';

type Told = Pick<Verb, 'summary' | 'description' | 'examples'>;

/** @param flags beside those that all have */
const machineVerb = (name: MachineVerb, words: string, flags: readonly Flag[], told: Told): Verb =>
  defineVerb({
    name,
    ...told,
    place: { temporal: "it asks a worker about a pool's own machines, which is for its operators" },
    arguments: [[words]],
    flags: [['--pool <name>', 'the pool', undefined, 'default'], outputOption(), ...flags],
    run: async () => {
      const { machines } = await import('./verbs/machines.js');
      return (named: string | readonly string[], given: MachinesFlags) => machines(name, [named].flat(), given);
    },
  });

export const MACHINES = defineVerb({
  name: 'machines',
  description: "show and change a pool's own machines",
  notes: `
The machines are named in the pool file ([[machines]]); docs/own-machines.md has the rules. A worker reaches them and answers.
`,
  examples: ['jobctl machines ls', 'jobctl machines check rack-3'],
  verbs: [
    machineVerb('ls', '[machines...]', [], {
      summary: 'show machines, and who holds them',
      description: 'Looks at each machine over SSH, and shows who holds it, or why it is not used.',
      examples: ['jobctl machines ls --pool lab --output json'],
    }),
    machineVerb('check', '[machines...]', [BY], {
      summary: 'inspect machines that nobody holds',
      description:
        'Inspects machines that no slice holds: reach, disk, driver, devices, their own check. Those that are well and were put aside are used again. What an ended slice left on them is ended.',
      examples: ['jobctl machines check rack-3'],
    }),
    machineVerb('drain', '<machines...>', [BY, ['--reason <text>', 'why, for others']], {
      summary: 'begin nothing more on machines',
      description: 'A job that runs on a drained machine goes on; no other begins there until it is undrained.',
      examples: ["jobctl machines drain rack-3 --reason 'new power supply'"],
    }),
    machineVerb('undrain', '<machines...>', [BY], {
      summary: 'use drained machines again',
      description: 'Ends the drain of machines.',
      examples: ['jobctl machines undrain rack-3'],
    }),
    machineVerb('forget', '<machines...>', [BY], {
      summary: 'say that silent machines are off',
      description:
        'Says that machines which do not answer are off, so that jobctl stops waiting for them and their jobs start elsewhere. If one is not off, its command may run twice. It is used again only after a check, which ends what it still runs.',
      examples: ['jobctl machines forget rack-3'],
    }),
    machineVerb(
      'release',
      '<machine>',
      [BY, new Option('--claim <id>', 'the claim that is removed').makeOptionMandatory()],
      {
        summary: 'end what a lost installation left on a machine',
        description:
          'Ends what runs on a machine under a claim that nobody looks after any more, such as that of a stack whose data were removed, and removes the claim. The claim must be named as `machines ls` shows it, so that no other is removed. One that a job of this pool has is refused.',
        examples: ['jobctl machines release rack-3 --claim 0b9e3f0c-5a44-4a63-9d3b-0c8e3c1f2a77'],
      },
    ),
  ],
});

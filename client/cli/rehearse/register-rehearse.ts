import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { durationOption, type Invocation, outputOption, wholeNumber } from '../options.js';
import type { RehearseFlags } from '../verbs/rehearse.js';
import { DEFAULT_AFTER_MS } from './preemption-plan.js';
import type { NoticeWish } from './preemption-plan.js';

const REHEARSE_NOTES = `
The job runs in a stack of its own (state folder, ports, cloud), which is removed at the end, and at Ctrl-C. Its buckets are
empty ones of the rehearsal. An attempt is preempted at a step that the seed draws. What is lost is counted by the job's own step
counter: step, iteration, epoch, batch or a progress bar, else --progress. stdout has the certificate alone.

Exit codes: 0 the job succeeded, was preempted as often as asked, and nothing leaked; the command's own code where it failed; else 1.
With --require-resume also 1 where it lost all of its work, or where that cannot be measured.

Examples:
  jobctl rehearse train.yaml --preempt 2
  jobctl rehearse train.yaml --preempt 3 --notice none --require-resume
  jobctl rehearse train.yaml --script storm.yaml --time-scale 60
  jobctl rehearse train.yaml --progress 'Trained (\\d+) batches' --seed 7
`;

export function registerRehearse(program: Command, invocation: Invocation): void {
  program
    .command('rehearse')
    .summary('run your own job under preemption, and see what it costs')
    .description('Runs a job on a rehearsed Cloud TPU of its own, preempts it, and certifies what that cost.')
    .argument('<file>', 'the job file (YAML)')
    .addOption(new Option('--preempt <times>', 'how often (1, with --script 0)').argParser(wholeNumber(1, 100)))
    .addOption(
      new Option('--notice <duration>', 'before each preemption; none; mixed: every other one with 5s')
        .argParser(noticeOption)
        .default('mixed'),
    )
    .option('--script <file>', 'a fault script too (docs/rehearsal.md)')
    .addOption(
      new Option('--seed <number>', 'draws when and how; the same again').argParser(wholeNumber(0, 2 ** 32 - 1)),
    )
    .addOption(
      new Option('--time-scale <times>', "the cloud's clock and jobctl's waits for it, so many times as fast")
        .argParser(wholeNumber(1, 1000))
        .default(1),
    )
    .addOption(
      new Option('--progress <regex>', 'the step counter in its output: one group, a whole number').argParser(
        progressOption,
      ),
    )
    .addOption(
      new Option('--after <duration>', 'preempt so long after the first step, or the start, at the latest')
        .argParser(durationOption)
        .default(DEFAULT_AFTER_MS, '2m'),
    )
    .option('--set <key=value>', 'set a value of the file; may be repeated', collect)
    .option('--require-resume', 'exit 1 where it lost all of its work')
    .option('--keep', 'leave the stack up, and say where')
    .option('--unconfined', "also where nothing keeps the job from this computer's files")
    .addOption(outputOption())
    .addHelpText('after', REHEARSE_NOTES)
    .action(async (file: string, flags: RehearseFlags) => {
      const { rehearse } = await import('../verbs/rehearse.js');
      invocation.exitCode = await rehearse(file, flags);
    });
}

function noticeOption(text: string): NoticeWish {
  if (text === 'none' || text === 'mixed') return text;
  const ms = durationOption(text);
  return ms === 0 ? 'none' : { ms };
}

function progressOption(text: string): RegExp {
  let pattern: RegExp;
  let groups: number;
  try {
    pattern = new RegExp(text);
    groups = (new RegExp(`${text}|`).exec('')?.length ?? 1) - 1;
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message.replace(/^Invalid regular expression: /, '')}.`);
  }
  if (groups === 1) return pattern;
  throw new InvalidArgumentError(`It has ${groups} groups, and one is wanted: the number. Such as 'step (\\d+)'.`);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

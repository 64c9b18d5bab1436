import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { buildOptions, durationOption, type Invocation, outputOption, wholeNumber } from '../terminal/options.js';
import type { RehearseFlags } from './verbs/rehearse.js';
import { DEFAULT_AFTER_MS } from '../local/rehearse/preemption-plan.js';
import type { NoticeWish } from '../local/rehearse/preemption-plan.js';

const REHEARSE_NOTES = `
The job runs in a private stack (state folder, ports, cloud), which is removed at the end and at Ctrl-C. Its buckets are made in the
rehearsal, empty. An attempt is preempted at a step that the seed draws. Lost work is counted by the job's own step counter: step,
iteration, epoch, batch, a progress bar, or --progress. stdout is the certificate alone.

Exit codes: 0 if the job succeeded, was preempted as often as asked, and nothing leaked; the command's own code if it failed; else 1.
With --require-resume also 1 if the job lost all of its work, or if that cannot be measured.

Examples:
  jobctl rehearse train.yaml --preempt 2
  jobctl rehearse train.yaml --preempt 3 --notice none --require-resume
  jobctl rehearse train.yaml --script storm.yaml --time-scale 60
  jobctl rehearse train.yaml --progress 'Trained (\\d+) batches' --seed 7
`;

export function registerRehearse(program: Command, invocation: Invocation): void {
  const command = program
    .command('rehearse')
    .summary('run a job under preemption, and measure what that costs')
    .description(
      'Runs a job on a private simulated Cloud TPU, preempts it, and prints a certificate of what that cost.',
    )
    .argument('<file>', 'the job file (YAML)')
    .addOption(
      new Option('--preempt <times>', 'how often to preempt it (default: 1; with --script 0)').argParser(
        wholeNumber(1, 100),
      ),
    )
    .addOption(
      new Option(
        '--notice <duration>',
        'the notice before each preemption; none; or mixed, which is 5s before every other one',
      )
        .argParser(noticeOption)
        .default('mixed'),
    )
    .option('--script <file>', 'also play a fault script (docs/rehearsal.md)')
    .addOption(
      new Option('--seed <number>', 'draws when and how the job is preempted; repeats a run').argParser(
        wholeNumber(0, 2 ** 32 - 1),
      ),
    )
    .addOption(
      new Option(
        '--time-scale <times>',
        "run the cloud's clock, and jobctl's waits for the cloud, so many times as fast",
      )
        .argParser(wholeNumber(1, 1000))
        .default(1),
    )
    .addOption(
      new Option('--progress <regex>', 'the step counter in the output: one group, a whole number').argParser(
        progressOption,
      ),
    )
    .addOption(
      new Option('--after <duration>', 'preempt at the latest so long after the first step, or after the start')
        .argParser(durationOption)
        .default(DEFAULT_AFTER_MS, '2m'),
    )
    .option('--set <key=value>', 'set a value of the file; may be repeated', collect)
    .option('--require-resume', 'exit with 1 if the job lost all of its work')
    .option('--keep', 'keep the stack, and print where it is')
    .option('--unconfined', "run even if nothing keeps the job from this computer's files")
    .addOption(outputOption())
    .addHelpText('after', REHEARSE_NOTES);
  buildOptions(command).action(async (file: string, flags: RehearseFlags) => {
    const { rehearse } = await import('./verbs/rehearse.js');
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

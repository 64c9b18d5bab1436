import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { durationOption, type Invocation, type OutputFlag, outputOption, wholeNumber } from '../terminal/options.js';
import type { CapacityPlace, ClockFlags, EnvFlags, FailFlags, PreemptFlags, WarnFlags } from './verbs/rehearsal.js';
import type { JournalFlags, ScriptFlags } from './verbs/rehearsal-story.js';

const GROUP_NOTES = `
It talks to the rehearsal of the local stack (\`jobctl dev up\`); docs/rehearsal.md describes it.

Example:
  jobctl rehearsal preempt train-7f3k --notice 30s
`;

/** Adds `rehearsal status | preempt | warn | ..`. Each verb loads its modules when it is used. */
export function registerRehearsal(program: Command, invocation: Invocation): void {
  const group = program
    .command('rehearsal')
    .description('inspect the simulated cloud of the local stack, and inject faults')
    .addHelpText('after', GROUP_NOTES);
  registerStatus(group, invocation);
  registerPreempt(group, invocation);
  registerWarn(group, invocation);
  registerCapacity(group, invocation);
  registerFail(group, invocation);
  registerScript(group, invocation);
  registerJournal(group, invocation);
  registerDump(group, invocation);
  registerClock(group, invocation);
  registerEnv(group, invocation);
}

const SLICE = ['<slice>', 'a node, a queued resource, or the id of a job, for its live slice'] as const;

function registerStatus(group: Command, invocation: Invocation): void {
  group
    .command('status')
    .description('show queued resources, nodes, settings, faults and the clock')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl rehearsal status --output json\n')
    .action(async (flags: OutputFlag) => {
      const { status } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await status(flags);
    });
}

const PREEMPT_NOTES = `
Without --notice the slice is gone at once, with everything that runs on it. With --notice it is UNHEALTHY_MAINTENANCE first.

Examples:
  jobctl rehearsal preempt train-7f3k
  jobctl rehearsal preempt jc-train-7f3k-g1 --notice 30s
  jobctl rehearsal preempt train-7f3k --vanish
`;

function registerPreempt(group: Command, invocation: Invocation): void {
  group
    .command('preempt')
    .summary('take a slice away, as the provider does')
    .description("Takes a slice away, as the provider does with spot capacity. Times are those of the cloud's clock.")
    .argument(...SLICE)
    .addOption(
      new Option('--notice [duration]', 'announce it so long before (default: 2s, or as configured)').argParser(
        durationOption,
      ),
    )
    .addOption(new Option('--vanish', 'make the slice NOT_FOUND at once instead of PREEMPTED').conflicts('notice'))
    .addOption(outputOption())
    .addHelpText('after', PREEMPT_NOTES)
    .action(async (slice: string, flags: PreemptFlags) => {
      const { preempt } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await preempt(slice, flags);
    });
}

function registerWarn(group: Command, invocation: Invocation): void {
  group
    .command('warn')
    .summary('warn of maintenance (UNHEALTHY_MAINTENANCE)')
    .description('Makes a slice UNHEALTHY_MAINTENANCE: it continues to run, and the warning may clear by itself.')
    .argument(...SLICE)
    .addOption(
      new Option('--clear-after <duration>', 'make it healthy again after this time').argParser(durationOption),
    )
    .addOption(new Option('--clear', 'make it healthy again now').conflicts('clearAfter'))
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl rehearsal warn train-7f3k --clear-after 5m\n')
    .action(async (slice: string, flags: WarnFlags) => {
      const { warn } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await warn(slice, flags);
    });
}

const CAPACITY_NOTES = `
Granted slices stay. Requests for more chips than there are wait, as at Google.

Examples:
  jobctl rehearsal capacity us-central1-a/v5litepod 16
  jobctl rehearsal capacity us-central1-a/v5litepod/spot 0
  jobctl rehearsal capacity us-central1-a/v5litepod unlimited
`;

function registerCapacity(group: Command, invocation: Invocation): void {
  group
    .command('capacity')
    .summary('set how many chips a zone has')
    .description(
      'Sets how many chips of a generation a zone has, for all or in one tier (reserved, on-demand, spot); or how many VMs of a machine type of Compute Engine.',
    )
    .argument('<place>', 'ZONE/GENERATION, ZONE/GENERATION/TIER or ZONE/MACHINE_TYPE', capacityPlace)
    .argument('<chips>', 'a number of chips, or unlimited', chipsOrUnlimited)
    .addOption(outputOption())
    .addHelpText('after', CAPACITY_NOTES)
    .action(async (place: CapacityPlace, chips: number | 'unlimited', flags: OutputFlag) => {
      const { capacity } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await capacity(place, chips === 'unlimited' ? null : chips, flags);
    });
}

const FAIL_NOTES = `
METHOD is a method of Cloud TPU or of Cloud Storage's JSON API; '*' is all. CODE is a google.rpc.Code.

Examples:
  jobctl rehearsal fail CreateQueuedResource --code RESOURCE_EXHAUSTED --times 3
  jobctl rehearsal fail '*' --code UNAVAILABLE --for 10m
  jobctl rehearsal fail objects.insert --code UNAVAILABLE --times 1 --answer-lost
  jobctl rehearsal fail --stop
`;

function registerFail(group: Command, invocation: Invocation): void {
  group
    .command('fail')
    .summary('make calls of an API fail')
    .description('Makes calls of an API fail, or take effect and lose their answer.')
    .argument('[method]', "the method, such as GetNode, objects.insert or '*'")
    .option('--code <code>', 'the error code', 'UNAVAILABLE')
    .option('--message <text>', 'the text of the error')
    .addOption(
      new Option('--times <calls>', 'the number of calls that fail (default: all until --stop)').argParser(
        wholeNumber(1, 1_000_000),
      ),
    )
    .addOption(
      new Option('--for <duration>', "the time during which they fail, on the cloud's clock").argParser(durationOption),
    )
    .option('--answer-lost', 'the calls take effect, and their answers are lost')
    .option('--name-matches <pattern>', 'only calls about names that match this regular expression')
    .option('--stop', 'end all failures')
    .addOption(outputOption())
    .addHelpText('after', FAIL_NOTES)
    .action(async (method: string | undefined, flags: FailFlags) => {
      const { fail } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await fail(method, flags);
    });
}

const SCRIPT_NOTES = `
Without FILE it shows the progress of the running script. docs/rehearsal.md has an example and leads to all faults.

Examples:
  jobctl rehearsal script storm.yaml --follow
  jobctl rehearsal script
  jobctl rehearsal script --stop
`;

function registerScript(group: Command, invocation: Invocation): void {
  group
    .command('script')
    .summary('run a fault script')
    .description("Runs a fault script (YAML) on the cloud's clock, and ends one that is running.")
    .argument('[file]', 'the script')
    .option('-f, --follow', 'print a line for each event, until the last one')
    .option('--stop', 'end the running script; its effects stay')
    .addOption(outputOption())
    .addHelpText('after', SCRIPT_NOTES)
    .action(async (file: string | undefined, flags: ScriptFlags) => {
      const { script } = await import('./verbs/rehearsal-story.js');
      invocation.exitCode = await script(file, flags);
    });
}

function registerJournal(group: Command, invocation: Invocation): void {
  group
    .command('journal')
    .summary('print what happened in the cloud')
    .description('Prints every call and every change of state; with --output json as JSON lines.')
    .option('-f, --follow', 'follow until Ctrl-C')
    .addOption(
      new Option('--after <number>', 'only events after this number')
        .argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER))
        .default(0),
    )
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  jobctl rehearsal journal -f --after 120\n')
    .action(async (flags: JournalFlags) => {
      const { journal } = await import('./verbs/rehearsal-story.js');
      invocation.exitCode = await journal(flags);
    });
}

function registerDump(group: Command, invocation: Invocation): void {
  group
    .command('dump')
    .summary('print everything that the cloud knows')
    .description(
      'Prints everything that the cloud knows as JSON lines: one resource, operation, setting or fault per line.',
    )
    .addHelpText('after', '\nExample:\n  jobctl rehearsal dump > cloud.jsonl\n')
    .action(async () => {
      const { dump } = await import('./verbs/rehearsal-story.js');
      invocation.exitCode = await dump();
    });
}

const CLOCK_NOTES = `
Queue times, notices and scripts run by the cloud's clock. Processes in VMs, SSH and jobctl's own waits run in real time.

Examples:
  jobctl rehearsal clock
  jobctl rehearsal clock --scale 60
  jobctl rehearsal clock --freeze
  jobctl rehearsal clock --step 5m
`;

function registerClock(group: Command, invocation: Invocation): void {
  group
    .command('clock')
    .summary("show or change the cloud's clock")
    .description("Shows the cloud's clock, or makes it run faster, stand still, or go forward.")
    .addOption(new Option('--scale <times>', 'run so many times as fast as real time').argParser(scaleOption))
    .addOption(new Option('--freeze', 'stop the clock').conflicts('thaw'))
    .option('--thaw', 'let the clock run again')
    .addOption(new Option('--step <duration>', 'move the clock forward by this time').argParser(durationOption))
    .addOption(outputOption())
    .addHelpText('after', CLOCK_NOTES)
    .action(async (flags: ClockFlags) => {
      const { clock } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await clock(flags);
    });
}

const ENV_NOTES = `
In a shell that evaluated these lines, gcloud, curl and Google's client libraries talk to the rehearsal. gcloud has a separate
configuration there.

Examples:
  jobctl rehearsal env
  eval "$(jobctl rehearsal env)" && gcloud compute tpus tpu-vm list
  eval "$(jobctl rehearsal env --unset)"
`;

function registerEnv(group: Command, invocation: Invocation): void {
  group
    .command('env')
    .summary("print `export` lines for Google's own tools")
    .description("Prints `export` lines after which Google's own tools talk to the rehearsal.")
    .option('--project <id>', "the Google Cloud project (default: the stack's)")
    .option('--zone <zone>', 'the default zone', 'us-central1-a')
    .option('--unset', 'print lines that undo it')
    .addOption(outputOption())
    .addHelpText('after', ENV_NOTES)
    .action(async (flags: EnvFlags) => {
      const { env } = await import('./verbs/rehearsal.js');
      invocation.exitCode = await env(flags);
    });
}

const TIERS = ['reserved', 'on-demand', 'spot'];

function capacityPlace(text: string): CapacityPlace {
  const [zone = '', generation = '', tier, ...rest] = text.split('/');
  const isPlace = /^[a-z]+-[a-z0-9]+-[a-z]$/.test(zone) && /^[a-z0-9-]+$/.test(generation) && rest.length === 0;
  if (!isPlace)
    throw new InvalidArgumentError(
      'A zone and a generation, such as us-central1-a/v5litepod, and perhaps a tier behind them; or a zone and a machine type.',
    );
  if (tier === undefined) return { zone, generation };
  if (!TIERS.includes(tier)) throw new InvalidArgumentError(`The tier is ${TIERS.join(', ')} or absent.`);
  return { zone, generation, tier };
}

function chipsOrUnlimited(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A number of chips, 0 or more, or unlimited.');
}

/** Parses a speed that the rehearsal's clock accepts. @throws InvalidArgumentError */
export function scaleOption(text: string): number {
  const scale = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && scale > 0 && scale <= MOST_SCALE) return scale;
  throw new InvalidArgumentError(`How many times as fast, above 0 and up to ten million.`);
}
const MOST_SCALE = 10_000_000;

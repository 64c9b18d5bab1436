import { InvalidArgumentError, Option } from 'commander';
import { durationOption, outputOption, wholeNumber } from '../terminal/options.js';
import { defineVerb } from './define-verb.js';
import type { CapacityPlace } from './verbs/rehearsal.js';

const SLICE = ['<slice>', 'a node, a queued resource, or the id of a job, for its live slice'] as const;

export const REHEARSAL = defineVerb({
  name: 'rehearsal',
  description: 'inspect the simulated cloud of the local stack, and inject faults',
  notes: `
It talks to the rehearsal of the local stack (\`jobctl dev up\`); docs/rehearsal.md describes it.
`,
  examples: ['jobctl rehearsal preempt train-7f3k --notice 30s'],
  verbs: [
    defineVerb({
      name: 'status',
      description: 'show queued resources, nodes, settings, faults and the clock',
      flags: [outputOption()],
      examples: ['jobctl rehearsal status --output json'],
      run: async () => (await import('./verbs/rehearsal.js')).status,
    }),
    defineVerb({
      name: 'preempt',
      summary: 'take a slice away, as the provider does',
      description: "Takes a slice away, as the provider does with spot capacity. Times are those of the cloud's clock.",
      arguments: [SLICE],
      flags: [
        ['--notice [duration]', 'announce it so long before (default: 2s, or as configured)', durationOption],
        new Option('--vanish', 'make the slice NOT_FOUND at once instead of PREEMPTED').conflicts('notice'),
        outputOption(),
      ],
      notes: `
Without --notice the slice is gone at once, with everything that runs on it. With --notice it is UNHEALTHY_MAINTENANCE first.
`,
      examples: [
        'jobctl rehearsal preempt train-7f3k',
        'jobctl rehearsal preempt jc-train-7f3k-g1 --notice 30s',
        'jobctl rehearsal preempt train-7f3k --vanish',
      ],
      run: async () => (await import('./verbs/rehearsal.js')).preempt,
    }),
    defineVerb({
      name: 'warn',
      summary: 'warn of maintenance (UNHEALTHY_MAINTENANCE)',
      description: 'Makes a slice UNHEALTHY_MAINTENANCE: it continues to run, and the warning may clear by itself.',
      arguments: [SLICE],
      flags: [
        ['--clear-after <duration>', 'make it healthy again after this time', durationOption],
        new Option('--clear', 'make it healthy again now').conflicts('clearAfter'),
        outputOption(),
      ],
      examples: ['jobctl rehearsal warn train-7f3k --clear-after 5m'],
      run: async () => (await import('./verbs/rehearsal.js')).warn,
    }),
    defineVerb({
      name: 'capacity',
      summary: 'set how many chips a zone has',
      description:
        'Sets how many chips of a generation a zone has, for all or in one tier (reserved, on-demand, spot); or how many VMs of a machine type of Compute Engine.',
      arguments: [
        ['<place>', 'ZONE/GENERATION, ZONE/GENERATION/TIER or ZONE/MACHINE_TYPE', capacityPlace],
        ['<chips>', 'a number of chips, or unlimited', chipsOrUnlimited],
      ],
      flags: [outputOption()],
      notes: `
Granted slices stay. Requests for more chips than there are wait, as at Google.
`,
      examples: [
        'jobctl rehearsal capacity us-central1-a/v5litepod 16',
        'jobctl rehearsal capacity us-central1-a/v5litepod/spot 0',
        'jobctl rehearsal capacity us-central1-a/v5litepod unlimited',
      ],
      run: async () => (await import('./verbs/rehearsal.js')).capacity,
    }),
    defineVerb({
      name: 'fail',
      summary: 'make calls of an API fail',
      description: 'Makes calls of an API fail, or take effect and lose their answer.',
      arguments: [['[method]', "the method, such as GetNode, objects.insert or '*'"]],
      flags: [
        ['--code <code>', 'the error code', undefined, 'UNAVAILABLE'],
        ['--message <text>', 'the text of the error'],
        ['--times <calls>', 'the number of calls that fail (default: all until --stop)', wholeNumber(1, 1_000_000)],
        ['--for <duration>', "the time during which they fail, on the cloud's clock", durationOption],
        ['--answer-lost', 'the calls take effect, and their answers are lost'],
        ['--name-matches <pattern>', 'only calls about names that match this regular expression'],
        ['--stop', 'end all failures'],
        outputOption(),
      ],
      notes: `
METHOD is a method of Cloud TPU or of Cloud Storage's JSON API; '*' is all. CODE is a google.rpc.Code.
`,
      examples: [
        'jobctl rehearsal fail CreateQueuedResource --code RESOURCE_EXHAUSTED --times 3',
        "jobctl rehearsal fail '*' --code UNAVAILABLE --for 10m",
        'jobctl rehearsal fail objects.insert --code UNAVAILABLE --times 1 --answer-lost',
        'jobctl rehearsal fail --stop',
      ],
      run: async () => (await import('./verbs/rehearsal.js')).fail,
    }),
    defineVerb({
      name: 'script',
      summary: 'run a fault script',
      description: "Runs a fault script (YAML) on the cloud's clock, and ends one that is running.",
      arguments: [['[file]', 'the script']],
      flags: [
        ['-f, --follow', 'print a line for each event, until the last one'],
        ['--stop', 'end the running script; its effects stay'],
        outputOption(),
      ],
      notes: `
Without FILE it shows the progress of the running script. docs/rehearsal.md has an example and leads to all faults.
`,
      examples: [
        'jobctl rehearsal script storm.yaml --follow',
        'jobctl rehearsal script',
        'jobctl rehearsal script --stop',
      ],
      run: async () => (await import('./verbs/rehearsal-story.js')).script,
    }),
    defineVerb({
      name: 'journal',
      summary: 'print what happened in the cloud',
      description: 'Prints every call and every change of state; with --output json as JSON lines.',
      flags: [
        ['-f, --follow', 'follow until Ctrl-C'],
        ['--after <number>', 'only events after this number', wholeNumber(0, Number.MAX_SAFE_INTEGER), 0],
        outputOption(),
      ],
      examples: ['jobctl rehearsal journal -f --after 120'],
      run: async () => (await import('./verbs/rehearsal-story.js')).journal,
    }),
    defineVerb({
      name: 'dump',
      summary: 'print everything that the cloud knows',
      description:
        'Prints everything that the cloud knows as JSON lines: one resource, operation, setting or fault per line.',
      examples: ['jobctl rehearsal dump > cloud.jsonl'],
      run: async () => (await import('./verbs/rehearsal-story.js')).dump,
    }),
    defineVerb({
      name: 'clock',
      summary: "show or change the cloud's clock",
      description: "Shows the cloud's clock, or makes it run faster, stand still, or go forward.",
      flags: [
        ['--scale <times>', 'run so many times as fast as real time', scaleOption],
        new Option('--freeze', 'stop the clock').conflicts('thaw'),
        ['--thaw', 'let the clock run again'],
        ['--step <duration>', 'move the clock forward by this time', durationOption],
        outputOption(),
      ],
      notes: `
Queue times, notices and scripts run by the cloud's clock. Processes in VMs, SSH and jobctl's own waits run in real time.
`,
      examples: [
        'jobctl rehearsal clock',
        'jobctl rehearsal clock --scale 60',
        'jobctl rehearsal clock --freeze',
        'jobctl rehearsal clock --step 5m',
      ],
      run: async () => (await import('./verbs/rehearsal.js')).clock,
    }),
    defineVerb({
      name: 'env',
      summary: "print `export` lines for Google's own tools",
      description: "Prints `export` lines after which Google's own tools talk to the rehearsal.",
      flags: [
        ['--project <id>', "the Google Cloud project (default: the stack's)"],
        ['--zone <zone>', 'the default zone', undefined, 'us-central1-a'],
        ['--unset', 'print lines that undo it'],
        outputOption(),
      ],
      notes: `
In a shell that evaluated these lines, gcloud, curl and Google's client libraries talk to the rehearsal. gcloud has a separate
configuration there.
`,
      examples: [
        'jobctl rehearsal env',
        'eval "$(jobctl rehearsal env)" && gcloud compute tpus tpu-vm list',
        'eval "$(jobctl rehearsal env --unset)"',
      ],
      run: async () => (await import('./verbs/rehearsal.js')).env,
    }),
  ],
});

const TIERS = ['reserved', 'on-demand', 'spot'];
/** Words of job files for tiers, if they differ. */
const TIER_WORDS: Readonly<Record<string, string>> = { ondemand: 'on-demand' };

function capacityPlace(text: string): CapacityPlace {
  const [zone = '', generation = '', word, ...rest] = text.split('/');
  const tier = word === undefined ? undefined : (TIER_WORDS[word] ?? word);
  const isPlace = /^[a-z]+-[a-z0-9]+-[a-z]$/.test(zone) && /^[a-z0-9-]+$/.test(generation) && rest.length === 0;
  if (!isPlace)
    throw new InvalidArgumentError(
      'A zone and a generation, such as us-central1-a/v5litepod, and perhaps a tier behind them; or a zone and a machine type.',
    );
  if (tier === undefined) return { zone, generation };
  if (!TIERS.includes(tier)) throw new InvalidArgumentError(`The tier is ${TIERS.join(', ')} or absent.`);
  return { zone, generation, tier };
}

/** Parses a number of chips. @returns null for no limit */
function chipsOrUnlimited(text: string): number | null {
  if (text === 'unlimited') return null;
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

import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { jobNameFrom } from '../../../domain/identity.js';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { askedSize, formatSlices } from '../../../domain/machines.js';
import { machinesText } from '../../../domain/machine-kinds/machines/words.js';
import { formatProblems } from '../../../domain/problem.js';
import { shellQuote } from '../../../domain/shell-quote.js';
import { count } from '../../../domain/units.js';
import { answerTo } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import {
  findProgram,
  type FoundProgram,
  type Answers,
  type AskedMachines,
  DEFAULT_TPU,
  defaultZone,
  placesText,
  writtenJob,
} from '../../job/init/written-job.js';
import { foldLine, terminalWidth } from '../../terminal/render/columns.js';
import { commandSummary } from '../../terminal/render/job-header.js';
import { asTyped, typedCommand, printOut } from '../../terminal/print.js';
import { writeWhole } from '../../terminal/file-on-disk.js';

export interface InitFlags {
  readonly run?: string;
  readonly tpu?: string;
  readonly zone?: string;
  readonly machines?: AskedMachines;
  readonly yes?: true;
  readonly force?: true;
}

const FILE = 'job.yaml';

/** Writes a job file for the program in a folder. */
export async function init(folder: string, flags: InitFlags): Promise<number> {
  const found = findProgram(folder);
  const file = join(folder, FILE);
  if (flags.force !== true) refuseToOverwrite(file);
  const name = jobNameFrom(basename(resolve(folder)));
  const isAsked = flags.yes !== true && process.stdin.isTTY;
  const answers = await answered(folder, flags, found, isAsked);
  const text = writtenJob(name, answers, found);
  const parsed = parseJobFile(text, { file: FILE, env: process.env });
  if (!parsed.ok)
    throw new CliError(
      ExitCode.Usage,
      formatProblems(parsed.problems),
      `${file} was not written; see jobctl init --help`,
    );
  writeWhole(file, text);
  const width = terminalWidth(process.stdout);
  const lines = report(file, parsed.spec, found).flatMap((line) => foldLine(line, width));
  printOut(`${lines.join('\n')}\n`);
  return ExitCode.Done;
}

/** @throws CliError that describes the existing file */
function refuseToOverwrite(file: string): void {
  if (!existsSync(file)) return;
  throw new CliError(
    ExitCode.Refused,
    `${file} is there already: ${whatIsThere(file)}`,
    'nothing was changed; --force overwrites it',
  );
}

function whatIsThere(file: string): string {
  try {
    const parsed = parseJobFile(readFileSync(file, 'utf8'), { file, env: process.env });
    if (parsed.ok)
      return `job ${parsed.spec.name} on ${formatSlices(parsed.spec)}, command ${commandSummary(parsed.spec)}`;
    return asTyped(`it is no good job file (jobctl validate ${shellQuote(file)} says why)`);
  } catch {
    return 'it cannot be read as a file';
  }
}

async function answered(folder: string, flags: InitFlags, found: FoundProgram, isAsked: boolean): Promise<Answers> {
  const ask = async (flag: string | undefined, question: string, usual: string): Promise<string> =>
    flag ?? ((isAsked && (await answerTo(`${question} [${usual}] `))) || usual);
  const run = flags.run ?? (await ask(undefined, 'Command', usualCommand(folder, found, isAsked)));
  if (flags.machines !== undefined) return { run, place: flags.machines };
  const tpu = await ask(flags.tpu, 'Type of TPU slice, such as v5litepod-16 or v6e-8', DEFAULT_TPU);
  const zone = await ask(flags.zone, 'Zone', defaultZone(tpu));
  return { run, place: { tpu, zone } };
}

/** @throws CliError if no program is found, or several may be meant and the user cannot be asked */
function usualCommand(folder: string, { program, candidates }: FoundProgram, isAsked: boolean): string {
  const first = program ?? (isAsked ? candidates[0] : undefined);
  if (first !== undefined) return `python3 ${shellQuote(first)}`;
  const example = "name the command: jobctl init --run 'python3 train.py'";
  if (candidates.length === 0)
    throw new CliError(
      ExitCode.Usage,
      `${folder}: no Python program is there`,
      `looked for train.py and *.py; ${example}`,
    );
  const several = candidates.slice(0, 10).join(', ');
  throw new CliError(ExitCode.Usage, `${folder}: which program is meant is not known`, `it may be ${several}`, example);
}

type Spec = Extract<ReturnType<typeof parseJobFile>, { ok: true }>['spec'];

function report(
  file: string,
  spec: Spec,
  { environment, hasDockerfile, outputs, unread }: FoundProgram,
): readonly string[] {
  const { chips, hosts } = askedSize(spec);
  const jobctl = typedCommand();
  const path = shellQuote(file);
  const stored = outputs.length === 0 ? '$JOBCTL_OUTPUT_DIR' : outputs.join(', ');
  return [
    `${file} is written:`,
    `  ${commandSummary(spec)}`,
    'machines' in spec
      ? `  ${machinesText(spec.machines)}`
      : `  ${formatSlices(spec)} (${count(chips, 'chip')} on ${count(hosts, 'host')})`,
    ...(environment === undefined ? [] : [`  ${environment.file} is installed on every host`]),
    ...(hasDockerfile ? ['  the Dockerfile is not used: the job file says how an image is named'] : []),
    outputs.length === 0
      ? `  files in ${stored} are stored when the command ends; ${jobctl} download JOB brings them`
      : `  ${stored}: stored every 5 minutes, and put back after a preemption; ${jobctl} download JOB brings it`,
    ...(unread.length === 0
      ? []
      : [
          `  writes to a name that init cannot read: ${placesText(unread)}; add it to outputs.paths, or it is lost with the hosts`,
        ]),
    ...('machines' in spec ? onMachines(jobctl, path) : onTpu(jobctl, path)),
  ];
}

const onMachines = (jobctl: string, path: string): readonly string[] => [
  'Name the machines in a pool file, and start a stack that reaches them ("A rack in five minutes" of docs/own-machines.md):',
  `  ${jobctl} dev up --machines pool.toml`,
  'Look whether they are well, and run it:',
  `  ${jobctl} doctor --machines`,
  `  ${jobctl} submit --wait ${path}`,
];

const onTpu = (jobctl: string, path: string): readonly string[] => [
  'Run it on the simulated Cloud TPU of this computer, which costs nothing:',
  `  ${jobctl} submit --local --wait ${path}`,
  'See what a preemption costs it, on the same simulation:',
  `  ${jobctl} rehearse ${path}`,
  'Run it on your own workers and Google project:',
  `  ${jobctl} submit --wait ${path}`,
];

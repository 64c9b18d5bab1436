import { BASTION_VARIABLES, JOBSPEC_KEYS, LAUNCH_FLAGS } from '../cli/job/migrating/bastion-keys.js';
import type { KeyRule } from '../cli/job/migrating/draft.js';
import { ASTERA_LINES, BASTION_LINES, type Example, JOBMAN_LINES, typedWords } from './migrating-examples.js';
import { isForeign } from '../cli/job/migrating/foreign-words.js';
import {
  JOBMAN_DIFFERENT,
  JOBMAN_LOST,
  JOBMAN_UNUSED,
  JOBMAN_RENAMED,
  JOBMAN_VARIABLES,
} from '../cli/job/migrating/import-jobman.js';
import { ASTERA_FLAGS } from '../cli/job/migrating/import-launch.js';
import { submitFlags } from '../cli/commands/verbs.js';
import type { Answer } from '../cli/job/migrating/launch-answer.js';
import { answerTo } from '../cli/job/migrating/typed-line.js';
import { BASTION_EVENTS } from '../domain/job-events/topics.js';
import { shellWords, splitShellWords } from '../domain/shell-quote.js';
import { userInfo } from 'node:os';

const HEAD = `# Coming from JobMan, AXLearn or launch

This page is for users of JobMan v2, of AXLearn's Bastion and of Astera's launch: what each command line, key and variable is called in jobctl, and what is lost.
The program that answers these command lines wrote the page, and each row is tested.

Type what you are used to, with \`jobctl\` in place of the old name. The line runs, or the message holds the line that does the same, with your own values in it:
\`\`\`
$ jobctl run exp-1 --force
jobctl run: this is JobMan's command line; with jobctl it is
  jobctl setup exp-1 --force
  jobctl restart exp-1
\`\`\`
\`jobctl import\` writes a job file from your file or command line, and says of each key whether it was kept, changed or lost:
\`\`\`sh
jobctl import jobman configs/quick_start.yaml -o quick-start.yaml
jobctl import bastion-jobspec spec.json -o bastion.yaml
jobctl import launch -- --instance_type=tpu-v4-32 --max_tries=3 -- python3 train.py
\`\`\`
The file goes to stdout without \`-o\`; a file that is there is not overwritten without asking. What is lost also stands in the file, as comments. A quota file of Bastion is read unchanged ([quota.md](quota.md)).
`;

const JOBMAN = `## JobMan v2

Its job files run as they are: \`jobctl create configs/quick_start.yaml\`. A relative path in one is looked up beside the file, and if it is not there, in the current folder, where JobMan looks. If both exist and differ, the one beside the file is taken, and a warning names both.`;

const OTHERS = `
## Files of other tools

\`jobctl validate FILE\` says what a task of SkyPilot, a configuration of dstack, a manifest of Kubernetes, a batch script or a script that calls gcloud or xpk is, and prints the lines of a job file that ask for the same machines:
\`\`\`
$ jobctl validate task.yaml
task.yaml: this is a task of SkyPilot, and a job file (YAML) is wanted
  in a job file it is:
    tpu: {accelerator: v6e-8, zones: [us-east1-d, europe-west4-a], pricing: spot}
    command: {run: python3 train.py}
  not carried over:
    resources.disk_size: hosts have the disk of their type
\`\`\`
An array of a batch script (\`sbatch --array=0-15%4\`, PBS \`-J\`, Grid Engine \`-t\` and \`-tc\`) is \`--sweep env.SLURM_ARRAY_TASK_ID=0..15 --set array.max_parallel=4\`, in the message too: one job for each task, under one id ([arrays](job-file.md#arrays)). Slurm's \`%A_%a\` is \`$JOBCTL_JOB_ID\`, and \`SLURM_ARRAY_TASK_COUNT\` is \`$JOBCTL_ARRAY_COUNT\`. A loop around \`sky jobs launch --env LR=..\` becomes \`--sweep env.LR=0.1,0.01\`.

A dependency of a batch script (\`sbatch --dependency=afterok:ID\`, PBS \`-W depend=\`, Grid Engine \`-hold_jid\`) is \`after\` in the job file, or \`--set after.ok=ID\`: \`afterok\` is \`after.ok\`, \`afterany\` is \`after.any\`, \`afternotok\` is \`after.not_ok\`. A job that can never begin does not wait for ever, as Slurm's does (\`DependencyNeverSatisfied\`): it ends as cancelled. The documents of a pipeline of SkyPilot are [jobs of one file](job-file.md#jobs-that-wait-for-others).

A line of \`scrontab\` (Slurm) or of a crontab that submits a job is \`jobctl schedule create NAME job.yaml --cron '30 2 * * *' --time-zone ZONE\`; \`--dependency=singleton\` is the default there, \`--overlap skip\` ([jobs at set times](job-file.md#jobs-at-set-times)).

Managed jobs of SkyPilot are jobs of jobctl, and the pool is their queue. Each of these lines is answered by its own:

| there | here |
| --- | --- |
| \`sky jobs launch task.yaml\` | \`jobctl submit job.yaml\` |
| \`sky jobs queue\` | \`jobctl list\`; \`jobctl why JOB\` says why one waits |
| \`sky jobs logs ID\` | \`jobctl logs JOB --follow\` |
| \`sky jobs cancel ID\` | \`jobctl cancel JOB\` |
| a pool of workers (\`sky jobs pool apply\`) | \`array: {max_parallel: 4, warm: true}\`: members that hand on their slices ([arrays](job-file.md#warm-slices)) |

Machines to work on, which are given back when idle, are \`jobctl workspace\` ([a workspace](workspace.md)):

| there | here |
| --- | --- |
| \`sky launch -i 30 --down task.yaml\`, \`sky autostop -i 30 --down\` | \`jobctl workspace job.yaml --idle 30m\`. SkyPilot counts minutes without jobs and SSH sessions; here logins, accelerators and load count |
| \`ssh CLUSTER\`, \`code --remote ssh-remote+CLUSTER\` | the same with the job's id, after \`--ssh-config\` |
| \`sky stop\`, \`sky start\` | \`jobctl stop\`, \`jobctl resume\`: machines are kept for \`timeouts.stop\`. A disk does not outlive its machine |
| \`type: dev-environment\` of dstack, \`inactivity_duration: 2h\` | \`workspace: {idle: 2h}\` in a job file without \`command\`; \`jobctl validate FILE\` writes it |
| a VM of JobMan that is kept by hand | \`jobctl workspace job.yaml --for 8h\` |

\`..\` stands for what the file does not say. Nothing is submitted. Values are read as the other tool reads them: in YAML of Python tools \`1e-5\` is a text and \`yes\` is True, and \`$(NAME)\` of a manifest is filled in. A program that a line would leave in the background (\`nohup .. &\`, tmux) is the command itself, since a job ends with its command.
`;

/** Returns the text of docs/migrating.md, before it is formatted. */
export function migratingPage(): string {
  return [
    HEAD,
    JOBMAN,
    linesTable(JOBMAN_LINES),
    '| key of a JobMan file | key of jobctl | what is different, or lost |\n| --- | --- | --- |',
    ...[...JOBMAN_RENAMED, ...JOBMAN_DIFFERENT, ...JOBMAN_LOST, ...JOBMAN_UNUSED, ...JOBMAN_VARIABLES].map(keyRow),
    "\n## AXLearn's Bastion\n\nA `launch` line runs as the `jobctl submit` line that is shown, if nothing of the job is lost; a job spec (JSON) becomes a job file by `jobctl import bastion-jobspec`. A spec whose command is a `launch run` line is read as that line.",
    linesTable(BASTION_LINES),
    '| flag of `launch`, or variable | key of jobctl | what is different, or lost |\n| --- | --- | --- |',
    ...[...LAUNCH_FLAGS, ...BASTION_VARIABLES].map(keyRow),
    '\n| key of a job spec | key of jobctl | what is different, or lost |\n| --- | --- | --- |',
    ...JOBSPEC_KEYS.map(keyRow),
    '\nEvents that Bastion published to a queue are told by `notify` ([notify.md](notify.md)); `jobctl logs --job` shows all of them:\n',
    "| event of Bastion's | `notify.on` |\n| --- | --- |",
    ...Object.entries(BASTION_EVENTS).map(([event, word]) => row(code(event), code(word))),
    "\n## Astera's launch\n\n`jobctl launch` takes the same flags; `--dry-run` prints the job file that a line stands for. It follows the job's log, as launch did; `--no-wait` does not. A line with `--gpus` also needs `--gpu-type`, one with `--execution ray` also `--ray-version`, unless the context has them.\n\nThe image is built where `--build` says ([build.md](build.md)): for pods and Ray in the cluster, from the commit on its remote, unless it says `local`. It is pushed to `--image`, or under the name of the folder to the registry of the context (`jobctl context set NAME --registry ghcr.io/team`) or of `JOBCTL_REGISTRY`.",
    linesTable(ASTERA_LINES),
    '| flag of `launch submit` | key of jobctl | what is different, or lost |\n| --- | --- | --- |',
    ...ASTERA_FLAGS.map(keyRow),
    OTHERS,
  ].join('\n');
}

function linesTable(examples: readonly Example[]): string {
  return ['\n| command line | with jobctl | |', '| --- | --- | --- |', ...examples.map(lineRow), ''].join('\n');
}

function lineRow(example: Example): string {
  const words = splitShellWords(typedWords(example)) ?? [];
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const answer = isForeign(own)
    ? answerTo(own, end === -1 ? undefined : words.slice(end + 1), submitFlags())
    : undefined;
  if (answer === undefined)
    return row(code(example.theirs), code(`jobctl ${typedWords(example)}`), example.note ?? 'runs');
  const lines = answer.runs === undefined ? (answer.lines ?? []) : [`jobctl ${shellWords(answer.runs)}`];
  const notes = [
    said(answer),
    ...(answer.notes ?? []).filter((note) => !/^(lost|changed): /.test(note)),
    ...(example.note === undefined ? [] : [example.note]),
  ];
  return row(code(example.theirs), lines.map(neutral).map(code).join('<br>'), notes.map(inCell).join('<br>'));
}

function said({ runs, lines = [], notes = [] }: Answer): string {
  if (runs !== undefined)
    return notes.some((note) => note.startsWith('lost: ')) ? 'runs, and names what is lost' : 'runs';
  if (lines.length === 0) return 'the message says that jobctl has none';
  return notes.some((note) => note.startsWith('lost: '))
    ? 'the message holds the line, and names what is lost'
    : 'the message holds the line';
}

/** Removes what depends on the user or the place, so that the page is the same for everybody who writes it. */
const neutral = (line: string): string =>
  line.replaceAll(` --user ${userInfo().username} `, ' --user me ').replaceAll('npx jobctl', 'jobctl');

const keyRow = ({ key, to, note }: KeyRule): string =>
  row(code(key), to === undefined ? '' : code(to), inCell(note ?? 'the same'));
const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const code = (text: string): string => (text.startsWith('(') ? text : `\`${text.replaceAll('|', '\\|')}\``);
const inCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

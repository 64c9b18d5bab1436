import type { Environment } from '../../terminal/home.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type Diagnosis, type DoctorFlags, ok as good, warning, renderFindings } from '../../doctor/finding.js';
import { diagnoseMachines } from '../../doctor/machines.js';
import { diagnoseServer } from '../../doctor/server.js';
import { goodFiles, readFiles } from './quota-files.js';
import { cliKinds } from '../../doctor/machine-kinds.js';
import type { OutputFlag } from '../../terminal/options.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { printOut } from '../../terminal/print.js';

/** Runs checks before money is spent. Exit code 0: no check is FAILED; 1: one is. Only `--server` and `--machines` need Temporal. */
export async function doctor(
  file: string | undefined,
  flags: DoctorFlags,
  env: Environment = process.env,
): Promise<number> {
  if (flags.record !== undefined && flags.gcp !== true)
    throw new CliError(ExitCode.Usage, '--record: records what Google answers', 'say --gcp too');
  if (flags.quota !== undefined) {
    const diagnosis = diagnoseQuotaFile(flags.quota);
    print(diagnosis, flags.output);
    return isOk(diagnosis) ? ExitCode.Done : ExitCode.Failed;
  }
  const asked = doctors().find(({ flag }) => flags[flag] === true);
  if (asked === undefined) throw nothingToLookAt();
  const diagnosis = await asked.diagnose(file, flags, env);
  print(diagnosis, flags.output);
  return isOk(diagnosis) ? ExitCode.Done : ExitCode.Failed;
}

/** Reports the warnings of `jobctl quota validate` as findings: members that match more users than they seem to. */
function diagnoseQuotaFile(file: string): Diagnosis {
  const { warnings } = goodFiles(readFiles(file, undefined, 'jobctl doctor --quota takes the path of a quota file'));
  const findings = warnings.map((text) => {
    const [what = '', ...remedy] = text.split('\n');
    return warning('quota file', what, ...(remedy.length === 0 ? [] : [remedy.map((line) => line.trim()).join('\n')]));
  });
  return { account: { quotaFile: file }, findings: findings.length === 0 ? [good('quota file', file)] : findings };
}

const SERVER = {
  flag: 'server',
  looksAt: 'the Temporal server: whose its task queue is, and its workers',
  diagnose: diagnoseServer,
} as const;

const MACHINES = {
  flag: 'machines',
  looksAt: "a pool's own machines: driver, memory errors, kernel log, disk, clock, ports between them",
  diagnose: diagnoseMachines,
} as const;

const doctors = () => [
  ...cliKinds().flatMap(({ doctor, doctorFlag }) => (doctor ? [{ ...doctor, flag: doctorFlag }] : [])),
  MACHINES,
  SERVER,
];

function nothingToLookAt(): CliError {
  return new CliError(
    ExitCode.Usage,
    'jobctl doctor: what is to be looked at?',
    ...doctors().map(({ flag, looksAt }) => `--${flag}: ${looksAt}`),
    '--quota FILE: whom the members of a quota file mean',
  );
}

const isOk = ({ findings }: Diagnosis): boolean => !findings.some(({ state }) => state === 'failed');

function print(diagnosis: Diagnosis, output: OutputFlag['output']): void {
  const { account, findings } = diagnosis;
  const text =
    output === 'json'
      ? JSON.stringify({ ...account, ok: isOk(diagnosis), findings }, null, 2)
      : renderFindings(findings, terminalWidth(process.stdout)).join('\n');
  printOut(`${text}\n`);
}

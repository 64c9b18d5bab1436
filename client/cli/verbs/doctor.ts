import type { Environment } from '../dev/home.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import type { Diagnosis, DoctorFlags } from '../doctor/diagnosis.js';
import { cliKinds } from '../machine-kinds.js';
import type { OutputFlag } from '../options.js';
import { renderFindings } from '../render/findings.js';
import { terminalWidth } from '../render/columns.js';

/** Looks before money is spent. Exit code 0: nothing is FAILED; 1: something is. Needs nothing of Temporal. */
export async function doctor(
  file: string | undefined,
  flags: DoctorFlags,
  env: Environment = process.env,
): Promise<number> {
  const kind = cliKinds().find(({ doctor }) => flags[doctor.flag] === true);
  if (kind === undefined) throw nothingToLookAt();
  const diagnosis = await kind.doctor.diagnose(file, flags, env);
  print(diagnosis, flags.output);
  return isOk(diagnosis) ? ExitCode.Done : ExitCode.Failed;
}

function nothingToLookAt(): CliError {
  return new CliError(
    ExitCode.Usage,
    'jobctl doctor: what is to be looked at?',
    ...cliKinds().map(({ doctor }) => `--${doctor.flag}: ${doctor.looksAt}`),
  );
}

const isOk = ({ findings }: Diagnosis): boolean => !findings.some(({ state }) => state === 'failed');

function print(diagnosis: Diagnosis, output: OutputFlag['output']): void {
  const { account, findings } = diagnosis;
  const text =
    output === 'json'
      ? JSON.stringify({ ...account, ok: isOk(diagnosis), findings }, null, 2)
      : renderFindings(findings, terminalWidth(process.stdout)).join('\n');
  process.stdout.write(`${text}\n`);
}

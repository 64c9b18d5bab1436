import { acceleratorOf, chipsOfJob, formatSlices } from '../../../domain/job-units.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { readJobFile } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { commandSummary, count } from '../render/job-header.js';
import { renderTable } from '../render/table.js';

export interface ValidateFlags extends OutputFlag {
  readonly set?: readonly string[];
}

export function validate(file: string, { set = [], output }: ValidateFlags): number {
  if (output === 'json') return validateAsJson(file, set);
  const { spec, warnings } = readJobFile(file, { set });
  for (const warning of warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
  process.stdout.write(`${file}: ok\n${essentials(spec).join('\n')}\n`);
  return ExitCode.Done;
}

/** Problems are the answer here, so they go to stdout too. */
function validateAsJson(file: string, set: readonly string[]): number {
  try {
    const { spec, warnings } = readJobFile(file, { set });
    print({ ok: true, spec, warnings });
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    print({ ok: false, message: error.message });
    return error.exitCode;
  }
}

const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

export function essentials(spec: JobSpec): readonly string[] {
  const { tpu, modules, command } = spec;
  const hosts = acceleratorOf(spec).hosts * spec.slices;
  const rows: (readonly [string, string])[] = [
    ['slice', `${formatSlices(spec)}: ${count(chipsOfJob(spec), 'chip')} on ${count(hosts, 'host')}`],
    ['pricing', `${tpu.pricing === 'any' ? 'any' : tpu.pricing}, by ${tpu.allocationMode}`],
    ['zones', tpu.zones.length === 0 ? "the worker's" : tpu.zones.join(', ')],
    ['runtime', tpu.runtimeVersion],
    ['modules', modules.length === 0 ? 'none' : modules.join(', ')],
    ['command', commandSummary(command)],
  ];
  return renderTable(rows.map(([key, value]) => [`  ${key}`, value]));
}

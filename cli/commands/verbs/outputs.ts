import { openReader } from '../../place/connect.js';
import { type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { HostChoice } from '../../jobs/hosts/host-options.js';
import type { OutputFlag } from '../../terminal/options.js';
import { chosenOutputs } from '../../jobs/outputs/chosen-outputs.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';
import { sizeText, utcMinute } from '../../terminal/render/quantities.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';

export interface OutputsFlags extends ContextFlags, OutputFlag {
  readonly attempt?: number;
  readonly host?: HostChoice;
}

/** `outputs JOB`: lists the files that its hosts stored. */
export async function outputs(job: string, flags: OutputsFlags): Promise<number> {
  const context = resolveContext(flags);
  const store = await openReader(storeOf(context, `the outputs of ${job} cannot be read`));
  const { chosen, notes } = await chosenOutputs(store, context, job, flags, 'all');
  if (flags.output === 'json') {
    const hosts = chosen.map(({ attempt, host, manifest }) => ({ attempt, host, ...manifest }));
    printOut(`${JSON.stringify({ job, hosts }, null, 2)}\n`);
    return ExitCode.Done;
  }
  const rows = chosen.flatMap(({ attempt, host, manifest: { entries } }) =>
    entries.map((entry) => [
      entry.kind === 'file' ? sizeText(entry.size) : entry.kind,
      String(host),
      String(attempt),
      entry.kind === 'file' ? `${utcMinute(entry.modifiedAt)}Z` : '-',
      oneLine(entry.kind === 'link' ? `${entry.path} -> ${entry.target}` : entry.path),
    ]),
  );
  const table = renderTable([['SIZE', 'HOST', 'ATTEMPT', 'WRITTEN', 'PATH'], ...rows], terminalWidth(process.stdout));
  printOut(`${table.join('\n')}\n`);
  for (const note of notes) printErr(`${note}\n`);
  if (process.stdout.isTTY) printErr(asTyped(`\nTo get them: jobctl download ${job}\n`));
  return ExitCode.Done;
}

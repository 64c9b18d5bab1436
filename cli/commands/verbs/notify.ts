import type { NoticesResult } from '../../../contract/notices.js';
import { type NotifyTarget, targetText } from '../../../domain/notify.js';
import { readJobFile } from '../../job/job-file.js';
import { userOf } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';

export interface NotifyTestFlags extends ContextFlags, OutputFlag {
  readonly channel?: readonly string[];
  readonly pool?: string;
  readonly set?: readonly string[];
}

/** @returns 1 if a target was not told */
export async function notifyTest(file: string | undefined, flags: NotifyTestFlags): Promise<number> {
  const { pool, project, targets } = await toldBy(file, flags);
  const context = resolveContext(flags);
  const by = userOf(context);
  const result = await withClient(context, (client) => client.testNotify({ pool, project, by, targets }));
  print(result, flags);
  return result.lines.every(({ givenUp }) => givenUp === 0) ? ExitCode.Done : ExitCode.Failed;
}

interface Tested {
  readonly pool: string;
  readonly project: string;
  readonly targets: readonly NotifyTarget[];
}

async function toldBy(file: string | undefined, { channel = [], pool, set = [] }: NotifyTestFlags): Promise<Tested> {
  const channels = channel.map((name) => ({ channel: name }));
  if (file === undefined) {
    if (channels.length === 0) throw new CliError(ExitCode.Usage, 'notify test: takes a job file, or --channel NAME');
    return { pool: pool ?? 'default', project: '', targets: channels };
  }
  const { spec } = await readJobFile(file, { set, isDry: true, isZoneStrict: true });
  const targets = [...(spec.notify ?? []).map(({ to }) => to), ...channels];
  if (targets.length === 0)
    throw new CliError(ExitCode.Usage, `${file}: has no notify, so nobody would be told`, 'docs/notify.md shows one');
  return { pool: pool ?? spec.pool, project: spec.project ?? '', targets };
}

function print(result: NoticesResult, { output }: OutputFlag): void {
  if (output === 'json') return printOut(`${JSON.stringify(result, null, 2)}\n`);
  for (const { target, givenUp, problem } of result.lines)
    if (givenUp === 0) printOut(`told: ${targetText(target)}\n`);
    else printErr(`not told: ${targetText(target)}: ${problem ?? ''}\n`);
}

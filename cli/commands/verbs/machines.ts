import type { MachineRow, MachinesAnswer, MachineVerb } from '../../../contract/machines.js';
import { asker } from '../../place/asker.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext, contextToChange } from '../../place/context.js';
import { DEV_LABEL } from '../../place/stack/context.js';
import type { OutputFlag } from '../../terminal/options.js';
import { renderTable, terminalWidth } from '../../terminal/render/columns.js';
import { printErr, printOut } from '../../terminal/print.js';

export interface MachinesFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly by?: string;
  readonly reason?: string;
  readonly claim?: string;
}

/** @returns 1 if a checked machine has a problem */
export async function machines(verb: MachineVerb, names: readonly string[], flags: MachinesFlags): Promise<number> {
  const { pool, reason, claim, output } = flags;
  if (claim === '')
    throw new CliError(
      ExitCode.Usage,
      '--claim is empty',
      '`jobctl machines ls` shows the claim of a machine that is foreign',
    );
  const context = verb === 'ls' ? resolveContext(flags) : contextToChange(flags);
  const { by } = asker(flags.by, context);
  const answer = await withClient(context, (client) =>
    client
      .machines(pool)
      .call({ verb, names, by, ...(reason !== undefined && { reason }), ...(claim !== undefined && { claim }) }),
  );
  if (output === 'json') printOut(`${JSON.stringify(answer, null, 2)}\n`);
  else if (answer.machines.length === 0)
    printErr(`pool ${pool} has no machines of its own: [[machines]] of its pool file names them\n`);
  else {
    if (answer.machines.some(({ isRehearsed }) => isRehearsed)) printErr(REHEARSED);
    printOut(`${table(answer).join('\n')}\n`);
  }
  return verb === 'check' && answer.machines.some(isUnwell) ? ExitCode.Failed : ExitCode.Done;
}

/** The heading for a rehearsal without own machines (docs/adr/0154). */
const REHEARSED = `${DEV_LABEL}: VMs on this computer, in place of the machines that no pool file names\n`;

const isUnwell = ({ state, problem }: MachineRow): boolean =>
  state === 'silent' || state === 'aside' || state === 'foreign' || (state === 'free' && problem !== undefined);

function table({ machines: rows }: MachinesAnswer): readonly string[] {
  const cells = rows.map((row) => [
    row.name,
    row.state,
    row.job ?? '-',
    acceleratorText(row),
    row.address,
    [row.problem ?? [], row.warning === undefined ? [] : `warning: ${row.warning}`, row.ended ?? []].flat().join('; '),
  ]);
  return renderTable([['MACHINE', 'STATE', 'JOB', 'HAS', 'ADDRESS', 'WHY'], ...cells], terminalWidth(process.stdout));
}

function acceleratorText({ accelerators, model }: MachineRow): string {
  const [first] = Object.entries(accelerators);
  if (first === undefined) return '-';
  return model === undefined ? `${first[1]} ${first[0]}` : `${first[1]} ${first[0]} (${model})`;
}

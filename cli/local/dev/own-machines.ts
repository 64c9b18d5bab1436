import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { MachineRow, MachinesAnswer } from '../../../contract/machines.js';
import { messageOf } from '../../../domain/errors.js';
import { sizeOf } from '../../../domain/machine-kinds/machines/words.js';
import { formatProblems } from '../../../domain/problem.js';
import { shellWords } from '../../../domain/shell-quote.js';
import { storePlaceProblem, storesProblem } from '../../../domain/store-place.js';
import { addUnits, type QuotaUnits } from '../../../domain/units.js';
import type { DevContext } from '../../place/stack/context.js';
import type { OwnMachinesAlone, StackRecord } from '../../place/stack/stack-record.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { writeWhole } from '../../terminal/file-on-disk.js';
import type { Environment, StackHome } from '../../terminal/home.js';
import { asTyped } from '../../terminal/print.js';

/** A stack of the user's own machines, and of nothing that is simulated or bought (docs/adr/0171). */
export interface OwnMachinesWish {
  readonly kind: 'machines';
  /** A folder or a bucket. Absent: unchanged, or a folder of the stack's own. */
  readonly bucket?: string;
  readonly endpoint?: string;
}

/** @throws CliError if the store's name is no store */
export function settleOwnMachines(
  {
    home,
    known,
    env,
  }: { readonly home: StackHome; readonly known: StackRecord | undefined; readonly env: Environment },
  wish: Pick<OwnMachinesWish, 'bucket' | 'endpoint'>,
): OwnMachinesAlone {
  if (known?.ownMachines !== undefined) return known.ownMachines;
  const { bucket = env['JOBCTL_BUCKET'] || pathToFileURL(home.storeDir).href } = wish;
  const { endpoint = env['JOBCTL_STORE_ENDPOINT'] || undefined } = wish;
  const problem = storePlaceProblem(bucket) ?? storesProblem({ bucket, endpoint })?.text;
  if (problem !== undefined) throw new CliError(ExitCode.Usage, `--bucket: ${problem}`);
  return { bucket, ...(endpoint !== undefined && { endpoint }) };
}

/**
 * The text of a quota file by which everybody may use all machines of the pool file.
 * @throws CliError if the pool file is wrong or names no machine
 */
export async function everybodysQuota(poolFile: string): Promise<string> {
  const { parsePoolFile } = await import('../../../quota/files/pool-file.js');
  const parsed = parsePoolFile(readFileSync(poolFile, 'utf8'), poolFile, 'default');
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  const units = parsed.machines.reduce<QuotaUnits>((sum, { accelerators }) => {
    const [first] = Object.entries(accelerators);
    const has = first && { accelerator: { type: first[0], perHost: first[1] } };
    return addUnits(sum, sizeOf({ hosts: 1, ...has }, 1).units);
  }, {});
  if (parsed.machines.length === 0)
    throw new CliError(
      ExitCode.Usage,
      `${poolFile}: names no machine`,
      'write [[machines]] with name, address and user for each: docs/own-machines.md',
    );
  const lines = (share: (units: number) => string): readonly string[] =>
    Object.entries(units).map(([type, count]) => `${type} = ${share(count)}`);
  return [
    `# Everybody may use all machines of ${JSON.stringify(poolFile)}. Each start of the stack writes this file anew.`,
    ...['[toml-schema]', 'version = "1"', '', '[[total_resources]]', ...lines(String), ''],
    ...['[project_membership]', 'everyone = [".*"]', '', '[project_resources.everyone]', ...lines((all) => `${all}.0`)],
    '',
  ].join('\n');
}

/** Whether the stack's quota is that of its pool file: no quota file was named. */
export const isEverybodys = (
  home: StackHome,
  { ownMachines, quotaFile }: Pick<StackRecord, 'ownMachines' | 'quotaFile'>,
) => ownMachines !== undefined && quotaFile === home.machinesQuotaFile;

/** Whether the pool file has the same machines as when the quota file was written. */
export async function isQuotaCurrent(home: StackHome, { poolFile }: Pick<StackRecord, 'poolFile'>): Promise<boolean> {
  try {
    return poolFile !== undefined && readFileSync(home.machinesQuotaFile, 'utf8') === (await everybodysQuota(poolFile));
  } catch {
    return false;
  }
}

export async function writeEverybodysQuota(home: StackHome, poolFile: string): Promise<string> {
  writeWhole(home.machinesQuotaFile, await everybodysQuota(poolFile), 0o644);
  return home.machinesQuotaFile;
}

const SHOWN = 8;

/** Asks every machine over SSH, and says of those that do not answer what to do. */
export async function tellMachines(context: DevContext, onProgress: (line: string) => void): Promise<void> {
  onProgress(NOBODY_IS_ASKED);
  let answer: MachinesAnswer;
  try {
    answer = await askMachines(context);
  } catch (error) {
    onProgress(asTyped(`The machines could not be asked (${messageOf(error)}); later: jobctl machines ls`));
    return;
  }
  for (const line of machineLines(answer.machines, context.ssh)) onProgress(line);
}

const NOBODY_IS_ASKED =
  'Every login of this computer can submit jobs to these machines: the Temporal server here asks nobody who calls';

async function askMachines(context: DevContext): Promise<MachinesAnswer> {
  const [{ localContext }, { withClient }] = await Promise.all([
    import('../../place/context.js'),
    import('../../place/connect.js'),
  ]);
  return withClient(localContext(context, {}, {}), (client) =>
    client.machines().call({ verb: 'ls', names: [], by: 'dev up' }),
  );
}

/** Lines about machines that cannot be used, with those to paste. */
export function machineLines(
  rows: readonly MachineRow[],
  { publicKeyFile }: Pick<DevContext['ssh'], 'publicKeyFile'>,
): readonly string[] {
  const silent = rows.filter(({ state }) => state === 'silent');
  if (silent.length === 0) return [`All ${rows.length} machines answer`];
  const isLocked = ({ problem = '' }: MachineRow): boolean => problem.includes('refused the key');
  const off = silent.filter((row) => !isLocked(row));
  const locked = silent.filter(isLocked);
  const shown = (of: readonly MachineRow[], line: (row: MachineRow) => string): readonly string[] => [
    ...of.slice(0, SHOWN).map((row) => `  ${line(row)}`),
    ...(of.length > SHOWN ? [asTyped(`  .. and ${of.length - SHOWN} more: jobctl machines ls`)] : []),
  ];
  const told = (of: readonly MachineRow[], what: string): string => `${of.length} of ${rows.length} machines ${what}`;
  const offLines = [
    `${told(off, 'do not answer')}; are they on, their addresses right, and SSH open to this computer?`,
    ...shown(off, ({ name, address, problem = '' }) => `${name} (${address}): ${problem}`),
  ];
  const lockedLines = [
    `${told(locked, 'do not know the key of this stack')}. Let it log in:`,
    ...shown(locked, copyLine(publicKeyFile)),
    'or add this line to ~/.ssh/authorized_keys of these users there:',
    `  ${readFileSync(publicKeyFile, 'utf8').trim()}`,
  ];
  return [
    ...(off.length > 0 ? offLines : []),
    ...(locked.length > 0 ? lockedLines : []),
    asTyped('Then: jobctl machines check'),
  ];
}

const copyLine =
  (publicKeyFile: string) =>
  ({ user, address }: MachineRow): string => {
    const at = address.lastIndexOf(':');
    const [host, port] = [address.slice(0, at), address.slice(at + 1)];
    const way = port === '22' ? [] : ['-p', port];
    return shellWords(['ssh-copy-id', '-f', '-i', publicKeyFile, ...way, `${user}@${host}`]);
  };

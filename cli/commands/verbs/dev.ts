import { largest } from '../../../domain/extremes.js';
import { ask } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { stackHome } from '../../terminal/home.js';
import { billedLine, type PartName } from '../../place/stack/stack-record.js';
import type { LogLine, DevStatus } from '../../local/dev/status.js';
import type { CloudWish } from '../../local/dev/real-cloud.js';
import type { OutputFlag } from '../../terminal/options.js';
import { tellLine, asTyped, printOut } from '../../terminal/print.js';

/** Exit code of `jobctl dev status` for a stack that is not completely up. */
const EXIT_NOT_UP = 3;

interface UpFlags {
  readonly quota?: string | false;
  readonly codecKey?: string | false;
  readonly poolFile?: string | false;
  readonly machines?: string;
  readonly temporalAddress?: string | false;
  readonly port?: number;
  readonly uiPort?: number;
  readonly cloud?: 'rehearsal' | 'gcp';
  readonly googleProject?: string;
  readonly bucket?: string;
  readonly zone?: string;
  readonly createBucket?: true;
  readonly tpuEndpoint?: string;
  readonly googleApiEndpoint?: string;
  readonly storeEndpoint?: string;
  readonly sshPort?: number;
  readonly iAmAloneHere?: boolean;
}

export async function up(flags: UpFlags): Promise<void> {
  const { devUp } = await import('../../local/dev/up.js');
  await devUp({
    onProgress: tellLine,
    ...cloudWish(flags),
    ...(process.stdin.isTTY ? { confirm: ask } : {}),
    ...wish('quotaFile', flags.quota),
    ...wish('codecKey', flags.codecKey),
    ...wish('poolFile', flags.machines ?? flags.poolFile),
    ...wish('temporalAddress', flags.temporalAddress),
    // The variable of a worker. Empty: none any more.
    ...wish('priceFile', process.env['JOBCTL_PRICE_FILE'] === '' ? false : process.env['JOBCTL_PRICE_FILE']),
    ...(flags.port === undefined ? {} : { temporalPort: flags.port }),
    ...(flags.uiPort === undefined ? {} : { uiPort: flags.uiPort }),
  });
}

/** The cloud that the flags ask for. A flag of the real cloud needs `--cloud gcp`: ignoring it silently would mislead. */
function cloudWish(flags: UpFlags): { readonly cloud?: CloudWish } {
  if (flags.machines !== undefined) return { cloud: machinesWish(flags) };
  const { googleProject, bucket, zone, tpuEndpoint, googleApiEndpoint, storeEndpoint, sshPort, createBucket } = flags;
  const named = Object.fromEntries(
    Object.entries({ googleProject, bucket, zone, tpuEndpoint, googleApiEndpoint, storeEndpoint, sshPort }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const alone = flags.iAmAloneHere === undefined ? {} : { isAlone: flags.iAmAloneHere };
  const isNamed = Object.keys({ ...named, ...alone }).length > 0 || createBucket === true;
  if (flags.cloud !== 'gcp' && isNamed) throw needsRealCloud();
  if (flags.cloud === undefined) return {};
  if (flags.cloud === 'rehearsal') return { cloud: { kind: 'rehearsal' } };
  return { cloud: { kind: 'gcp', ...named, ...alone, ...(createBucket === true ? { isBucketWanted: true } : {}) } };
}

function needsRealCloud(): CliError {
  return new CliError(
    ExitCode.Usage,
    'jobctl dev up: --google-project, --bucket, --create-bucket, --zone and --i-am-alone-here are for --cloud gcp',
    'the rehearsal needs none of them, and --machines takes --bucket alone',
  );
}

/** `--machines FILE` is a stack without a cloud, which has a store all the same. */
function machinesWish(flags: UpFlags): CloudWish {
  const { cloud, poolFile, createBucket, bucket, storeEndpoint, iAmAloneHere, ...others } = flags;
  const { googleProject, zone, tpuEndpoint, googleApiEndpoint, sshPort } = others;
  const ofCloud = [cloud, createBucket, iAmAloneHere, googleProject, zone, tpuEndpoint, googleApiEndpoint, sshPort];
  if (ofCloud.some((flag) => flag !== undefined) || poolFile === false || typeof poolFile === 'string')
    throw new CliError(
      ExitCode.Usage,
      'jobctl dev up: --machines takes neither a cloud nor another pool file',
      'it names the pool file; --bucket names a store, which is a folder of the stack otherwise',
    );
  return {
    kind: 'machines',
    ...(bucket !== undefined && { bucket }),
    ...(storeEndpoint !== undefined && { endpoint: storeEndpoint }),
  };
}

/** The wish of `--x VALUE`, or null for `--no-x`. Commander gives `false` for `--no-x`, and `true` without either flag. */
function wish<Name extends string>(
  name: Name,
  flag: string | boolean | undefined,
): Partial<Record<Name, string | null>> {
  if (flag === undefined || flag === true) return {};
  return { [name]: flag === false ? null : flag } as Partial<Record<Name, string | null>>;
}

export async function down(flags: { readonly purge?: true; readonly yes?: true }): Promise<number> {
  const purge = flags.purge === true;
  const isSure = flags.yes === true;
  if (purge && !isSure && !(await isPurgeConfirmed())) {
    tellLine(
      asTyped(
        'Nothing was changed. To remove the data without a question: jobctl dev down --purge --yes (refused while jobs are open on real Cloud TPU or on your own machines)',
      ),
    );
    return ExitCode.Refused;
  }
  const { devDown } = await import('../../local/dev/down.js');
  await devDown({ onProgress: tellLine, purge, isSure, ...(process.stdin.isTTY ? { confirm: ask } : {}) });
  return ExitCode.Done;
}

/** Asks whether to purge. Without a terminal or an answer, there is no purge. */
async function isPurgeConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  return ask(`Remove all jobs, logs and data of ${stackHome().root}? [y/N] `);
}

export async function status({ output }: OutputFlag): Promise<number> {
  const { devStatus } = await import('../../local/dev/status.js');
  const found = await devStatus();
  printOut(output === 'json' ? `${JSON.stringify(found, null, 2)}\n` : statusText(found, Date.now()));
  return found.up ? ExitCode.Done : EXIT_NOT_UP;
}

/** Prints one row per part, then the address of the Web UI. */
export function statusText(status: DevStatus, now: number): string {
  if (status.parts.length === 0) return asTyped(`No stack in ${status.home}: start one with \`jobctl dev up\`\n`);
  const rows = status.parts.map(({ name, state, pid, address, since }) => [
    name,
    state,
    pid === null ? '-' : String(pid),
    address,
    since === null ? '-' : age(now - since),
  ]);
  const table = [['PART', 'STATE', 'PID', 'ADDRESS', 'AGE'], ...rows];
  const widths = table[0]?.map((_, column) => largest(table.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const server =
    status.uiUrl === null
      ? (status.login ?? `Temporal: ${status.temporalAddress}`)
      : `Temporal Web UI: ${status.uiUrl}`;
  const real =
    status.realCloud === undefined ? [] : [`${billedLine(status.realCloud)}; bucket ${status.realCloud.bucket}`];
  const own = status.ownMachines === undefined ? [] : [`Own machines, no cloud; store ${status.ownMachines.bucket}`];
  const reasons = status.parts.flatMap(({ name, reasons: why = [] }) => why.map((reason) => `${name}: ${reason}`));
  const metrics = status.metricsUrl === undefined ? [] : [`Metrics of the worker: ${status.metricsUrl}`];
  return [...lines, '', ...reasons, ...real, ...own, server, ...metrics, `State folder: ${status.home}`, ''].join('\n');
}

function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

export async function logs(
  part: PartName | undefined,
  flags: { readonly follow?: true; readonly tail: number },
): Promise<void> {
  const { devLogs } = await import('../../local/dev/status.js');
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  const print = ({ part: name, text }: LogLine): void =>
    printOut(part === undefined ? `${name.padEnd(9)} | ${text}\n` : `${text}\n`);
  await devLogs(
    {
      tail: flags.tail,
      ...(part === undefined ? {} : { part }),
      ...(flags.follow === true ? { follow: { signal: abort.signal } } : {}),
    },
    print,
  );
}

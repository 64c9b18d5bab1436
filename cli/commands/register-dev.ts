import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { ask } from '../terminal/ask.js';
import { CliError } from '../terminal/cli-error.js';
import { ExitCode } from '../terminal/exit-codes.js';
import { billedLine } from '../local/dev/billed-line.js';
import type { LogLine } from '../local/dev/logs.js';
import type { CloudWish } from '../local/dev/real-cloud.js';
import type { DevStatus } from '../local/dev/status.js';
import { PART_NAMES } from '../place/stack/stack-record.js';
import type { PartName } from '../place/stack/stack-record.js';
import { tellLine } from '../terminal/render/told-line.js';
import { asTyped } from '../terminal/typed-command.js';
import { printOut } from '../terminal/print.js';

/** Exit code of `jobctl dev status` for a stack that is not completely up. */
const EXIT_NOT_UP = 3;
const EXIT_REFUSED = 4;

interface UpFlags {
  readonly quota?: string | false;
  readonly codecKey?: string | false;
  readonly poolFile?: string | false;
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

/** Adds `dev up | down | status | logs`. Each verb loads its modules when it is used. */
export function registerDev(program: Command): void {
  const dev = program
    .command('dev')
    .description(
      'run a local stack in the background: a Temporal server, a worker and a simulated Cloud TPU (or the real one)',
    );
  registerUp(dev);
  registerDown(dev);
  registerStatus(dev);
  registerLogs(dev);
}

function registerUp(dev: Command): void {
  dev
    .command('up')
    .description('start every part of the stack that is not running')
    .option('--quota <file>', "a quota file (Bastion's TOML); remembered")
    .option('--no-quota', 'use the unlimited pool again')
    .option('--codec-key <reference>', 'encrypt what Temporal stores, with the key at file:///PATH; remembered')
    .option('--no-codec-key', 'stop encrypting; payloads that are encrypted stay readable here')
    .option('--pool-file <file>', "the pool's zones and defaults (TOML); remembered")
    .option('--no-pool-file', 'use no pool file any more')
    .option('--temporal-address <host:port>', 'use this Temporal server and start none; remembered')
    .option('--no-temporal-address', 'start a Temporal server in the stack again')
    .option('--port <number>', 'port of the Temporal server (default: a free one from 7233)', portNumber)
    .option('--ui-port <number>', 'port of the Web UI (default: a free one from 8233)', portNumber)
    .addOption(
      new Option('--cloud <cloud>', 'gcp is the REAL Cloud TPU, which is billed; remembered').choices([
        'rehearsal',
        'gcp',
      ]),
    )
    .optionsGroup('With --cloud gcp:')
    .option(
      '--google-project <id>',
      'JOBCTL_GOOGLE_PROJECT: the project (default: that of the credentials, or of gcloud)',
    )
    .option('--bucket <name>', 'JOBCTL_BUCKET: the bucket of logs and outcomes')
    .option('--create-bucket', 'make a bucket in the region of --zone, if --bucket is not given')
    .option('--zone <zone>', 'the zone of the slices')
    .option(
      '--i-am-alone-here',
      'nobody else can log in to this computer: run a Temporal server that any login may use; remembered',
    )
    .option('--no-i-am-alone-here', 'run one that asks who calls again')
    .addOption(new Option('--tpu-endpoint <host:port>', 'JOBCTL_TPU_ENDPOINT').hideHelp())
    .addOption(new Option('--google-api-endpoint <url>', 'JOBCTL_GOOGLE_API_ENDPOINT').hideHelp())
    .addOption(new Option('--store-endpoint <url>', 'JOBCTL_STORE_ENDPOINT').hideHelp())
    .addOption(new Option('--ssh-port <port>', 'of the hosts').argParser(portNumber).hideHelp())
    .addHelpText('after', UP_NOTES)
    .action(async (flags: UpFlags) => {
      const { devUp } = await import('../local/dev/up.js');
      await devUp({
        onProgress: tellLine,
        ...cloudWish(flags),
        ...(process.stdin.isTTY ? { confirm: ask } : {}),
        ...wish('quotaFile', flags.quota),
        ...wish('codecKey', flags.codecKey),
        ...wish('poolFile', flags.poolFile),
        ...wish('temporalAddress', flags.temporalAddress),
        ...(flags.port === undefined ? {} : { temporalPort: flags.port }),
        ...(flags.uiPort === undefined ? {} : { uiPort: flags.uiPort }),
      });
    });
}

const UP_NOTES = `
Examples:
  jobctl dev up --quota examples/quota.toml
  jobctl dev up --cloud gcp --google-project my-project --bucket my-jobs
`;

/** Any flag of the real cloud selects the real cloud: to ignore it silently would mislead. */
function cloudWish(flags: UpFlags): { readonly cloud?: CloudWish } {
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
    'the rehearsal needs none of them',
  );
}

/** Commander sets `true` if a `--no-x` is absent and `false` if it is present. */
function wish<Name extends string>(
  name: Name,
  flag: string | boolean | undefined,
): Partial<Record<Name, string | null>> {
  if (flag === undefined || flag === true) return {};
  return { [name]: flag === false ? null : flag } as Partial<Record<Name, string | null>>;
}

function registerDown(dev: Command): void {
  dev
    .command('down')
    .description('stop the stack; jobs, logs and data are kept for the next `dev up`')
    .option('--purge', 'remove the data too')
    .option('-y, --yes', 'do not ask; also stop while jobs are open on real Cloud TPU or on machines of your own')
    .addHelpText('after', DOWN_NOTES)
    .action(async (flags: { readonly purge?: true; readonly yes?: true }) => {
      const purge = flags.purge === true;
      const isSure = flags.yes === true;
      if (purge && !isSure && !(await isPurgeConfirmed())) {
        tellLine(asTyped('Nothing was changed. To remove the data without a question: jobctl dev down --purge --yes'));
        process.exitCode = EXIT_REFUSED;
        return;
      }
      const { devDown } = await import('../local/dev/down.js');
      await devDown({ onProgress: tellLine, purge, isSure, ...(process.stdin.isTTY ? { confirm: ask } : {}) });
    });
}

const DOWN_NOTES = `
Exit code 4: nothing was changed, because the question was not answered with yes, or because jobs or slices are open on real Cloud TPU,
which continue to be billed, or on machines of your own, where their commands go on.

Example:
  jobctl dev down --purge --yes
`;

/** Without a terminal or an answer there is no purge. */
async function isPurgeConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const { stackHome } = await import('../terminal/home.js');
  return ask(`Remove all jobs, logs and data of ${stackHome().root}? [y/N] `);
}

function registerStatus(dev: Command): void {
  dev
    .command('status')
    .description(`show which parts run, and where; exit with ${EXIT_NOT_UP} unless all are up`)
    .option('-o, --output <format>', 'text or json', outputFormat, 'text')
    .addHelpText('after', '\nExample:\n  jobctl dev status --output json\n')
    .action(async (flags: { readonly output: 'text' | 'json' }) => {
      const { devStatus } = await import('../local/dev/status.js');
      const status = await devStatus();
      printOut(flags.output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : statusText(status, Date.now()));
      if (!status.up) process.exitCode = EXIT_NOT_UP;
    });
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
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
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
  const reasons = status.parts.flatMap(({ name, reasons: why = [] }) => why.map((reason) => `${name}: ${reason}`));
  return [...lines, '', ...reasons, ...real, server, `State folder: ${status.home}`, ''].join('\n');
}

function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

function registerLogs(dev: Command): void {
  dev
    .command('logs')
    .description('print the output of the stack')
    .addArgument(new Argument('[part]', 'the part (default: all)').choices(PART_NAMES))
    .option('-f, --follow', 'follow until Ctrl-C')
    .option('--tail <lines>', 'lines from the end, of each part', lineCount, 100)
    .addHelpText('after', '\nExample:\n  jobctl dev logs worker -f --tail 20\n')
    .action(async (part: PartName | undefined, flags: { readonly follow?: true; readonly tail: number }) => {
      const { devLogs } = await import('../local/dev/logs.js');
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
    });
}

const MAX_PORT = 65_535;

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`a port is a number from 1 to ${MAX_PORT}.`);
}

function lineCount(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError('a number of lines, 0 or more.');
}

function outputFormat(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('text or json.');
}

import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { CLOCK_SCALE } from './clock.js';
import type { RehearsalOptions, Settings } from './index.js';
import { startRehearsal } from './index.js';
import { readSettingsFile } from './settings-file.js';

const USAGE = `Usage: rehearsal --state-dir DIR [--tpu-port N] [--rest-port N] [--store-port N] [--admin-port N]
                 [--metadata-port N] [--ssh-port N] [--subnet-octet 1..254] [--auth]
                 [--seed N] [--time-scale X] [--settings FILE]
A local Cloud TPU, its TPU VMs and a Cloud Storage. Prints its endpoints as one line of JSON when it is ready.
--auth: TLS on every API, and each call needs a token (docs/rehearsal.md).
--seed: queue times and ids that are drawn follow from it; a state folder that is there goes on with its own.
--time-scale: how many seconds pass in the cloud in one of yours, 0.001 to 10000000.
--settings: YAML or JSON, what POST /admin/configure takes: how long states last, capacity, quota.`;

const log = pino({ name: 'rehearsal' }, pino.destination(2));

class UsageError extends Error {
  override readonly name = 'UsageError';
}

function readOptions(argv: readonly string[]): RehearsalOptions {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      'state-dir': { type: 'string' },
      'tpu-port': number,
      'rest-port': number,
      'store-port': number,
      'admin-port': number,
      'ssh-port': number,
      'subnet-octet': number,
      'metadata-port': number,
      seed: number,
      'time-scale': number,
      settings: { type: 'string' },
      auth: { type: 'boolean', default: false },
    },
  });
  const stateDir = values['state-dir'];
  if (stateDir === undefined) throw new UsageError('--state-dir is missing');
  const scale = values['time-scale'];
  const entries = [
    ['seed', integer('--seed', values.seed, 0, 2 ** 32 - 1)],
    ['timeScale', scale === undefined ? undefined : fraction('--time-scale', scale)],
    ['delays', values.settings === undefined ? undefined : readSettings(values.settings)],
    ['tpuPort', integer('--tpu-port', values['tpu-port'], 0, 65_535)],
    ['restPort', integer('--rest-port', values['rest-port'], 0, 65_535)],
    ['storePort', integer('--store-port', values['store-port'], 0, 65_535)],
    ['adminPort', integer('--admin-port', values['admin-port'], 0, 65_535)],
    ['metadataPort', integer('--metadata-port', values['metadata-port'], 0, 65_535)],
    ['sshPort', integer('--ssh-port', values['ssh-port'], 1, 65_535)],
    ['subnetOctet', integer('--subnet-octet', values['subnet-octet'], 1, 254)],
  ].filter(([, value]) => value !== undefined);
  const given = Object.fromEntries(entries) as Omit<RehearsalOptions, 'stateDir'>;
  return { stateDir, ...given, ...(values.auth && { authentication: {} }) };
}

function integer(flag: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new UsageError(`${flag} ${text}: wanted a whole number from ${min} to ${max}`);
  }
  return value;
}

function fraction(flag: string, text: string): number {
  const value = Number(text);
  const { min, max } = CLOCK_SCALE;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${flag} ${text}: wanted a number from ${min} to ${max}`);
}

function readSettings(file: string): Partial<Settings> {
  try {
    return readSettingsFile(file);
  } catch (error) {
    throw new UsageError(`--settings ${(error as Error).message}`, { cause: error });
  }
}

function isUsageError(error: unknown): error is Error {
  return error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true;
}

async function main(): Promise<void> {
  const rehearsal = await startRehearsal(readOptions(process.argv.slice(2)));
  process.stdout.write(`${JSON.stringify(rehearsal.endpoints)}\n`);
  log.info({ endpoints: rehearsal.endpoints }, 'ready');
  const stop = (signal: string): void => {
    log.info({ signal }, 'stopping: VMs are killed, state is kept');
    rehearsal.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

main().catch((error: unknown) => {
  if (isUsageError(error)) {
    process.stderr.write(`rehearsal: ${error.message}\n${USAGE}\n`);
    process.exit(2);
  }
  process.stderr.write(`rehearsal: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

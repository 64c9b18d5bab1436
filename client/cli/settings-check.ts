import type { Environment } from './dev/home.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import { showValue } from '../../domain/problem.js';

/** Flags of a command line that say where something is. */
type PlaceFlags = Readonly<
  Partial<Record<'temporalAddress' | 'bucket' | 'storeEndpoint' | 'tpuRestEndpoint', string | undefined>>
>;

/** Where a setting comes from, and what is wrong with a value of it: the reason and the remedy. */
interface Setting {
  readonly flag: keyof PlaceFlags;
  readonly named: string;
  readonly variable: string;
  readonly wrong: (value: string) => readonly string[] | undefined;
}

const SETTINGS: readonly Setting[] = [
  { flag: 'temporalAddress', named: '--temporal-address', variable: 'TEMPORAL_ADDRESS', wrong: wrongAddress },
  { flag: 'bucket', named: '--bucket', variable: 'JOBCTL_BUCKET', wrong: wrongBucket },
  { flag: 'storeEndpoint', named: '--store-endpoint', variable: 'JOBCTL_STORE_ENDPOINT', wrong: wrongUrl },
  { flag: 'tpuRestEndpoint', named: '--tpu-rest-endpoint', variable: 'JOBCTL_TPU_REST_ENDPOINT', wrong: wrongUrl },
];

/** @throws CliError for a setting that no server can have: its client would say so in its own words, or much later */
export function checkSettings(flags: PlaceFlags, env: Environment): void {
  for (const { flag, named, variable, wrong } of SETTINGS) {
    const value = flags[flag] ?? env[variable];
    if (value === undefined || value === '') continue;
    const [what, ...remedy] = wrong(value) ?? [];
    if (what === undefined) continue;
    const from = flags[flag] === undefined ? variable : named;
    throw new CliError(ExitCode.Usage, `${from}: ${showValue(value)} ${what}`, ...remedy);
  }
}

function wrongAddress(value: string): readonly string[] | undefined {
  const bare = value.replace(/^[a-z]+:\/\//i, '').replace(/\/.*$/, '');
  if (bare !== value) return ['is a URL, and a host and port are wanted', `write ${bare}`];
  const port = /:(\d+)$/.exec(value)?.[1];
  if (port === undefined || (Number(port) > 0 && Number(port) <= 65_535)) return undefined;
  return [`has no port that exists: ${port}`, 'a port is a number from 1 to 65535; Temporal listens at 7233'];
}

function wrongBucket(value: string): readonly string[] | undefined {
  if (!/^gs:|\//.test(value)) return undefined;
  return ['is not the name of a bucket', `the name alone: ${value.replace(/^gs:\/*/, '').replace(/\/.*$/, '')}`];
}

function wrongUrl(value: string): readonly string[] | undefined {
  return /^https?:/.test(value) && URL.canParse(value) ? undefined : ['is not a URL', 'such as http://127.0.0.1:4443'];
}

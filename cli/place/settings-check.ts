import { existsSync } from 'node:fs';
import type { Environment } from '../terminal/home.js';
import { addressProblem } from '../../client/http/server-options.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { isPlaceProblem, readStorePlace } from '../../domain/store-place.js';
import { showValue } from '../../domain/problem.js';

/** Flags that name the place of a server or store. */
type PlaceFlags = Readonly<
  Partial<Record<'temporalAddress' | 'server' | 'bucket' | 'storeEndpoint' | 'tpuRestEndpoint', string | undefined>>
>;

/** Source of a setting, and a check of its value that returns the reason and the remedy. */
interface Setting {
  readonly flag: keyof PlaceFlags;
  readonly named: string;
  readonly variable: string;
  readonly wrong: (value: string) => readonly string[] | undefined;
}

const SETTINGS: readonly Setting[] = [
  { flag: 'temporalAddress', named: '--temporal-address', variable: 'TEMPORAL_ADDRESS', wrong: wrongAddress },
  { flag: 'server', named: '--server', variable: 'JOBCTL_SERVER', wrong: wrongServer },
  { flag: 'bucket', named: '--bucket', variable: 'JOBCTL_BUCKET', wrong: wrongBucket },
  { flag: 'storeEndpoint', named: '--store-endpoint', variable: 'JOBCTL_STORE_ENDPOINT', wrong: wrongUrl },
  { flag: 'tpuRestEndpoint', named: '--tpu-rest-endpoint', variable: 'JOBCTL_TPU_REST_ENDPOINT', wrong: wrongUrl },
];

/** @throws CliError for a value that no server can have: its client would report it in other words, or much later */
export function checkSettings(flags: PlaceFlags, env: Environment): void {
  checkTemporalVariables(env);
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
  const bare = value.replace(/^[a-z]+:\/\//i, '').split('/')[0] ?? '';
  if (bare !== value) return ['is a URL, and a host and port are wanted', `write ${bare}`];
  if (/\s/.test(value)) return ['has a blank in it', ADDRESS];
  if (/^\[[\da-f:.]+\](:\d+)?$/i.test(value)) return portProblem(/^\[[^\]]*\]:(.*)$/.exec(value)?.[1]);
  const [host = '', port, ...more] = value.split(':');
  if (more.length > 0) return ['has more than one colon', `${ADDRESS}; an IPv6 address stands in brackets: [::1]:7233`];
  return host === '' ? ['names no host', ADDRESS] : portProblem(port);
}

const ADDRESS = 'HOST:PORT is wanted, such as temporal.example.com:7233';

function portProblem(port: string | undefined): readonly string[] | undefined {
  if (port === undefined || (/^\d+$/.test(port) && Number(port) > 0 && Number(port) <= 65_535)) return undefined;
  return [`has no port that exists: ${port}`, 'a port is a number from 1 to 65535; Temporal listens at 7233'];
}

/** Refuses variables that Temporal's client would ignore: it would use another server, no TLS, or no certificate. */
function checkTemporalVariables(env: Environment): void {
  const file = env['TEMPORAL_CONFIG_FILE'];
  if (file !== undefined && file !== '' && !existsSync(file))
    throw wrong(`TEMPORAL_CONFIG_FILE: ${showValue(file)} does not exist`, 'name a file that is there, or unset it');
  for (const name of ['TEMPORAL_TLS', 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION']) {
    const value = env[name];
    if (value === undefined || ['', '0', '1', 'true', 'false'].includes(value)) continue;
    throw wrong(`${name}: ${showValue(value)} is neither true nor false`, 'true, 1, false or 0, in small letters');
  }
  const [certificate, key] = ['CERT', 'KEY'].map((what) =>
    [`TEMPORAL_TLS_CLIENT_${what}_PATH`, `TEMPORAL_TLS_CLIENT_${what}_DATA`].find((name) => (env[name] ?? '') !== ''),
  );
  if (certificate !== undefined && key === undefined)
    throw wrong(
      `${certificate}: is set, and the key of this certificate is not`,
      'set TEMPORAL_TLS_CLIENT_KEY_PATH too',
    );
  if (certificate === undefined && key !== undefined)
    throw wrong(`${key}: is set, and the certificate of this key is not`, 'set TEMPORAL_TLS_CLIENT_CERT_PATH too');
}

const wrong = (what: string, remedy: string): CliError => new CliError(ExitCode.Usage, what, remedy);

function wrongBucket(value: string): readonly string[] | undefined {
  const read = readStorePlace(value);
  return isPlaceProblem(read) ? [read.what, read.remedy] : undefined;
}

function wrongUrl(value: string): readonly string[] | undefined {
  return /^https?:/.test(value) && URL.canParse(value) ? undefined : ['is not a URL', 'such as http://127.0.0.1:4443'];
}

function wrongServer(value: string): readonly string[] | undefined {
  const problem = addressProblem(value);
  return problem === undefined ? undefined : [problem, 'such as https://jobctl.example.com'];
}

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLOCK_SCALE } from './clock.js';
import type { RehearsalOptions } from './index.js';
import { parseMachine, type RehearsedMachine } from './machines.js';
import { readSettingsFile } from './settings-file.js';
import type { Settings } from './tpu/settings.js';

export const USAGE = `Usage: cloud-tpu-rehearsal [OPTIONS]        serve, until it is stopped (Ctrl-C)
       cloud-tpu-rehearsal env [--state-dir DIR] [--project P] [--zone Z]

A local Cloud TPU with its TPU VMs and a Cloud Storage, in one process, on this computer alone. Linux.
When it is ready it prints its endpoints as one line of JSON. Calls need the token in DIR/access, which is this login's alone;
no web page can make any.

  --state-dir DIR      what outlives the process: resources, VM disks, objects, the journal
                       (default: cloud-tpu-rehearsal in $XDG_STATE_HOME or ~/.local/state)
  --tpu-port N         Cloud TPU over gRPC         any free port unless given
  --rest-port N        Cloud TPU over REST         "
  --store-port N       Cloud Storage               "
  --admin-port N       faults, clock, journal      "
  --metadata-port N    with --auth: tokens         "
  --kubernetes-port N  a thin Kubernetes           none unless given; 0: any free port
  --ssh-port N         of every TPU VM             22 where this user may listen on it, else from 2222 on
  --subnet-octet N     VMs have the addresses 127.N.a.b, 1 to 254 (default: 77)
  --machine NAME=USER@ADDRESS  a VM that is a machine of your own: no API knows it. ADDRESS is 127.N.a.255; repeatable
  --machine-key FILE   the OpenSSH public key that logs in to those
  --callers WHO        token: who sends the token (default). login: also every process of this login
  --auth               TLS on every API, and each call needs a token
  --host-name NAME     a name of this computer that callers may use beside localhost; repeatable
  --seed N             queue times and ids that are drawn follow from it; a state folder keeps its own
  --time-scale X       seconds that pass in the cloud in one of yours, 0.001 to 10000000
  --settings FILE      YAML or JSON, as POST /admin/configure takes it: how long states last, capacity, quota

gcloud, unmodified, in another shell:
  eval "$(npx cloud-tpu-rehearsal env)"      prints the variables that point gcloud and Google's libraries here
  gcloud compute tpus tpu-vm create one --accelerator-type=v5litepod-8 --version=v2-alpha-tpuv5-lite
  gcloud compute tpus tpu-vm ssh one --command=hostname
  gcloud compute tpus tpu-vm delete one --quiet
More: README.md of this package.`;

/** A wrong command line. The message says what is wrong; the caller prints the usage after it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type Invocation =
  | { readonly verb: 'help' | 'version' }
  | { readonly verb: 'serve'; readonly options: RehearsalOptions }
  | { readonly verb: 'env'; readonly stateDir: string; readonly project: string; readonly zone: string };

const TEXT = { type: 'string' } as const;
const SERVE = {
  'state-dir': TEXT,
  'tpu-port': TEXT,
  'rest-port': TEXT,
  'store-port': TEXT,
  'admin-port': TEXT,
  'kubernetes-port': TEXT,
  'ssh-port': TEXT,
  'subnet-octet': TEXT,
  'metadata-port': TEXT,
  machine: { ...TEXT, multiple: true },
  'machine-key': TEXT,
  callers: { ...TEXT, default: 'token' },
  'host-name': { ...TEXT, multiple: true },
  seed: TEXT,
  'time-scale': TEXT,
  settings: TEXT,
  auth: { type: 'boolean', default: false },
} as const;
const ENV = {
  'state-dir': TEXT,
  project: { ...TEXT, default: 'rehearsal' },
  zone: { ...TEXT, default: 'us-central1-a' },
} as const;

/** @throws UsageError, or Node's own error for an unknown option */
export function readArguments(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Invocation {
  const [first, ...rest] = argv;
  if (argv.includes('--help') || argv.includes('-h')) return { verb: 'help' };
  if (first === '--version') return { verb: 'version' };
  if (first !== 'env') return { verb: 'serve', options: serveOptions(argv, env) };
  const { values } = parseArgs({ args: rest, options: ENV });
  const { project, zone } = values;
  return { verb: 'env', stateDir: values['state-dir'] ?? defaultStateDir(env), project, zone };
}

function defaultStateDir(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_STATE_HOME'] || join(homedir(), '.local/state'), 'cloud-tpu-rehearsal');
}

function serveOptions(argv: readonly string[], env: NodeJS.ProcessEnv): RehearsalOptions {
  const { values } = parseArgs({ args: [...argv], options: SERVE });
  const scale = values['time-scale'];
  const port = (flag: keyof typeof values, min = 0): number | undefined =>
    integer(`--${flag}`, values[flag] as string | undefined, min, 65_535);
  const entries = {
    seed: integer('--seed', values.seed, 0, 2 ** 32 - 1),
    timeScale: scale === undefined ? undefined : fraction('--time-scale', scale),
    delays: values.settings === undefined ? undefined : readSettings(values.settings),
    tpuPort: port('tpu-port'),
    restPort: port('rest-port'),
    storePort: port('store-port'),
    adminPort: port('admin-port'),
    metadataPort: port('metadata-port'),
    kubernetesPort: port('kubernetes-port'),
    sshPort: port('ssh-port', 1),
    hostNames: values['host-name'],
    machines: values.machine?.map(machineOf),
    machineKey: values['machine-key'] === undefined ? undefined : readText('--machine-key', values['machine-key']),
    subnetOctet: integer('--subnet-octet', values['subnet-octet'], 1, 254),
  };
  const given = Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
  const stateDir = values['state-dir'] ?? defaultStateDir(env);
  return { stateDir, callers: callersOf(values.callers), ...given, ...(values.auth && { authentication: {} }) };
}

function callersOf(text: string): 'token' | 'login' {
  if (text === 'token' || text === 'login') return text;
  throw new UsageError(`--callers ${text}: wanted token or login`);
}

function machineOf(text: string): RehearsedMachine {
  const machine = parseMachine(text);
  if (machine !== undefined) return machine;
  throw new UsageError(`--machine ${text}: wanted NAME=USER@ADDRESS, such as box=me@127.77.1.255`);
}

function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${flag} ${file}: ${(error as Error).message}`, { cause: error });
  }
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

export function isUsageError(error: unknown): error is Error {
  return error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true;
}

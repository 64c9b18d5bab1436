import type { CliContext } from '../context.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';

/** Flags of every verb that reaches hosts. */
export interface RouteFlags {
  readonly identity?: string;
  readonly sshPort?: number;
  readonly internalIp?: true;
  readonly proxyCommand?: string;
}

/** How hosts are reached from this computer. The worker's own way may be another. */
export interface Route {
  readonly port: number;
  readonly address: 'external' | 'internal';
  /** Words of ssh-proxy.ts. */
  readonly proxyCommand?: string;
  /** A key file that was named for this command line or this computer. */
  readonly keyFile?: string;
}

const SSH_PORT = 22;

/** A flag, else the environment (the worker's own variables), else the local stack's way. @throws CliError */
export function routeOf(
  flags: RouteFlags,
  { ssh }: CliContext,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Route {
  const proxyCommand = flags.proxyCommand ?? given(env['JOBCTL_SSH_PROXY_COMMAND']);
  const keyFile = flags.identity ?? given(env['JOBCTL_SSH_PRIVATE_KEY_FILE']);
  return {
    port: flags.sshPort ?? portIn(given(env['JOBCTL_SSH_PORT'])) ?? ssh?.port ?? SSH_PORT,
    address: flags.internalIp === true || env['JOBCTL_SSH_ADDRESS'] === 'internal' ? 'internal' : 'external',
    ...(proxyCommand === undefined ? {} : { proxyCommand }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CliError(ExitCode.Usage, `JOBCTL_SSH_PORT: '${text}' is no port`, 'a whole number from 1 to 65535');
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

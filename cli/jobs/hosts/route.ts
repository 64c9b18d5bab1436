import type { JobKeyReferences } from '../../../cloud/job-keys/open-job-keys.js';
import { splitReferences } from '../../../cloud/keys/key-reference.js';
import type { CliContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/** Flags of every verb that reaches hosts. */
export interface RouteFlags {
  readonly identity?: string;
  readonly login?: string;
  readonly sshPort?: number;
  readonly internalIp?: true;
  readonly proxyCommand?: string;
}

/** The way to reach hosts from this computer. The worker may use another. */
export interface Route {
  readonly port: number;
  readonly address: 'external' | 'internal';
  /** A command in the form of ssh-proxy.ts. */
  readonly proxyCommand?: string;
  /** A key file named for this command line. */
  readonly identity?: string;
  /** The user of that key on the hosts, if the hosts accept more keys than the job's. */
  readonly login?: string;
  /** A key file named for this computer. */
  readonly keyFile?: string;
  /** References of the secrets that keys of jobs are made from, if this computer has them. */
  readonly jobKeys?: JobKeyReferences;
}

const SSH_PORT = 22;

/** The route by a flag, else by the environment (the worker's own variables), else by the local stack. @throws CliError */
export function routeOf(
  flags: RouteFlags,
  { ssh }: CliContext,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Route {
  const proxyCommand = flags.proxyCommand ?? given(env['JOBCTL_SSH_PROXY_COMMAND']);
  const keyFile = given(env['JOBCTL_SSH_PRIVATE_KEY_FILE']);
  const jobKeys = jobKeysIn(env) ?? ssh?.jobKeys;
  if (flags.login !== undefined && flags.identity === undefined)
    throw new CliError(
      ExitCode.Usage,
      '--login: names the user of a key of yours',
      'name the key too: --identity FILE',
    );
  return {
    port: flags.sshPort ?? portIn(given(env['JOBCTL_SSH_PORT'])) ?? ssh?.port ?? SSH_PORT,
    address: flags.internalIp === true || env['JOBCTL_SSH_ADDRESS'] === 'internal' ? 'internal' : 'external',
    ...(proxyCommand === undefined ? {} : { proxyCommand }),
    ...(flags.identity === undefined ? {} : { identity: flags.identity }),
    ...(flags.login === undefined ? {} : { login: flags.login }),
    ...(keyFile === undefined ? {} : { keyFile }),
    ...(jobKeys === undefined ? {} : { jobKeys }),
  };
}

/** Reads the worker's own variables. */
function jobKeysIn(env: Readonly<Record<string, string | undefined>>): JobKeyReferences | undefined {
  const current = given(env['JOBCTL_SSH_JOB_KEY_SECRET']);
  const former = splitReferences(env['JOBCTL_SSH_FORMER_JOB_KEY_SECRETS'] ?? '');
  return current === undefined && former.length === 0 ? undefined : { current, former };
}

function portIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CliError(ExitCode.Usage, `JOBCTL_SSH_PORT: '${text}' is no port`, 'a whole number from 1 to 65535');
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

import { JobPhase } from '../../../domain/job-state.js';
import { hostProblem, type JobHost, presentHosts } from '../../../cloud/hosts/present-hosts.js';
import type { HostLogin, JobView } from '../../../contract/job.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped } from '../../terminal/print.js';
import type { HostChoice } from '../job-filter.js';
import type { JobKeyReferences } from '../../../cloud/job-keys/open-job-keys.js';
import { splitReferences } from '../../../cloud/keys/key-reference.js';
import type { CliContext } from '../../place/context.js';

/** The hosts of a job, and the route to them from this computer. */

export type { JobHost };

export interface JobHosts {
  readonly job: string;
  readonly view: JobView;
  readonly login: HostLogin;
  /** All present hosts; numbers of a slice that is being replaced are missing. */
  readonly hosts: readonly JobHost[];
}

/** Returns the present hosts of a job. @throws JobNotFound; CliError if it has no hosts or has ended; errors of `describe` */
export async function hostsOfJob(client: JobClient, job: string): Promise<JobHosts> {
  const row = await client.row(job);
  if (row.endedAt !== undefined) {
    throw new CliError(ExitCode.Refused, `${job} has ended (${row.phase}): its hosts are gone`, ...whatStays(job, row));
  }
  const view = await client.describe(job);
  const { login } = view;
  if (login === undefined) {
    throw new CliError(
      ExitCode.Refused,
      `${job}: the worker that answers is of an older jobctl, which does not tell how hosts are logged in to`,
      'update the workers',
    );
  }
  const hosts = presentHosts(view, login);
  for (const host of hosts) refuseWrong(job, host);
  if (hosts.length > 0) return { job, view, login, hosts };
  throw new CliError(
    ExitCode.Refused,
    `${job} has no hosts now: it is ${view.phase}${view.why === undefined ? '' : ` (${view.why})`}`,
    view.phase === JobPhase.Released
      ? `it asks for some again: jobctl resume ${job}`
      : `see what it waits for: jobctl why ${job}`,
  );
}

/** @throws CliError before any connection */
function refuseWrong(job: string, host: JobHost): void {
  const problem = hostProblem(host);
  if (problem === undefined) return;
  throw new CliError(
    ExitCode.Refused,
    `${job}: host ${host.number} is not connected to: ${problem}`,
    'no worker of jobctl says this: tell the operator, and do not cancel the job before',
  );
}

/** Lines about what remains of a job whose hosts are gone: its output and its stored files. */
function whatStays(id: string, { outcome }: JobRow): readonly string[] {
  return [
    asTyped(`what it printed stays: jobctl logs ${id}`),
    (outcome?.outputs?.files ?? 0) > 0
      ? asTyped(`and so do its outputs: jobctl download ${id}`)
      : 'other files went with its hosts; `outputs:` of a job file, or $JOBCTL_OUTPUT_DIR, keeps them',
  ];
}

/** @throws CliError with the hosts that do not exist */
export function chooseHosts({ job, hosts }: JobHosts, choice: HostChoice): readonly JobHost[] {
  if (choice === 'all') return hosts;
  const missing = choice.filter((number) => !hosts.some((host) => host.number === number));
  if (missing.length === 0) return choice.map((number) => hosts.find((host) => host.number === number) as JobHost);
  const numbers = hosts.map(({ number }) => number);
  const has =
    hosts.length === 1
      ? `one host, ${numbers[0]}`
      : numbers.every((number, at) => number === at)
        ? `${hosts.length} hosts, 0 to ${hosts.length - 1}`
        : `the hosts ${numbers.join(', ')} now`;
  throw new CliError(ExitCode.NotFound, `${job} has no host ${missing.join(', ')}: it has ${has}`);
}

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

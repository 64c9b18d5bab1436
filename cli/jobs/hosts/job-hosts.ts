import { JobPhase } from '../../../domain/job-state.js';
import { hostProblem, type JobHost, presentHosts } from '../../../cloud/hosts/present-hosts.js';
import type { HostLogin, JobView } from '../../../contract/job.js';
import type { JobRow } from '../../../client/job-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped } from '../../terminal/print.js';
import type { HostChoice } from '../job-filter.js';

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

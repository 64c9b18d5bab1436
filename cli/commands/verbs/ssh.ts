import { createServer } from 'node:net';
import { startOpenSsh, forwardToPod, podShell } from '../../jobs/hosts/shell.js';
import { oneHost, type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { ForwardedPorts } from '../../jobs/job-filter.js';
import { asTyped, printOut } from '../../terminal/print.js';

/** Verbs that run the OpenSSH client. */

export interface SshFlags extends ReachFlags {
  readonly host: number;
}

/** Opens a shell or runs a command on one host. @returns the exit code of ssh: the remote command's, or 255 if the connection failed */
export async function ssh(job: string, flags: SshFlags, words: readonly string[] | undefined): Promise<number> {
  const reach = await reachHosts(job, [flags.host], flags);
  if (reach.by === 'exec') return podShell(reach, words ?? []);
  return (await startOpenSsh(reach, oneHost(reach), words ?? [])).exitCode;
}

export interface PortForwardFlags extends ReachFlags {
  readonly host: number;
}

/** Printed by ssh's LocalCommand as soon as the forwarded port is open. */
const LISTENS = 'jobctl-port-forward-listens';

/** Checks the port before ssh does, because ssh's message does not say what to do. @throws CliError */
function mustBeFree(port: number, another: string): Promise<void> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be listened at: ${error.message}`;
      reject(new CliError(ExitCode.Usage, `port ${port} of this computer ${why}`, `name another: ${another}`));
    });
    probe.listen(port, '127.0.0.1', () => void probe.close(() => resolve()));
  });
}

/** Forwards a loopback port of this computer to a port of a host until Ctrl-C. @throws CliError if the local port is in use */
export async function portForward(
  job: string,
  { local, remote }: ForwardedPorts,
  flags: PortForwardFlags,
): Promise<number> {
  await mustBeFree(local, asTyped(`jobctl port-forward ${job} ${local === 65_535 ? local - 1 : local + 1}:${remote}`));
  const reach = await reachHosts(job, [flags.host], flags);
  if (reach.by === 'exec') return forwardToPod(reach, { local, remote });
  const host = oneHost(reach);
  const options = { ExitOnForwardFailure: 'yes', PermitLocalCommand: 'yes', LocalCommand: `echo ${LISTENS}` };
  const words = [
    ...['-N', '-L', `127.0.0.1:${local}:localhost:${remote}`],
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
  const ssh = await startOpenSsh(reach, host, words, (text) => {
    if (text.includes(LISTENS))
      printOut(`http://127.0.0.1:${local} is port ${remote} of host ${host.number} of ${job}; Ctrl-C ends it\n`);
  });
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    ssh.kill('SIGTERM');
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  const code = await ssh.exitCode;
  return isEnded ? ExitCode.Done : code;
}

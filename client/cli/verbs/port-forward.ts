import { createServer } from 'node:net';
import { CliError } from '../cli-error.js';
import { startOpenSsh } from '../hosts/open-ssh.js';
import { watchSignals } from '../hosts/pass-signals.js';
import type { ForwardedPorts } from '../hosts/forwarded-ports.js';
import { type ReachFlags, reachHosts } from '../hosts/reach.js';
import { ExitCode } from '../exit-codes.js';

export interface PortForwardFlags extends ReachFlags {
  readonly host: number;
}

/** What ssh prints on our behalf once the forwarding listens. */
const LISTENS = 'jobctl-port-forward-listens';

/** Looked at before ssh, which would say it in three lines and not what to do. @throws CliError */
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

/** A tunnel from a loopback port here to one on a host, until Ctrl-C. */
export async function portForward(
  job: string,
  { local, remote }: ForwardedPorts,
  flags: PortForwardFlags,
): Promise<number> {
  await mustBeFree(local, `jobctl port-forward ${job} ${local === 65_535 ? local - 1 : local + 1}:${remote}`);
  const reach = await reachHosts(job, [flags.host], flags);
  const [host] = reach.hosts;
  if (host === undefined) throw new RangeError(`${job}: no host ${flags.host} was chosen`);
  const options = { ExitOnForwardFailure: 'yes', PermitLocalCommand: 'yes', LocalCommand: `echo ${LISTENS}` };
  const words = [
    ...['-N', '-L', `127.0.0.1:${local}:localhost:${remote}`],
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
  ];
  const ssh = await startOpenSsh(reach, host, words, (text) => {
    if (text.includes(LISTENS))
      process.stdout.write(
        `http://127.0.0.1:${local} is port ${remote} of host ${host.number} of ${job}; Ctrl-C ends it\n`,
      );
  });
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    ssh.kill('SIGTERM');
  };
  const stop = watchSignals(ssh);
  process.once('SIGINT', end).once('SIGTERM', end);
  const code = await ssh.exitCode.finally(stop);
  return isEnded ? ExitCode.Done : code;
}

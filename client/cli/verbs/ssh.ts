import { watchSignals } from '../hosts/pass-signals.js';
import { startOpenSsh } from '../hosts/open-ssh.js';
import { type ReachFlags, reachHosts } from '../hosts/reach.js';

export interface SshFlags extends ReachFlags {
  readonly host: number;
}

/** The exit code is that of ssh: the remote shell's or command's, and 255 where the connection failed. */
export async function ssh(job: string, flags: SshFlags, words: readonly string[] | undefined): Promise<number> {
  const reach = await reachHosts(job, [flags.host], flags);
  const [host] = reach.hosts;
  if (host === undefined) throw new RangeError(`${job}: no host ${flags.host} was chosen`);
  const process = await startOpenSsh(reach, host, words ?? []);
  const stop = watchSignals(process);
  return process.exitCode.finally(stop);
}

import { startLocalFleet } from '../fanout/local-fleet.js';
import { PeerFiles } from '../fanout/peers.js';
import { clockFor, type Delay, delaysOf, followedDelays } from '../logs/followed-delays.js';
import { median } from '../start/statistics.js';
import { kubernetesIsAbsent, podDelays } from './kubernetes-node.js';
import type { Measured } from './table.js';

const SECONDS = 30;
const WINDOW_MS = 5_000;
const KUBECTL = 'kubectl logs -f';

/**
 * The delay of a line of a running job, from the time that its host printed until a follower showed it, on the stack of
 * JOBCTL_HOME. All followers run at the same time, and a round is the median of five seconds that all of them saw.
 */
export async function followedLogs(tell: (step: string) => void): Promise<readonly Measured[]> {
  const absent = kubernetesIsAbsent();
  const fleet = await startLocalFleet(1);
  const files = new PeerFiles(fleet.hosts);
  tell(`following a job that prints the time for ${SECONDS} s`);
  const [host = ''] = files.names;
  try {
    const [ours, ssh, pod] = await Promise.all([
      followedDelays(process.env, SECONDS),
      delaysOf(['ssh', '-n', '-F', files.config, host, clockFor(2 * SECONDS)]),
      absent === undefined ? podDelays(2 * SECONDS) : [],
    ]);
    const [jobctl, floor, kubectl] = windowsOf([ours, ssh, ...(absent === undefined ? [pod] : [])]);
    return [
      {
        what: 'a followed line, host to terminal',
        ms: jobctl ?? [],
        peers: [absent === undefined ? { name: KUBECTL, ms: kubectl ?? [] } : { name: KUBECTL, absent }],
        floor: { name: 'ssh HOST COMMAND', ms: floor ?? [] },
      },
    ];
  } finally {
    files.remove();
    await fleet.stop();
  }
}

/** Medians of each follower in the windows in which all of them saw lines. @throws Error if there is no such window */
export function windowsOf(followers: readonly (readonly Delay[])[]): readonly (readonly number[])[] {
  const grouped = followers.map((delays) => {
    const windows = new Map<number, number[]>();
    for (const { printed, late } of delays) {
      const at = Math.floor(printed / WINDOW_MS);
      windows.set(at, [...(windows.get(at) ?? []), late]);
    }
    return windows;
  });
  const shared = [...(grouped[0]?.keys() ?? [])].filter((at) => grouped.every((windows) => windows.has(at)));
  if (shared.length === 0)
    throw new Error(
      `no ${WINDOW_MS / 1_000} s of which all saw a line: ${followers.map(({ length }) => length)} lines`,
    );
  return grouped.map((windows) => shared.map((at) => median(windows.get(at) ?? [])));
}

import { setTimeout as pause } from 'node:timers/promises';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { NOTICE, request } from '../../test/hosts/run.js';
import { PodsForTest } from '../../test/long/kubernetes/pod-cluster.js';
import { debianImage } from '../../test/long/kubernetes/pod-images.js';
import { until } from '../../test/until.js';
import { openFleet, readLogins } from '../fanout/jobctl-fleet.js';
import { startLocalFleet } from '../fanout/local-fleet.js';
import type { Row } from '../quota/row.js';
import { median, spread } from '../start/statistics.js';

/** Prints ten lines a second. */
const SCRIPT = `while :; do echo "$(date +%s%3N) a line of some eighty characters, as a training loop prints them all day"; sleep 0.1; done`;
const RUN = request(SCRIPT).runId;
const READY_MS = 120_000;

export interface FollowExtent {
  readonly rounds: number;
  readonly hosts: number;
  readonly seconds: number;
}

/** Measures this process's CPU, in percent of one core, while it follows `hosts` pods, and as many hosts over SSH. */
export async function followRows({ rounds, hosts, seconds }: FollowExtent): Promise<readonly Row[]> {
  const pods = new PodsForTest();
  const image = await debianImage(pods.cluster);
  await pods.open();
  const ssh = await startLocalFleet(hosts);
  const fleet = openFleet(await readLogins(ssh.hosts));
  try {
    const targets = await Promise.all(Array.from({ length: hosts }, () => pods.pod(image)));
    const ways = {
      exec: await Promise.all(targets.map((target) => pods.connect(target))),
      ssh: await fleet.connect(),
    };
    for (const connections of Object.values(ways))
      await Promise.all(connections.map((connection) => connection.startRun(request(SCRIPT))));
    const shares: Record<keyof typeof ways, number[]> = { exec: [], ssh: [] };
    for (let round = 0; round < rounds; round++) {
      shares.exec.push(await followed(ways.exec, seconds));
      shares.ssh.push(await followed(ways.ssh, seconds));
    }
    for (const connections of Object.values(ways))
      await Promise.all(connections.map((connection) => connection.stopRun(RUN, 0, NOTICE)));
    const row = (what: string, values: readonly number[]): Row => ({
      what,
      figure: `${median(values).toFixed(1)} %`,
      note: `of one core; ${spread(values)}, ${seconds} s each`,
    });
    const ratio = median(shares.exec) / median(shares.ssh);
    return [
      row(`${hosts} hosts over SSH followed, 10 lines a second each`, shares.ssh),
      row(`${hosts} pods over exec, the same`, shares.exec),
      { what: '  ratio of the medians', figure: `${ratio.toFixed(2)}x` },
    ];
  } finally {
    fleet.release();
    await ssh.stop();
    await pods.close();
  }
}

/** CPU in percent of one core, measured once every host was heard. Follows from the output's end, so that rounds read alike. */
async function followed(connections: readonly HostConnection[], seconds: number): Promise<number> {
  const statuses = await Promise.all(connections.map((connection) => connection.runStatus(RUN)));
  const end = new AbortController();
  const lines = connections.map(() => 0);
  const following = Promise.all(
    connections.map((connection, index) => {
      const status = statuses[index];
      if (status?.kind !== 'running') throw new Error(`${RUN} is ${status?.kind}`);
      const count = (chunk: Buffer): void => void (lines[index] = (lines[index] ?? 0) + linesOf(chunk));
      return connection.followOutput(RUN, status.outputBytes, count, end.signal);
    }),
  );
  following.catch(() => undefined);
  const measured = async (): Promise<number> => {
    await until('a line of each host', () => lines.every((heard) => heard > 0), READY_MS);
    const [before, began] = [process.cpuUsage(), performance.now()];
    lines.fill(0);
    await pause(seconds * 1_000);
    const { user, system } = process.cpuUsage(before);
    const silent = lines.findIndex((heard) => heard === 0);
    if (silent >= 0) throw new Error(`host ${silent} printed nothing for ${seconds} s`);
    return (user + system) / 10 / (performance.now() - began);
  };
  try {
    return await Promise.race([measured(), following.then(() => Promise.reject(new Error(`${RUN} ended`)))]);
  } finally {
    end.abort();
    await following.catch(() => undefined);
  }
}

const linesOf = (chunk: Buffer): number => chunk.toString().split('\n').length - 1;

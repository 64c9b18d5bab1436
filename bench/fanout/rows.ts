import { readFileSync } from 'node:fs';
import type { Row } from '../quota/row.js';
import { median } from '../start/statistics.js';
import { buildGoClient, goClient } from './go-client.js';
import type { FanoutHost } from './inventory.js';
import {
  execEverywhere,
  findReady,
  type JobctlFleet,
  type Logins,
  makeReady,
  modulePlan,
  openFleet,
  readLogins,
} from './jobctl-fleet.js';
import { ansible, controlMaster, isInstalled, type Peer, PeerFiles, pdsh, sshLoop } from './peers.js';
import { makeWork, type Work } from './work.js';

const STEPS = 10;
const UNCHANGED_MODULES = 5;

export interface Extent {
  /** Rounds of the quick ways; the slow ones run once. */
  readonly rounds: number;
  /** Whether to leave out the slow ways. */
  readonly isQuick: boolean;
}

/** One way to run the steps on all hosts. */
interface Way extends Peer {
  /** Whether it takes so long that one round is enough. */
  readonly isSlow?: boolean;
  readonly aim?: string;
}

interface Sample {
  readonly wallMs: number;
  /** CPU time of this process and of children that it waited for, without servers. */
  readonly cpuMs: number;
}

/** Measures all ways in turn, round after round. Each time includes making and closing connections. Ratios are to Go. */
export async function wayRows(hosts: readonly FanoutHost[], { rounds, isQuick }: Extent): Promise<readonly Row[]> {
  const work = makeWork(STEPS);
  const files = new PeerFiles(hosts);
  const { ways: all, missing } = await waysOn(hosts, files, work);
  const ways = all.filter(({ isSlow }) => !(isSlow && isQuick));
  const samples = new Map<Way, Sample[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ways) if (round === 0 || !way.isSlow) samples.get(way)?.push(await measured(way));
  }
  files.remove();
  const floor = ways.find(({ name }) => name.startsWith('Go '));
  const floorMs = floor && median((samples.get(floor) ?? []).map(({ wallMs }) => wallMs));
  const title = { what: `${hosts.length} hosts x ${STEPS} steps, connections included`, figure: 'wall' };
  return [title, ...ways.map((way) => wayRow(way, samples.get(way) ?? [], floorMs)), ...missing];
}

async function waysOn(hosts: readonly FanoutHost[], files: PeerFiles, work: Work) {
  const ways: Way[] = [];
  const missing: Row[] = [];
  const unless = (why: string | undefined, what: string, make: () => Way): void => {
    if (why === undefined) ways.push(make());
    else missing.push({ what, figure: '-', note: why });
  };
  const built = isInstalled('go') ? await buildGoClient().catch((error: Error) => error) : new Error('no Go here');
  const goTrouble = built instanceof Error ? built.message.slice(0, 200) : undefined;
  unless(goTrouble, 'Go x/crypto/ssh', () => goClient(String(built), hosts, work));
  ways.push(...(await ourWays(hosts, work)));
  const absent = (program: string): string | undefined => (isInstalled(program) ? undefined : 'not installed');
  unless(absent('pdsh'), 'pdsh', () => pdsh(files, work));
  ways.push(controlMaster(files, work));
  unless(absent('ansible-playbook'), 'ansible', () => ({ ...ansible(files, work), isSlow: true }));
  ways.push({ ...sshLoop(files, work), isSlow: true });
  return { ways, missing };
}

async function ourWays(hosts: readonly FanoutHost[], work: Work): Promise<readonly Way[]> {
  let round = 0;
  const logins = await readLogins(hosts);
  return [
    { ...scriptEverywhere(logins, work), aim: '1.3x' },
    {
      name: 'jobctl fleet, a module of 10 steps',
      run: onFreshFleet(logins, async (fleet) =>
        makeReady(await fleet.connect(), modulePlan(work, (round += 1)), work),
      ),
    },
  ];
}

/** jobctl's own way: one script over one channel of each host. */
export const scriptEverywhere = (logins: Logins, work: Work): Peer => ({
  name: 'jobctl fleet, one script for each host',
  run: onFreshFleet(logins, async (fleet) => execEverywhere(await fleet.connect(), work)),
});

const onFreshFleet = (logins: Logins, use: (fleet: JobctlFleet) => Promise<void>) => async () => {
  const fleet = openFleet(logins);
  await use(fleet).finally(() => fleet.release());
};

async function measured(way: Way): Promise<Sample> {
  const cpu = cpuMs();
  const start = performance.now();
  await way.run();
  return { wallMs: performance.now() - start, cpuMs: cpuMs() - cpu };
}

function wayRow({ name, aim }: Way, samples: readonly Sample[], floorMs: number | undefined): Row {
  const walls = samples.map(({ wallMs }) => wallMs);
  const wall = median(walls);
  const ratio = floorMs === undefined ? undefined : wall / floorMs;
  const cpu = `client CPU ${seconds(median(samples.map(({ cpuMs }) => cpuMs)))}`;
  const times = ratio === undefined ? '' : `${ratio.toFixed(2)}x of Go, `;
  const from =
    walls.length > 1
      ? `, ${seconds(Math.min(...walls))} .. ${seconds(Math.max(...walls))} of ${walls.length}`
      : ', once';
  const goal =
    aim === undefined || ratio === undefined ? {} : { aim: `${aim} of Go`, isMet: ratio <= Number.parseFloat(aim) };
  return { what: name, figure: seconds(wall), note: `${times}${cpu}${from}`, ...goal };
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

/** User and system time of this process and of its children that ended (fields 16 and 17 of /proc/self/stat, in 1/100 s). */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * 10;
}

/** Measures a set-up that finds everything done, over open connections. */
export async function unchangedRows(hosts: readonly FanoutHost[], { rounds }: Extent): Promise<readonly Row[]> {
  const work = makeWork(1);
  const fleet = openFleet(await readLogins(hosts));
  const connections = await fleet.connect();
  const plans = Array.from({ length: UNCHANGED_MODULES }, (_, module) => ({
    ...modulePlan(work, 0),
    name: `unchanged-${module}`,
    check: 'test -d "$HOME/.jobctl"',
  }));
  await Promise.all(
    connections.map((connection) =>
      connection.applyModules(plans, { onOutput: () => undefined }, new AbortController().signal),
    ),
  );
  const walls: number[] = [];
  for (let round = 0; round < Math.max(rounds, 3); round += 1) {
    const start = performance.now();
    await findReady(connections, plans);
    walls.push(performance.now() - start);
  }
  fleet.release();
  return [
    {
      what: `${UNCHANGED_MODULES} unchanged modules on ${hosts.length} hosts, open connections`,
      figure: seconds(median(walls)),
      aim: '1 s',
      isMet: median(walls) <= 1000,
      note: `${seconds(Math.min(...walls))} .. ${seconds(Math.max(...walls))} of ${walls.length}`,
    },
  ];
}

import { Client } from 'ssh2';
import { messageOf } from '../../domain/errors.js';
import { buildGoClient, goClient } from '../fanout/go-client.js';
import { knownKeys } from '../fanout/inventory.js';
import { type Logins, readLogins } from '../fanout/jobctl-fleet.js';
import { startLocalFleet } from '../fanout/local-fleet.js';
import { ansible, controlMaster, isInstalled, PeerFiles, pdsh } from '../fanout/peers.js';
import { scriptEverywhere } from '../fanout/rows.js';
import { checkOutput, makeWork, type Work } from '../fanout/work.js';
import { inTurn, type TimedWay, timesOfWay } from './in-turn.js';
import type { Absent, Broken, Measured, Peer } from './table.js';

const HOSTS = 32;
const STEPS = 10;
const ROUNDS = 5;
const FLOOR = 'ssh2 alone';

/** Ten steps on 32 hosts of loopback, connections included, beside the tools that a user would take instead. */
export async function fanOut(tell: (step: string) => void): Promise<readonly Measured[]> {
  tell(`starting ${HOSTS} SSH servers`);
  const fleet = await startLocalFleet(HOSTS);
  const files = new PeerFiles(fleet.hosts);
  try {
    const work = makeWork(STEPS);
    const logins = await readLogins(fleet.hosts);
    const ours = scriptEverywhere(logins, work);
    const { ways, absent } = await peersOn(logins, files, work);
    const peers = ways.map((way) => ({ ...way, isPeer: true }));
    const all = [ours, { name: FLOOR, run: await libraryAlone(logins, work) }, ...peers];
    const times = await inTurn(all, { rounds: ROUNDS, warmUp: false, tell });
    return [
      {
        what: `${STEPS} steps on ${HOSTS} hosts, connecting`,
        ms: timesOfWay(times, ours.name).ms,
        peers: [...times.filter(({ name }) => ways.some((way) => way.name === name)), ...absent].map(shortly),
        floor: timesOfWay(times, FLOOR),
      },
    ];
  } finally {
    files.remove();
    await fleet.stop();
  }
}

async function peersOn({ hosts }: Logins, files: PeerFiles, work: Work) {
  const ways: TimedWay[] = [];
  const absent: (Absent | Broken)[] = [];
  const go = isInstalled('go') ? await buildGoClient().catch((error: unknown) => ({ why: messageOf(error) })) : 'none';
  if (go === 'none') absent.push({ name: 'Go x/crypto/ssh', absent: 'install Go from https://go.dev/dl' });
  else if (typeof go === 'string') ways.push(goClient(go, hosts, work));
  else absent.push({ name: 'Go x/crypto/ssh', broken: go.why });
  if (isInstalled('pdsh')) ways.push(pdsh(files, work));
  else absent.push({ name: 'pdsh', absent: 'apt-get install pdsh' });
  ways.push(controlMaster(files, work));
  if (isInstalled('ansible-playbook')) ways.push({ ...ansible(files, work), isSlow: true });
  else absent.push({ name: 'ansible', absent: 'pip install ansible-core' });
  return { ways, absent };
}

/** The names of bench/fanout without what is said of them there. */
function shortly(row: Peer): Peer {
  const [name = row.name] = row.name.split(',', 1);
  return { ...row, name };
}

/**
 * The SSH library below jobctl's connections, with nothing of jobctl: one channel for each host, and the host's key checked. It is
 * tuned as jobctl's connections are, without which it is slower than they.
 */
async function libraryAlone({ hosts, keys }: Logins, work: Work): Promise<() => Promise<void>> {
  const expected = await Promise.all(hosts.map(knownKeys));
  return async () => {
    await Promise.all(
      hosts.map(async ({ host, port, user, keyFile }, index) => {
        const client = new Client();
        await new Promise<void>((resolve, reject) => {
          client.once('ready', resolve).once('error', reject);
          client.connect({
            ...{ host, port, username: user, privateKey: keys.get(keyFile) ?? '', authHandler: ['publickey'] },
            algorithms: { kex: ['curve25519-sha256'], cipher: ['aes128-gcm@openssh.com'] },
            hostVerifier: (key: Buffer) =>
              expected[index]?.some((line) => line.endsWith(key.toString('base64'))) ?? false,
          });
          client.setNoDelay(true);
        });
        checkOutput(FLOOR, host, await outputOf(client, work.script), work);
        client.end();
      }),
    );
  };
}

function outputOf(client: Client, script: string): Promise<string> {
  return new Promise((resolve, reject) => {
    client.exec(script, (error, channel) => {
      if (error) return reject(error);
      let printed = '';
      channel.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      channel.stderr.resume();
      channel.once('close', () => resolve(printed));
    });
  });
}

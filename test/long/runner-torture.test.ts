/**
 * The torture of test/hosts in its long form, over ssh2's server and over OpenSSH's: 50 kills at random points each, 20
 * starters at a time, 1 GiB of output with no reader; and 50 kills around containers where a docker daemon can be started.
 */
import assert from 'node:assert/strict';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort } from '../../cloud/hosts/port.js';
import { TEST_IMAGE, useDockerDaemon } from '../hosts/docker-daemon.js';
import { hasOpenSshd, startOpenSshd } from '../hosts/open-sshd.js';
import { ended, NOTICE, request } from '../hosts/run.js';
import { never, ourKey, withHost } from '../hosts/session.js';
import { startTcpCutter } from '../hosts/tcp-cutter.js';
import { until } from '../until.js';
import { surviveKill, type TorturedHost, VICTIMS } from '../hosts/torture.js';

/** Of a free range beside the tests' other servers. */
const SSHD_PORT = 24_322;
const KILLS = 50;

async function withTestHost(work: (host: TorturedHost) => Promise<void>, env = {}): Promise<void> {
  await withHost(
    ({ host, connection, another }) => work({ home: host.home, connection, another, cut: () => host.cut() }),
    { env },
  );
}

async function withOpenSshd(work: (host: TorturedHost) => Promise<void>): Promise<void> {
  const sshd = await startOpenSshd({ authorized: ourKey, address: '127.0.0.1', port: SSHD_PORT });
  const cutter = await startTcpCutter(SSHD_PORT);
  const fleets: HostsPort[] = [];
  const another = (): Promise<HostConnection> => {
    const fleet = createSshHosts({ port: cutter.port, hostKeys: memoryHostKeyPins() });
    fleets.push(fleet);
    // A real sshd turns some of a burst away (MaxStartups); whoever means it comes again.
    return until('a connection', () => fleet.connect(sshd.target, { privateKey: ourKey.private }, never));
  };
  try {
    await work({ home: sshd.home, connection: await another(), another, cut: () => cutter.cut() });
  } finally {
    for (const fleet of fleets) fleet.release();
    await cutter.close();
    await sshd.stop();
  }
}

const servers = { 'an ssh2 server': withTestHost, 'OpenSSH’s sshd': hasOpenSshd ? withOpenSshd : undefined };
for (const [name, server] of Object.entries(servers)) {
  (server ? describe : describe.skip)(`runner torture over ${name}`, function () {
    this.timeout(300_000);
    const withServer = server!;

    it(`begins at most once for ${KILLS} kills at random points`, () =>
      withServer(async (host) => {
        const seen: Record<string, number> = {};
        for (let attempt = 1; attempt <= KILLS; attempt += 1) {
          const victim = VICTIMS[attempt % VICTIMS.length]!;
          const kind = await surviveKill(host, attempt, victim, Math.random() * 300);
          seen[`${victim} ${kind}`] = (seen[`${victim} ${kind}`] ?? 0) + 1;
        }
        console.log(`      ${JSON.stringify(seen)}`);
      }));

    it('begins once for 20 starters at a time, ten times', () =>
      withServer(async (host) => {
        const starters = await Promise.all(Array.from({ length: 20 }, host.another));
        for (let attempt = 1; attempt <= 10; attempt += 1) {
          const run = request('echo once', { runId: `train-x1-a${attempt}`, epoch: attempt });
          await Promise.all(starters.map((starter) => starter.startRun(run)));
          await ended(host.connection, run.runId);
          let output = '';
          await host.connection.followOutput(run.runId, 0, (chunk) => void (output += chunk.toString()), never);
          assert.equal(output, 'once\n');
        }
      }));

    it('keeps 1 GiB of output with no reader, every byte of its end, and the exit code', () =>
      withServer(async ({ connection }) => {
        const size = 1024 ** 3;
        await connection.startRun(request(`head -c ${size} /dev/zero; echo end; exit 5`));
        const status = await ended(connection);
        assert.deepEqual({ code: status.code, bytes: status.outputBytes }, { code: 5, bytes: size + 4 });
        let rest = '';
        await connection.followOutput('train-x1-a1', size, (chunk) => void (rest += chunk.toString()), never);
        assert.equal(rest, 'end\n');
      }));
  });
}

describe('runner torture of containers', function () {
  this.timeout(600_000);
  const daemon = useDockerDaemon();

  it(`begins at most once for ${KILLS} kills at random points, and leaves no container`, () =>
    withTestHost(async (host) => {
      const seen: Record<string, number> = {};
      const container = { image: TEST_IMAGE, flags: ['--network=none'], mounts: [host.home], env: {} };
      for (let attempt = 1; attempt <= KILLS; attempt += 1) {
        const victim = VICTIMS[attempt % VICTIMS.length]!;
        const kind = await surviveKill(host, attempt, victim, Math.random() * 900, { container });
        assert.equal(daemon().docker('ps', '-aq'), '', `attempt ${attempt}: a container is left`);
        seen[`${victim} ${kind}`] = (seen[`${victim} ${kind}`] ?? 0) + 1;
      }
      console.log(`      ${JSON.stringify(seen)}`);
      await host.connection.stopRun('train-x1-a1', 0, NOTICE);
    }, daemon().env));
});

/** What the torture of runner-torture.test.ts cannot strike from inside its own process: a client's, and a host's whole life. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { firstOutput } from '../first-output.js';
import type { HostConnection, RunRequest } from '../../cloud/hosts/port.js';
import { startNamespace } from '../hosts/namespace.js';
import { ourKey, withHost } from '../hosts/session.js';
import { surviveKill } from '../hosts/torture.js';

const CLIENT_KILLS = 50;
const REBOOTS = 25;
/** A start takes 100 to 300 ms here; later than that the command runs, and then it has ended. */
const LATEST_MS = 500;

describe('runner torture', function () {
  this.timeout(400_000);

  it(`begins at most once for ${CLIENT_KILLS} clients that kill -9 ends at random points, and all have their exit code`, () =>
    withHost(async ({ host, connection, another }) => {
      const place = { port: host.port, target: host.target, privateKey: ourKey.private };
      let next = startClient(place);
      let whileStarting = 0;
      for (let attempt = 1; attempt <= CLIENT_KILLS; attempt += 1) {
        const client = await next;
        next = startClient(place);
        let isStarted = false;
        const startBy = async (run: RunRequest): ReturnType<HostConnection['startRun']> => {
          if (client.exitCode !== null || client.signalCode !== null) return connection.startRun(run);
          client.stdout?.once('data', () => (isStarted = true));
          client.stdin?.write(`${JSON.stringify(run)}\n`);
          await once(client, 'exit');
          return { kind: 'absent' };
        };
        const byClient = new Proxy(connection, {
          get: (real, name: keyof HostConnection) =>
            name === 'startRun' ? startBy : typeof real[name] === 'function' ? real[name].bind(real) : real[name],
        });
        const kill = (): void => void client.kill('SIGKILL');
        const tortured = { home: host.home, connection: byClient, another, cut: kill };
        await surviveKill(tortured, attempt, 'connection', Math.random() * LATEST_MS);
        if (!isStarted) whileStarting += 1;
      }
      (await next).kill('SIGKILL');
      console.log(`      ${whileStarting} of ${CLIENT_KILLS} died before they had an answer`);
      assert.ok(whileStarting >= CLIENT_KILLS / 10, 'hardly one was killed in the middle: the test shows nothing');
    }));

  it(`begins at most once for ${REBOOTS} reboots at random points, and what was cut off is lost, not ended`, async () => {
    let running = await startNamespace();
    const enter = [...running.enter];
    const seen: Record<string, number> = {};
    try {
      await withHost(
        async ({ host, connection, another }) => {
          const reboot = async (): Promise<void> => {
            running.kill();
            running = await startNamespace();
            enter.splice(0, enter.length, ...running.enter);
          };
          const tortured = { home: host.home, connection, another, cut: () => host.cut(), reboot };
          for (let attempt = 1; attempt <= REBOOTS; attempt += 1) {
            const kind = await surviveKill(tortured, attempt, 'host', Math.random() * LATEST_MS);
            seen[kind] = (seen[kind] ?? 0) + 1;
          }
        },
        { enter },
      );
    } finally {
      running.kill();
    }
    console.log(`      ${JSON.stringify(seen)}`);
    assert.ok((seen['lost'] ?? 0) > 0, 'none was cut off: the test shows nothing');
  });
});

/** Resolves when it is connected. */
async function startClient(place: object): Promise<ChildProcess> {
  const file = new URL('start-client.ts', import.meta.url).pathname;
  const client = spawn(process.execPath, ['--import', 'tsx', file, JSON.stringify(place)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await firstOutput(client);
  return client;
}

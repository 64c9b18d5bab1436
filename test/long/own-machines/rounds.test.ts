import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, startTestServer, TEMPORAL_START_MS, type TestServer } from '../../temporal-server.js';
import { until } from '../../until.js';
import { RackJobs } from './rack-jobs.js';

const ROUNDS = Number(process.env['JOBCTL_RACK_ROUNDS'] ?? 200);
/** The server dies in each of so many rounds, in place of the worker. */
const SERVER_EACH = 5;
/** Jobs that want three machines, at one time. */
const AT_ONCE = 4;

/**
 * What a machine itself says of two jobs at once, with a lock that jobctl knows nothing of: the kernel takes it back when the
 * processes that hold it are gone.
 */
const COMMAND = `exec 8>> "$HOME/only-one"
flock -n 8 || { echo "$JOBCTL_JOB_ID a$JOBCTL_ATTEMPT found another job" >> "$HOME/two-at-once"; exit 3; }
echo "$JOBCTL_JOB_ID a$JOBCTL_ATTEMPT" >> "$HOME/served"
sleep 0.$((RANDOM % 9 + 1)); sleep $((RANDOM % 3))`;

describe(`three machines in ${ROUNDS} rounds, in each of which the worker or the server is killed`, function () {
  this.timeout(3 * 3600_000);
  let jobs: RackJobs;
  let server: TestServer;
  let restart: () => Promise<TestServer>;
  /** The stack's client keeps the connection of the first. */
  const dead: TestServer[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-rounds-'));
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const place = { port: await freePort(), databaseFile: join(folder, 'temporal.db') };
    restart = () => startTestServer(place);
    server = await restart();
    jobs = await RackJobs.start('rounds', server);
  });
  after(async () => {
    await jobs.stop();
    for (const each of [...dead, server]) await each.stop().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  });

  const linesOf = (name: string): readonly string[] =>
    jobs.rack.hosts.flatMap(({ home }) => {
      const file = join(home, name);
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    });

  it('never serve two jobs at once, and every job ends well', async () => {
    const open = new Set<string>();
    let submitted = 0;
    let succeeded = 0;
    const submit = async (): Promise<void> => {
      const file = {
        name: 'round',
        machines: { hosts: randomInt(1, 4) },
        retries: { infrastructure: 20 },
        command: COMMAND,
      };
      open.add(await jobs.submit(file));
      submitted += 1;
    };
    const reap = async (): Promise<void> => {
      for (const id of open) {
        const { phase, endedAt, outcome } = await jobs.stack.jobs.row(id);
        if (endedAt === undefined) continue;
        open.delete(id);
        assert.equal(phase, 'succeeded', `${id}: ${outcome?.cause?.message}`);
        succeeded += 1;
      }
    };
    const again = <T>(work: () => Promise<T>): Promise<T | undefined> =>
      work().catch((error: unknown) => {
        if (error instanceof assert.AssertionError) throw error;
        return undefined;
      });
    for (let round = 1; round <= ROUNDS; round++) {
      while (open.size < AT_ONCE)
        await until('a job is submitted', () => again(() => submit().then(() => true)), 60_000);
      await pause(randomInt(300, 5_000));
      if (round % SERVER_EACH === 0) {
        process.kill(server.pid ?? 0, 'SIGKILL');
        dead.push(server);
        server = await restart();
      } else {
        await jobs.stack.killWorker();
        await jobs.stack.startWorker();
      }
      await until('jobs can be read', () => again(() => reap().then(() => true)), 60_000);
      assert.deepEqual(linesOf('two-at-once'), [], `round ${round}`);
      if (round % 20 === 0) console.log(`      round ${round}: ${succeeded} of ${submitted} jobs have succeeded`);
    }
    await until('all have ended', () => again(() => reap().then(() => open.size === 0)), 300_000);
    assert.equal(succeeded, submitted);
    const claims = (): readonly string[] =>
      jobs.rack.hosts.map(({ home }) => join(home, '.jobctl/machine/claim')).filter((file) => existsSync(file));
    await until('no claim is left', () => claims().length === 0, 120_000);
    const served = linesOf('served').length;
    console.log(`      ${submitted} jobs, ${served} commands on hosts`);
    assert.deepEqual(linesOf('two-at-once'), []);
    assert.ok(served >= submitted);
  });
});

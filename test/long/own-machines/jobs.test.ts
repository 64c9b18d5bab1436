import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { RackJobs } from './rack-jobs.js';

describe('jobs on machines of their pool', function () {
  this.timeout(300_000);
  let jobs: RackJobs;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    jobs = await RackJobs.start('rack');
  });
  after(() => jobs.stop());

  const homeOf = (index: number): string => jobs.rack.hosts[index]?.home ?? '';
  const isVacant = (index: number): boolean => {
    const runs = join(homeOf(index), '.jobctl/runs');
    const isClear = !existsSync(runs) || readdirSync(runs).length === 0;
    return isClear && !existsSync(join(homeOf(index), '.jobctl/machine/claim'));
  };
  const allVacant = (): Promise<boolean> =>
    until('all machines are given back', () => [0, 1, 2].every(isVacant), 60_000);

  it('run on all hosts, find each other, and leave nothing', async () => {
    const id = await jobs.submit({
      name: 'pair',
      machines: { hosts: 2 },
      command: 'echo "rank $RANK of $WORLD_SIZE, $JOBCTL_HOST_IPS"',
    });
    await jobs.inPhase(id, 'succeeded');
    assert.equal(await jobs.log(id, 1, 0), 'rank 0 of 2, 127.0.0.1,127.0.0.1\n');
    assert.equal(await jobs.log(id, 1, 1), 'rank 1 of 2, 127.0.0.1,127.0.0.1\n');
    await allVacant();
  });

  it('wait for machines by quota, and a drained one is not used', async () => {
    const first = await jobs.submit({ name: 'two', machines: { hosts: 2 }, command: 'sleep 600' });
    await jobs.inPhase(first, 'running');
    const second = await jobs.submit({ name: 'more', machines: { hosts: 2 }, command: 'true' });
    await jobs.inPhase(second, 'queued');
    const drained = await jobs.user.run('machines', 'drain', 'rack-0', '--pool', jobs.pool, '--reason', 'new fan');
    assert.equal(drained.code, 0, drained.stderr);
    assert.match(drained.stdout, /rack-0 +drained +two-\w+ +- +127\.0\.0\.1:\d+ +by \w+: new fan/);
    await jobs.stack.jobs.cancel(first);
    await jobs.inPhase(second, 'succeeded');
    const { stdout } = await jobs.user.run('machines', 'ls', '--pool', jobs.pool);
    assert.match(stdout, /rack-0 +drained +- .*\nrack-1 +free .*\nrack-2 +free/);
    const third = await jobs.submit({ name: 'three', machines: { hosts: 3 }, command: 'true' });
    await jobs.told('why tells of the drain', third, async () => {
      const { stdout: why } = await jobs.user.run('why', third);
      return /rack-0 is drained by \w+: new fan/.test(why);
    });
    const undrained = await jobs.user.run('machines', 'undrain', 'rack-0', '--pool', jobs.pool);
    assert.equal(undrained.code, 0, undrained.stderr);
    await jobs.inPhase(third, 'succeeded');
    await allVacant();
  });

  it('move on when a machine dies and a person says that it is off', async () => {
    const id = await jobs.submit({
      name: 'mover',
      machines: { hosts: 1 },
      command: 'echo "begun on $JOBCTL_ATTEMPT"; [ "$JOBCTL_ATTEMPT" = 2 ] || sleep 600',
      retries: { infrastructure: 3 },
    });
    await jobs.told('it runs', id, async () => (await jobs.log(id).catch(() => '')).startsWith('begun on 1'));
    const [name = ''] = await jobs.machinesOf(id);
    const index = jobs.rack.inventory.findIndex((machine) => machine.name === name);
    jobs.rack.ways[index]?.leave(true);
    const { stdout } = await jobs.user.run('machines', 'ls', name, '--pool', jobs.pool);
    assert.match(stdout, new RegExp(`${name} +silent +${id} `));
    const forgotten = await jobs.user.run('machines', 'forget', name, '--pool', jobs.pool);
    assert.equal(forgotten.code, 0, forgotten.stderr);
    await jobs.inPhase(id, 'succeeded');
    assert.equal(await jobs.log(id, 2), 'begun on 2\n');
    jobs.rack.ways[index]?.leave(false);
    assert.ok(!isVacant(index), 'what the machine holds stays until somebody checks it');
    const checked = await jobs.user.run('machines', 'check', name, '--pool', jobs.pool);
    assert.equal(checked.code, 0, checked.stdout);
    assert.match(checked.stdout, new RegExp(`${name} +free`));
    await allVacant();
  });

  it('are refused if the pool has no such machines, and who is unknown is named', async () => {
    const id = await jobs.submit({ name: 'wide', machines: { hosts: 2, labels: { gpu: 'yes' } }, command: 'true' });
    const refused = await jobs.user.run('wait', id);
    assert.equal(refused.code, 4, refused.stderr);
    assert.match(
      refused.stderr,
      /the job asks for 2 machines without an accelerator with these labels, and pool rack has none\n.*jobctl machines ls/,
    );
    const wrong = await jobs.user.run('machines', 'drain', 'rack-9', '--pool', jobs.pool);
    assert.equal(wrong.code, 3, wrong.stderr);
    assert.match(wrong.stderr, /pool rack has no machine rack-9; it has rack-0, rack-1, rack-2/);
  });
});

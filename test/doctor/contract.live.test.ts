import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recording } from '../../cli/doctor/recordings/recording.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { ended, type Started, started } from '../cli/running-command.js';
import { recordingsIn } from '../cloud/recordings/recorded-call.js';
import { replay } from '../cloud/recordings/replay.js';
import { until } from '../until.js';
import { Command } from './command.js';

const PROJECT = 'acme-vision-4711';
const ZONE = 'us-central1-a';
const PLACE = ['--google-project', PROJECT, '--zone', ZONE];
const CONTRACT = ['contract', '--gcp', '--spend', '1', ...PLACE, '--every', '50ms', '--yes'];

describe('recording what Google answers, against the rehearsal with tokens and permissions', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-contract-'));
  const leftover = join(home, 'jobctl/contract-slice.json');
  let user: Command;
  let folders = 0;

  before(async () => {
    await cloud.start();
    user = new Command(cloud.endpoints, home, { GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
  });
  after(async () => {
    await user.end();
    await cloud.stop();
    rmSync(home, { recursive: true });
  });
  beforeEach(() => cloud.become({ roles: ['roles/owner'] }));
  afterEach(async () => {
    await cloud.ask(`${cloud.endpoints.admin}/admin/refuse`, { method: 'DELETE' });
    await cloud.admin('release', {});
    await cloud.admin('configure', { undeletableMs: 0 });
  });

  const newFolder = (): string => join(home, `recordings-${(folders += 1)}`);
  const recordings = (folder: string): readonly Recording[] =>
    readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Recording);

  /** What there is at the cloud, by an own listing. */
  async function left(): Promise<readonly string[]> {
    const token = await cloud.token();
    const lists = await Promise.all(
      ['queuedResources', 'nodes'].map(async (kind) => {
        const answer = await cloud.ask(`${cloud.endpoints.rest}/v2/projects/${PROJECT}/locations/-/${kind}`, { token });
        return ((answer.json as Readonly<Record<string, { name: string }[]>>)[kind] ?? []).map(({ name }) => name);
      }),
    );
    return lists.flat();
  }

  /** A process of its own, which can be sent signals. */
  function start(folder: string): Started {
    const env = cloud.userEnvironment({ GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
    const tpu = { JOBCTL_TPU_ENDPOINT: cloud.endpoints.tpu, JOBCTL_HOME: join(home, 'jobctl') };
    return started([...CONTRACT, '--record', folder], { ...env, ...tpu });
  }

  /** Until the process has said so. */
  async function seen({ child, out }: Started, text: RegExp): Promise<void> {
    await until(`${text.source}`, () => text.test(out.stderr) || child.exitCode !== null);
    assert.match(out.stderr, text);
  }

  describe('jobctl contract', () => {
    it('takes a slice through its life; the replay of what it recorded passes, and finds what is planted', async () => {
      const folder = newFolder();
      const { code, stdout, stderr } = await user.run(...CONTRACT, '--record', folder);
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /^REAL Cloud TPU, billed to project acme-vision-4711: one spot v5litepod-1 in us-central1-a, at most \$0\.08\n/,
      );
      assert.match(stdout, /^the slice was ACTIVE, and is gone\n\d+ recordings in /);
      assert.deepEqual([await left(), existsSync(leftover)], [[], false]);
      const files = recordingsIn(folder);
      const { calls, ...found } = await replay(files);
      assert.deepEqual([calls, found], [files.length, { wrongReadings: [], differences: [] }]);
      const methods = new Set(files.map(({ method, code: end }) => `${method.split('/').at(-1)} ${end}`));
      for (const seen of 'CreateQueuedResource 0,CreateQueuedResource 6,GetQueuedResource 0,GetQueuedResource 5,GetNode 0,ListNodes 0,ListQueuedResources 0,GetOperation 0,DeleteQueuedResource 0,DeleteQueuedResource 5,DeleteQueuedResource 9'.split(
        ',',
      ))
        assert.ok(methods.has(seen), `${seen}: ${[...methods].join(', ')}`);
      const planted = files.map((file) => ({
        ...file,
        answer: JSON.parse(JSON.stringify(file.answer).replaceAll('networkEndpoints', 'endpoints')) as unknown,
      }));
      const { wrongReadings, differences } = await replay(planted);
      assert.ok(wrongReadings.some(({ read }) => read === 'waiting'));
      assert.ok(differences.some(({ path }) => path === 'endpoints[].ipAddress'));
    });

    it('writes nothing that says whose project it was', async () => {
      const folder = newFolder();
      await user.run(...CONTRACT, '--record', folder);
      const all = JSON.stringify(recordings(folder));
      assert.doesNotMatch(all, /acme|4711|alice|jobctl-contract-/);
    });

    const USAGE: Readonly<
      Record<string, { readonly args: readonly string[]; readonly says: RegExp; readonly code?: number }>
    > = {
      'without --spend': { args: ['--gcp', ...PLACE], says: /^jobctl contract: --spend USD is missing\n/ },
      'without --gcp': { args: ['--spend', '1', ...PLACE], says: /^jobctl contract: --gcp is missing\n/ },
      'without --zone': { args: ['--gcp', '--spend', '1'], says: /^jobctl contract: --zone ZONE is missing\n/ },
      'with a spend that is no amount': {
        args: ['--gcp', '--spend', '-1', ...PLACE],
        says: /an amount in USD above 0/,
      },
      'with a type that may cost more': {
        args: ['--gcp', '--spend', '1', ...PLACE, '--accelerator', 'v6e-64'],
        says: /^v6e-64 in us-central1-a may cost \$11\.61: 64 chips at \$0\.5442 for 20 minutes\n/,
        code: 4,
      },
      'in a zone without a known price': {
        args: ['--gcp', '--spend', '1', '--zone', 'us-central2-b'],
        says: /^jobctl knows no spot price of v5litepod-1 in us-central2-b/,
      },
      'of no type': {
        args: ['--gcp', '--spend', '1', ...PLACE, '--accelerator', 'v9'],
        says: /^--accelerator: 'v9' is no Cloud TPU type/,
      },
      'without a terminal to ask on': {
        args: ['--gcp', '--spend', '1', ...PLACE, '--output', 'json'],
        says: /^jobctl contract spends money, and asks first, and there is no terminal to ask on\n/,
      },
    };
    for (const [name, { args, says, code = 2 }] of Object.entries(USAGE))
      it(`asks for nothing ${name}`, async () => {
        const ran = await user.run('contract', ...args);
        assert.match(ran.stderr, says);
        assert.deepEqual([ran.code, await left(), existsSync(leftover)], [code, [], false]);
      });

    it('leaves nothing where the answer to its create call was lost', async () => {
      const lost = { method: 'CreateQueuedResource', code: 'UNAVAILABLE', times: 1, afterEffect: true };
      await cloud.admin('refuse', lost);
      const { code, stderr } = await user.run(...CONTRACT, '--record', newFolder());
      assert.match(stderr, /^no answer to the create call \(.*\): the slice may come all the same$/m);
      assert.deepEqual([code, await left()], [0, []], stderr);
    });

    it('goes on to look for it where nothing came of the create call, and ends then', async () => {
      await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 'UNAVAILABLE', times: 1 });
      const folder = newFolder();
      const { code, stdout } = await user.run(...CONTRACT, '--record', folder);
      assert.deepEqual([code, stdout.split('\n')[0]], [1, ENDED_BEFORE]);
      assert.deepEqual([await left(), existsSync(leftover)], [[], false]);
    });

    it('tells of a refusal, which is a recording too', async () => {
      const message = 'There is no more capacity in the zone "us-central1-a"';
      await cloud.admin('refuse', { method: 'CreateQueuedResource', code: 'RESOURCE_EXHAUSTED', message, times: 1 });
      const folder = newFolder();
      const { code, stdout } = await user.run(...CONTRACT, '--record', folder);
      assert.equal(code, 1);
      assert.match(stdout, /^Google refused the slice: There is no more capacity/);
      assert.ok(recordings(folder).some(({ code: end }) => end === 8));
    });

    it('deletes the slice at the bound of its time', async () => {
      await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES' });
      const { code, stdout } = await user.run(...CONTRACT, '--at-most', '1s', '--record', newFolder());
      assert.deepEqual([code, stdout.split('\n')[0]], [1, 'the slice was not ACTIVE in time, and is gone']);
      assert.deepEqual(await left(), []);
    });

    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      it(`deletes the slice at ${signal}, however long Google refuses that`, async () => {
        await cloud.admin('configure', { undeletableMs: 1500 });
        await cloud.admin('hold', { state: 'PROVISIONING' });
        const run = start(newFolder());
        await seen(run, /queued resource PROVISIONING/);
        run.child.kill(signal);
        const { exitCode, stdout, stderr } = await ended(run);
        assert.match(stderr, /^not deleted yet: .*DeleteQueuedResource is not supported when state is PROVISIONING/m);
        assert.deepEqual([exitCode, stdout.split('\n')[0]], [1, 'the slice was not ACTIVE in time, and is gone']);
        assert.deepEqual([await left(), existsSync(leftover)], [[], false]);
      });

    it('deletes the slice although nobody reads what it prints any more', async () => {
      await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES' });
      const run = start(newFolder());
      await seen(run, /WAITING_FOR_RESOURCES/);
      run.child.stdout?.destroy();
      run.child.stderr?.destroy();
      run.child.kill('SIGHUP');
      await ended(run);
      assert.deepEqual([await left(), existsSync(leftover)], [[], false]);
    });

    it('says at a second signal what is left, and the next run deletes it first', async () => {
      await cloud.admin('configure', { undeletableMs: 3_600_000 });
      await cloud.admin('hold', { state: 'PROVISIONING' });
      const run = start(newFolder());
      await seen(run, /queued resource PROVISIONING/);
      run.child.kill('SIGTERM');
      await seen(run, /not deleted yet/);
      run.child.kill('SIGTERM');
      const { exitCode, stderr } = await ended(run);
      assert.equal(exitCode, 130, stderr);
      const [, name = ''] = /ended before (\S+) in us-central1-a was gone: it may still cost money/.exec(stderr) ?? [];
      assert.match(
        stderr,
        new RegExp(`delete it: gcloud compute tpus queued-resources delete ${name} --zone=us-central1-a`),
      );
      assert.equal((await left()).length, 2);
      await cloud.admin('release', {});
      const next = await user.run(...CONTRACT, '--record', newFolder());
      assert.match(
        next.stderr,
        new RegExp(`^First ${name} in us-central1-a of project acme-vision-4711 is deleted`, 'm'),
      );
      assert.deepEqual([next.code, await left()], [0, []], next.stderr);
    });

    it('killed on the way, it has said what to delete, and the next run deletes it', async () => {
      await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES' });
      const run = start(newFolder());
      await seen(run, /WAITING_FOR_RESOURCES/);
      run.child.kill('SIGKILL');
      await ended(run);
      const [, name = ''] = /^if this process is killed: gcloud .* delete (\S+) /m.exec(run.out.stderr) ?? [];
      assert.deepEqual(await left(), [`projects/${PROJECT}/locations/${ZONE}/queuedResources/${name}`]);
      await cloud.admin('release', {});
      const next = await user.run(...CONTRACT, '--record', newFolder());
      assert.deepEqual([next.code, await left(), existsSync(leftover)], [0, [], false], next.stderr);
    });

    it('does not begin beside another one, nor in a folder with recordings', async () => {
      await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES' });
      const folder = newFolder();
      const run = start(folder);
      await seen(run, /WAITING_FOR_RESOURCES/);
      const beside = await user.run(...CONTRACT, '--record', newFolder());
      assert.match(beside.stderr, /^another jobctl contract runs: process \d+, slice jobctl-contract-/);
      run.child.kill('SIGTERM');
      await ended(run);
      const again = await user.run(...CONTRACT, '--record', folder);
      assert.deepEqual([beside.code, again.code], [4, 2]);
      assert.match(again.stderr, /has recordings already\n/);
      assert.deepEqual(await left(), []);
    });
  });

  describe('jobctl doctor --gcp --record', () => {
    it('makes nothing, and writes reads and refusals that the replay understands', async () => {
      await cloud.become({ roles: ['roles/owner'], denied: ['compute.networks.get'] });
      const folder = newFolder();
      const made = async (): Promise<number> =>
        (await cloud.journal('queued-resource')).length + (await cloud.journal('node')).length;
      const before = await made();
      const { code, stderr } = await user.run(
        'doctor',
        '--gcp',
        ...PLACE,
        '--accelerator',
        'v5litepod-8',
        '--record',
        folder,
      );
      assert.equal(code, 0, stderr);
      assert.deepEqual([await left(), (await made()) - before], [[], 0]);
      const files = recordings(folder);
      const grpc = files
        .filter(({ wire }) => wire === 'grpc')
        .map(({ method, code: end }) => `${method.split('/').at(-1)} ${end}`);
      for (const seen of 'ListNodes 0,ListNodes 7,GetNode 5,GetQueuedResource 5,GetOperation 5,DeleteNode 5,DeleteQueuedResource 5,CreateQueuedResource 3,CreateNode 3'.split(
        ',',
      ))
        assert.ok(grpc.includes(seen), `${seen}: ${grpc.join(', ')}`);
      assert.ok(files.some(({ method, code: end }) => method.startsWith('GET compute /compute/v1/') && end === 403));
      assert.doesNotMatch(JSON.stringify(files), /acme|4711|alice|123456789012/);
      const { wrongReadings, differences } = await replay(recordingsIn(folder));
      assert.deepEqual([wrongReadings, differences], [[], []]);
    });
  });
});

const ENDED_BEFORE = 'the slice ended before it was ACTIVE, and is gone';

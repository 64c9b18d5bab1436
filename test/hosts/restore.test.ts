import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { type AttemptHost, commandHostsOf } from '../../activities/attempt/attempt-hosts.js';
import { outputsOf } from '../../activities/attempt/outputs.js';
import { Restore } from '../../activities/attempt/restore.js';
import type { StorePort } from '../../cloud/store/port.js';
import { createStore } from '../../cloud/store/gcs.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { type OutputsManifest, readManifest } from '../../domain/stored-outputs.js';
import { until } from '../until.js';
import { type Applied, applyModule } from './apply-modules.js';
import { ended, request } from './run.js';
import { type HostSession, withHost } from './session.js';
import { MAY_NOT, StoreWithRights } from './store-with-rights.js';

const MAY_WRITE = { roles: ['roles/storage.objectUser'] } as const;
const OWNER = 'owner@rehearsal.example.com';
const sha = (content: string): string => createHash('sha256').update(content).digest('hex');

describe('what a host stored, put back on another before the next attempt', function () {
  this.timeout(120_000);
  const store = new StoreWithRights();
  const bin = mkdtempSync(join(tmpdir(), 'restore-bin-'));
  before(() => store.start());
  after(async () => {
    await store.cloud.stop();
    rmSync(bin, { recursive: true });
  });
  beforeEach(async () => {
    job = `j${++jobs}`;
    await store.vmsMay(MAY_WRITE);
    for (const name of readdirSync(bin)) rmSync(join(bin, name));
  });
  let jobs = 0;
  let job = '';

  const place = () => createStore({ endpoint: store.cloud.endpoints.store, bucket: 'jobs' });
  const api = (): string => `${store.cloud.endpoints.store}/storage/v1/b/jobs/o`;
  async function read(name: string): Promise<Buffer | undefined> {
    const headers = { authorization: `Bearer ${await store.cloud.token(OWNER)}` };
    const [answer] = (await once(get(place().objectUrl(name) ?? '', { ca: store.cloud.ca, headers }), 'response')) as [
      IncomingMessage,
    ];
    const content = await buffer(answer);
    return answer.statusCode === 200 ? content : undefined;
  }
  async function write(name: string, body: string): Promise<void> {
    const url = `${api().replace('/storage/', '/upload/storage/')}?uploadType=media&name=${encodeURIComponent(name)}`;
    const { status, text } = await store.cloud.ask(url, {
      method: 'POST',
      token: await store.cloud.token(OWNER),
      body,
    });
    assert.equal(status, 200, text);
  }
  async function list(prefix: string) {
    const url = `${api()}?prefix=${encodeURIComponent(prefix)}`;
    const { json } = await store.cloud.ask(url, { token: await store.cloud.token(OWNER) });
    return (json as { items?: { name: string }[] }).items ?? [];
  }
  /** The worker's, as far as a restore needs it. */
  const port = (): StorePort => {
    const its = place();
    const names = { downloadUrl: its.downloadUrl.bind(its), objectUrl: its.objectUrl.bind(its) };
    return { bucket: 'jobs', read, list, ...names } as unknown as StorePort;
  };

  const inputOf = (attempt: number, patterns: readonly string[] = ['out'], everySeconds = 600): AttemptInput =>
    ({
      job: { id: job, run: 'r' },
      attempt,
      spec: {
        slices: 1,
        modules: ['command'],
        command: { run: 'true', hosts: 'all' },
        outputs: { patterns, everySeconds, waitSeconds: 600, restore: true },
      },
      settings: { loginUser: 'bob' },
      slices: [
        { index: 0, uid: 'n', ref: {}, hosts: [0, 1].map((index) => ({ reach: 'ssh', index, internalIp: 'x' })) },
      ],
    }) as unknown as AttemptInput;
  const hostOf = (input: AttemptInput, number = 0): AttemptHost => commandHostsOf(input)[number]!;

  function onHost(work: (session: HostSession) => Promise<void>): Promise<void> {
    const inside = async (session: HostSession): Promise<void> => {
      store.trustOn(session.host);
      await work(session);
    };
    return withHost(inside, { env: { ...store.hostEnvironment, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` } });
  }
  async function start({ connection }: HostSession, script: string, input: AttemptInput, host = 0): Promise<string> {
    const runId = `${job}-a${input.attempt}`;
    const outputs = outputsOf(port(), input, hostOf(input, host));
    await connection.startRun(request(script, { runId, epoch: input.attempt, outputs }));
    return runId;
  }
  async function ran(session: HostSession, script: string, input: AttemptInput, host = 0): Promise<void> {
    const runId = await start(session, script, input, host);
    await ended(session.connection, runId);
    await until('its outputs are stored', async () => (await session.connection.runOutputs(runId)).state === 'stored');
  }
  const planOf = async (input: AttemptInput, host = 0): Promise<ModulePlan> => {
    const restore = Restore.of(port(), input);
    assert.ok(restore, 'this attempt gets something back');
    const find = (): Promise<ModulePlan | undefined> => restore.planFor(hostOf(input, host));
    const plan = await new MockActivityEnvironment().run<[], ModulePlan | undefined, typeof find>(find);
    assert.ok(plan, 'and this host');
    return plan;
  };
  const restored = async ({ connection }: HostSession, input: AttemptInput, host = 0): Promise<Applied> =>
    applyModule(connection, await planOf(input, host));
  async function manifest(attempt = 1): Promise<OutputsManifest> {
    const content = await read(outputManifestObject(job, attempt, 0));
    assert.ok(content, 'a manifest is stored');
    return readManifest(content);
  }

  it('is the same: contents, modes, times, empty folders, links, names of any bytes, and $JOBCTL_OUTPUT_DIR', async () => {
    const script = String.raw`mkdir -p out/deep out/empty; printf a > out/a; chmod 750 out/a; printf a > out/deep/same; : > out/nothing
      head -c 3000000 /dev/zero > out/big; printf c > $'out/deep/new\nline "q" \\ \t'; printf u > $'out/\xff-é'; ln -s deep/../a out/link
      touch -d @1700000000.25 out/a; mkdir "$JOBCTL_OUTPUT_DIR/d"; printf f > "$JOBCTL_OUTPUT_DIR/d/f"; printf no > not-named`;
    await onHost((session) => ran(session, script, inputOf(1)));
    assert.equal((await manifest()).isWhole, true);
    await onHost(async (session) => {
      const { home } = session.host;
      mkdirSync(join(home, 'out'));
      writeFileSync(join(home, 'out/a'), 'of the bundle');
      writeFileSync(join(home, 'out/mine'), 'stays');
      const applied = await restored(session, inputOf(2));
      assert.equal(applied.kind, 'done', applied.output);
      assert.match(applied.output, /restore: 7 files \(3\.0 MB\) of attempt 1 put back, as host 0 stored them at 20/);
      assert.deepEqual(
        [session.read('out/a'), session.read('out/deep/same'), session.read('out/mine')],
        ['a', 'a', 'stays'],
      );
      assert.equal(session.read('out/deep/new\nline "q" \\ \t'), 'c');
      const strange = Buffer.concat([Buffer.from(`${home}/out/`), Buffer.from([0xff]), Buffer.from('-é')]);
      assert.equal(readFileSync(strange, 'utf8'), 'u');
      assert.equal(statSync(join(home, 'out/big')).size, 3_000_000);
      assert.equal(statSync(join(home, 'out/nothing')).size, 0);
      assert.deepEqual(
        [statSync(join(home, 'out/a')).mode & 0o777, statSync(join(home, 'out/a')).mtimeMs],
        [0o750, 1_700_000_000_250],
      );
      assert.deepEqual(readdirSync(join(home, 'out/empty')), []);
      assert.equal(readlinkSync(join(home, 'out/link')), 'a');
      assert.equal(session.read(`.jobctl/outputs/${job}/d/f`), 'f');
      assert.ok(!existsSync(join(home, 'not-named')));
      assert.deepEqual(readdirSync(join(home, '.jobctl/restore')), [], 'nothing is left of the way');
    });
  });

  it('is never half a round: the store had one of its two files when the host was cut off', async () => {
    const script = `mkdir out; printf A1 > out/a; printf B1 > out/b; while [ ! -f go ]; do sleep 0.05; done
      printf A2 > out/a.new; printf B2 > out/b.new; mv out/a.new out/a; mv out/b.new out/b; sleep 600`;
    await onHost(async (session) => {
      await start(session, script, inputOf(1, ['out'], 0.3));
      await until('the first round is stored', async () => (await manifest().catch(() => undefined))?.files === 2);
      await store.cloud.admin('refuse', {
        method: 'objects.insert',
        code: 'UNAVAILABLE',
        nameMatches: `contents/${sha('B2')}`,
      });
      writeFileSync(join(session.host.home, 'go'), '');
      await until('the new a is stored', () => read(outputContentObject(job, sha('A2'))));
      const state = `.jobctl/runs/${job}-a1/outputs/state`;
      await until('the round is given up', () => session.read(state).includes('HTTP 503'));
      // The host ends here, with all of its processes.
    });
    await store.cloud.ask(`${store.cloud.endpoints.admin}/admin/refuse`, { method: 'DELETE' });
    assert.equal(await read(outputContentObject(job, sha('B2'))), undefined);
    await onHost(async (session) => {
      const applied = await restored(session, inputOf(2));
      assert.equal(applied.kind, 'done', applied.output);
      assert.deepEqual([session.read('out/a'), session.read('out/b')], ['A1', 'B1']);
    });
  });

  it('is no round in which a file changed while another was read: the one before stays', async () => {
    // What the host hashes with: as it ends, a file of the same checkpoint is another one.
    const disturb = '[ ! -f "$HOME/disturb" ] || { date +%s%N >> "$HOME/out/log"; echo >> "$HOME/disturbed"; }';
    writeFileSync(join(bin, 'sha256sum'), `#!/bin/sh\n/usr/bin/sha256sum "$@"\ncode=$?\n${disturb}\nexit $code\n`);
    chmodSync(join(bin, 'sha256sum'), 0o755);
    const script = `mkdir out; printf 1 > out/step; printf 0 > out/log; while [ ! -f go ]; do sleep 0.05; done; printf 2 > out/step; sleep 600`;
    const input = inputOf(1, ['out'], 0.3);
    await onHost(async (session) => {
      await start(session, script, input);
      const first = await until('a whole round is stored', async () => {
        const found = await manifest().catch(() => undefined);
        return found?.files === 2 && found.isWhole ? found : undefined;
      });
      writeFileSync(join(session.host.home, 'disturb'), '');
      writeFileSync(join(session.host.home, 'go'), '');
      // Every try was disturbed, also those in which 2 was stored.
      const lines = (): number => session.read('disturbed').split('\n').length - 1;
      await until('it was tried several times', () => existsSync(join(session.host.home, 'disturbed')) && lines() >= 4);
      assert.equal((await manifest()).at, first.at);
    });
    await onHost(async (session) => {
      assert.equal((await restored(session, inputOf(2))).kind, 'done');
      assert.deepEqual([session.read('out/step'), session.read('out/log')], ['1', '0']);
    });
  });

  it('is a round though logs grow all the while', async () => {
    // Behind the hashes, before the last look: each round has something to send, and so another line comes.
    const grow =
      '[ ! -d "$HOME/out" ] || { echo line >> "$HOME/out/train.log"; echo e >> "$HOME/out/events.out.tfevents.1.vm"; }';
    writeFileSync(join(bin, 'curl'), `#!/bin/sh\n${grow}\nexec /usr/bin/curl "$@"\n`);
    chmodSync(join(bin, 'curl'), 0o755);
    const script = `mkdir out; printf 1 > out/step; echo begin > out/train.log; while [ ! -f go ]; do sleep 0.05; done; printf 2 > out/step; sleep 600`;
    await onHost(async (session) => {
      await start(session, script, inputOf(1, ['out'], 0.3));
      const stored = (step: string): Promise<unknown> =>
        until(`step ${step} is stored, whole`, async () => {
          const found = await manifest().catch(() => undefined);
          return found?.isWhole && found.entries.some((entry) => 'sha256' in entry && entry.sha256 === sha(step));
        });
      await stored('1');
      writeFileSync(join(session.host.home, 'go'), '');
      await stored('2');
    });
    await onHost(async (session) => {
      assert.equal((await restored(session, inputOf(2))).kind, 'done');
      assert.equal(session.read('out/step'), '2');
    });
  });

  it('is left alone on a host that ran that attempt in the same place, and put back where it had another', () =>
    onHost(async (session) => {
      await ran(session, 'mkdir out; printf stored > out/a', inputOf(1));
      writeFileSync(join(session.host.home, 'out/a'), 'newer');
      const kept = await restored(session, inputOf(2));
      assert.match(kept.output, /nothing is put back: attempt 1 ran here as host 0, and its files are on this host/);
      assert.equal(session.read('out/a'), 'newer');
      await ran(session, 'true', inputOf(2), 1);
      writeFileSync(join(session.host.home, `.jobctl/runs/${job}-a1/plan`), 'outputs_host=1\n');
      assert.equal((await restored(session, inputOf(3))).kind, 'done');
      assert.equal(session.read('out/a'), 'stored');
    }));

  it('is put back on a machine that is here again, with what it stored before the attempt elsewhere', async () => {
    await onHost(async (session) => {
      await ran(session, 'mkdir out; printf one > out/a', inputOf(1));
      await onHost((other) => ran(other, 'mkdir out; printf two > out/a', inputOf(2)));
      assert.equal((await restored(session, inputOf(3))).kind, 'done');
      assert.equal(session.read('out/a'), 'two');
    });
  });

  const stored = (): Promise<void> =>
    onHost((session) => ran(session, 'mkdir out; printf good > out/a; printf more > out/b', inputOf(1)));
  /** One round for all failures: each mends what it spoils. */
  let spoilt = '';
  const failures: Record<string, { readonly spoil: () => Promise<void> | void; readonly want: RegExp }> = {
    'whose content somebody changed': {
      spoil: () => write(outputContentObject(job, sha('good')), 'evil'),
      want: /out\/a: what is stored is not what its host stored \(SHA-256\)/,
    },
    'whose content is longer': {
      spoil: () => write(outputContentObject(job, sha('good')), 'evil, and more of it'),
      want: /out\/a: what is stored is not what its host stored \(SHA-256\)/,
    },
    'whose content is gone': {
      spoil: () => store.remove(outputContentObject(job, sha('good'))),
      want: /out\/a: its content is not in the store any more \(.*HTTP 404\)/,
    },
    'that the host may not read': { spoil: () => store.vmsMay(MAY_NOT), want: /may not read gs:\/\/.* \(HTTP 403\)/ },
    'for which there is no room': {
      spoil: () => {
        writeFileSync(join(bin, 'df'), '#!/bin/sh\nprintf "F B U Available\\n/ 1 1 -1\\n"\n');
        chmodSync(join(bin, 'df'), 0o755);
      },
      want: /no space left on device: 2 files \(8 B\) of attempt 1 do not fit/,
    },
  };
  for (const [name, { spoil, want }] of Object.entries(failures))
    it(`is no round ${name}: the set-up fails with the reason, and nothing is written`, async () => {
      if (spoilt === '') await stored().then(() => (spoilt = job));
      job = spoilt;
      await write(outputContentObject(job, sha('good')), 'good');
      await spoil();
      await onHost(async (session) => {
        writeFileSync(join(session.host.home, '.profile'), `PATH=${bin}:$PATH\n`);
        const applied = await restored(session, inputOf(2));
        assert.equal(applied.kind, 'failed', applied.output);
        assert.match(applied.output, want);
        assert.ok(!existsSync(join(session.host.home, 'out')), 'no file of it');
      });
    });

  it('goes on after a store that did not answer, with what had arrived', async () => {
    await stored();
    const refusal = { method: 'objects.get', code: 'UNAVAILABLE', nameMatches: `contents/${sha('more')}` };
    const plan = await planOf(inputOf(2));
    await store.cloud.admin('refuse', refusal);
    await onHost(async (session) => {
      const applied = await applyModule(session.connection, plan);
      assert.equal(applied.kind, 'failed', applied.output);
      assert.match(applied.output, /the store answers with HTTP 503; 1 of 2 contents are not here/);
      assert.ok(existsSync(join(session.host.home, `.jobctl/restore/${job}/${sha('good')}`)));
      assert.ok(!existsSync(join(session.host.home, 'out')));
      await store.cloud.ask(`${store.cloud.endpoints.admin}/admin/refuse`, { method: 'DELETE' });
      await store.remove(outputContentObject(job, sha('good')));
      assert.equal((await applyModule(session.connection, plan)).kind, 'done');
      assert.deepEqual([session.read('out/a'), session.read('out/b')], ['good', 'more']);
    });
  });

  it('is of names that are longer together than an argument of a command, or the arguments of one, may be', async () => {
    const deep = Array.from({ length: 14 }, () => 'd'.repeat(250)).join('/');
    await onHost((session) =>
      ran(session, `mkdir -p out/${deep}; cd out/${deep}; for i in {1..60}; do echo $i > f$i; done`, inputOf(1)),
    );
    const { isWhole, files, entries } = await manifest();
    assert.deepEqual([isWhole, files, entries.length], [true, 60, 60]);
    await onHost(async (session) => {
      const applied = await restored(session, inputOf(2));
      assert.equal(applied.kind, 'done', applied.output);
      assert.equal(readdirSync(join(session.host.home, 'out', deep)).length, 60);
      assert.equal(session.read(`out/${deep}/f59`), '59\n');
    });
  });
});

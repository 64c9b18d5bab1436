import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputManifestObject } from '../../domain/store-layout.js';
import { readManifest } from '../../domain/stored-outputs.js';
import { storedLog } from '../end-to-end/stored-log.js';
import type { JobctlUser } from '../end-to-end/jobctl-process.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { Hopeless, until } from '../until.js';

/** One kind of machines, as the suite of all kinds asks it. */
export interface KindUnderTest {
  readonly name: string;
  /** Sections of a job file: a gang of all `hosts`. */
  readonly request: object;
  /** Those that run the command: two or more, but for a RayCluster, whose head alone does. */
  readonly hosts: number;
  /** Variables that the command finds set, beside those of every job. */
  readonly variables?: readonly string[];
  /** Programs that the machines' image has on its own PATH. */
  readonly programs?: readonly string[];
  /** Of `exec`, so that hosts let its user in. */
  readonly loginFlags: readonly string[];
  /** Has a job lose the machines that it has: one host is told before, and the job goes on on others. */
  takeMachines(job: string): Promise<void>;
}

/** A stack with a pool in which all these kinds are, and what a user of it has. */
export interface KindsUnderTest {
  readonly stack: TestStack;
  readonly user: JobctlUser;
  readonly pool: string;
  readonly kinds: readonly KindUnderTest[];
  stop(): Promise<void>;
}

interface Patience {
  /** For a stack with all that its kinds need. */
  readonly startMs: number;
  readonly stepMs: number;
}

/** 3 MB, in the bundle of each job: more than goes along with a script. */
const DATA = 'a line of the bundle\n'.repeat(150_000);
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Says what arrived, writes a checkpoint, and saves once more as it hears a notice. It prints nothing secret. A machine that shuts down may signal before its notice is there. */
const TRAIN = `#!/bin/bash
me=$JOBCTL_SLICE_INDEX-$JOBCTL_HOST_INDEX
trap 'told=yes' TERM
echo "bundle $(sha256sum < data.txt | cut -c 1-64)"
echo "files $(cat ~/config.toml)"
echo "secret $(printf %s "$TOKEN" | sha256sum | cut -c 1-64)"
for each in $NEEDED; do [ -n "\${!each}" ] || echo "lacks $each"; done
for each in $PROGRAMS; do type "$each" > /dev/null 2>&1 || echo "lacks $each in $PATH"; done
echo "found $(cat out/checkpoint 2> /dev/null)"
mkdir -p out && echo "of attempt $JOBCTL_ATTEMPT of $(env | grep -c ^JOBCTL_)" > out/.new && mv out/.new out/checkpoint
seq 1 300000 > out/large
echo ready
until [ -n "$told" ]; do sleep 0.2; done
until [ -s "$JOBCTL_NOTICE_FILE" ]; do sleep 0.1; done
echo "told $(cat "$JOBCTL_NOTICE_FILE")"
echo last > out/last
cp "$JOBCTL_NOTICE_FILE" "$JOBCTL_OUTPUT_DIR/notice"
exit 0
`;
const LARGE = Array.from({ length: 300_000 }, (_, at) => `${at + 1}\n`).join('');

interface Named {
  readonly name: string;
}

/**
 * What is promised of a job's machines, of whichever kind they are; a row for each promise, a column for each kind.
 * @param names of the kinds that `open` resolves to
 */
export function exerciseKinds(
  names: readonly string[],
  { startMs, stepMs }: Patience,
  open: () => Promise<KindsUnderTest>,
): void {
  let all: KindsUnderTest;
  const jobs = new Map<string, string>();
  const broken = new Set<KindUnderTest>();

  before(async function () {
    this.timeout(startMs);
    all = await open();
    assert.deepEqual(
      all.kinds.map(({ name }) => name),
      names,
    );
    const put = await all.user.here('secret', 'put', 'token', '--from-file', secretFile());
    assert.equal(put.code, 0, put.stderr);
  });
  after(() => all?.stop());

  const secretFile = (): string => {
    const file = join(all.user.home, 'token.txt');
    writeFileSync(file, 's3cret');
    return file;
  };
  const log = (kind: KindUnderTest, host: number, attempt = 1): Promise<string> =>
    storedLog(all.stack.store, { id: jobOf(kind), stream: 'command', host, attempt });
  const jobOf = (kind: KindUnderTest): string =>
    jobs.get(kind.name) ?? assert.fail(`${kind.name}: it was not submitted`);
  const numbers = ({ hosts }: KindUnderTest): readonly number[] => Array.from({ length: hosts }, (_, at) => at);

  /** A failure says what the job says. */
  const told = <T>(kind: KindUnderTest, claim: string, look: () => Promise<T | undefined | false>): Promise<T> =>
    until(`${kind.name}: ${claim}`, look, stepMs).catch(async (error: unknown) => {
      const { events } = await all.stack.jobs.describe(jobOf(kind));
      throw new Error(`${String(error)}\n${events.map(({ text }) => text).join('\n')}\n${all.stack.tail(80)}`);
    });
  /** Looks at the logs of an attempt. Those of one that is over, and of a job whose next one runs, are what they are. */
  const onAll = (kind: KindUnderTest, claim: string, attempt: number, isThere: (text: string) => boolean) =>
    told(kind, claim, async () => {
      const { phase, attempt: current } = await all.stack.jobs.describe(jobOf(kind));
      const isOver = phase === 'paused' || (current > attempt && phase === 'running');
      const logs = await Promise.all(numbers(kind).map((host) => log(kind, host, attempt)));
      if (logs.length > 0 && logs.every(isThere)) return logs;
      if (isOver) throw new Hopeless(`${kind.name}: ${claim}: ${JSON.stringify(logs.map((text) => text.slice(-300)))}`);
      return false;
    });

  /** One promise: all kinds at once, and a verdict for each. */
  function row(promise: string, keep: (kind: KindUnderTest) => Promise<void>): void {
    describe(promise, function () {
      this.timeout(20 * stepMs);
      const kept = new Map<string, Promise<void>>();
      before(() => {
        for (const kind of all.kinds) {
          const keeping = broken.has(kind)
            ? Promise.reject(new Error('after a promise that was not kept'))
            : keep(kind);
          keeping.catch(() => broken.add(kind));
          kept.set(kind.name, keeping);
        }
      });
      for (const name of names) it(name, () => kept.get(name));
    });
  }

  row('a bundle, files and a secret arrive on all hosts of the gang', async (kind) => {
    const name = `kind-${kind.name.toLowerCase().replaceAll(' ', '-')}`;
    const folder = join(all.user.home, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'data.txt'), DATA);
    writeFileSync(join(folder, 'train.sh'), TRAIN);
    writeFileSync(join(folder, 'config.toml'), 'learning_rate = 0.1\n');
    const job = {
      ...{ name, pool: all.pool, ...kind.request, grace: 20, bundle: '.', files: ['config.toml'] },
      env: { NEEDED: (kind.variables ?? []).join(' '), PROGRAMS: (kind.programs ?? []).join(' ') },
      ...{ secrets: { TOKEN: 'token' }, outputs: { paths: ['out'], every: '10s', restore: true } },
      command: { run: 'exec bash train.sh' },
    };
    writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
    const submitted = await all.user.here('submit', '--name', name, join(folder, 'job.yaml'));
    assert.equal(submitted.code, 0, submitted.stderr);
    jobs.set(kind.name, name);
    const slices = await told(kind, 'it has its hosts', async () => {
      const found = (await all.stack.jobs.describe(name)).slices;
      return found.some(({ hosts: its }) => (its ?? []).length > 0) && found;
    });
    assert.equal(slices.flatMap(({ hosts: its }) => its ?? []).length, kind.hosts, 'the whole gang');
    for (const text of await onAll(kind, 'it is ready', 1, (printed) => printed.includes('ready\n')))
      assert.equal(
        text,
        `bundle ${sha256(DATA)}\nfiles learning_rate = 0.1\nsecret ${sha256('s3cret')}\nfound \nready\n`,
      );
  });

  row('exec reaches each host', async (kind) => {
    const programs = (kind.programs ?? []).map((program) => `type ${program} && `).join('');
    const line = `${programs}cat "$(find ~ -path "*/out/checkpoint" | head -n 1)"`;
    const { code, stdout, stderr } = await all.user.here('exec', jobOf(kind), ...kind.loginFlags, '--', line);
    assert.equal(code, 0, stdout + stderr);
    assert.equal(stdout.match(/of attempt 1 of/g)?.length, numbers(kind).length, stdout);
  });

  row('cp brings the files of each host', async (kind) => {
    const folder = join(all.user.home, `copied-${jobOf(kind)}`);
    const words = ['cp', `${jobOf(kind)}:all:config.toml`, folder, ...kind.loginFlags];
    const { code, stderr } = await all.user.here(...words);
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      readdirSync(folder).toSorted(),
      numbers(kind).map((host) => `host-${host}`),
    );
    for (const host of numbers(kind))
      assert.equal(readFileSync(join(folder, `host-${host}`, 'config.toml'), 'utf8'), 'learning_rate = 0.1\n');
  });

  row('sync brings a folder to each host, and only what differs', async (kind) => {
    const folder = join(all.user.home, `synced-${jobOf(kind)}`);
    mkdirSync(join(folder, 'deep'), { recursive: true });
    writeFileSync(join(folder, 'deep', 'tool'), 'new tool\n', { mode: 0o755 });
    const words = ['sync', '--once', folder, `${jobOf(kind)}:`, ...kind.loginFlags];
    const first = await all.user.here(...words);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, new RegExp(`  1 file, 9 B, ${kind.hosts} hosts?: deep/tool\n$`));
    const again = await all.user.here(...words);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, new RegExp(`is in step on ${kind.hosts} hosts?\n$`));
    const line = `cat ~/synced-${jobOf(kind)}/deep/tool && test -x ~/synced-${jobOf(kind)}/deep/tool`;
    const { code, stdout } = await all.user.here('exec', jobOf(kind), ...kind.loginFlags, '--', line);
    assert.deepEqual([code, stdout.match(/new tool/g)?.length], [0, numbers(kind).length], stdout);
  });

  row('stacks says what its processes do on each host', async (kind) => {
    const words = ['stacks', jobOf(kind), ...kind.loginFlags, '--no-install', '-o', 'json'];
    const { code, stdout, stderr } = await all.user.here(...words);
    assert.equal(code, 0, stderr);
    const { hosts: said } = JSON.parse(stdout) as {
      readonly hosts: readonly {
        readonly host: number;
        readonly problem?: string;
        readonly processes: readonly Named[];
      }[];
    };
    assert.deepEqual(
      said.map(({ host, problem, processes }) => [host, problem, processes.some(({ name }) => name === 'bash')]),
      numbers(kind).map((host) => [host, undefined, true]),
    );
  });

  row('what it wrote is in the store while it runs, whole', async (kind) => {
    for (const host of numbers(kind)) {
      const manifest = await told(kind, `host ${host} has stored a round`, async () => {
        const content = await all.stack.store.read(outputManifestObject(jobOf(kind), 1, host));
        const read = content && readManifest(content);
        return read?.isWhole === true && read.files === 2 && read;
      });
      assert.deepEqual(manifest.entries.map(({ path }) => path).toSorted(), ['out/checkpoint', 'out/large']);
    }
  });

  row('all hosts of the gang hear that one of them is taken, and why', async (kind) => {
    await kind.takeMachines(jobOf(kind));
    await onAll(kind, 'all were told', 1, (printed) => /\ntold \{"v":1,"cause":/.test(printed));
  });

  row('outputs.restore puts it back on other machines', async (kind) => {
    for (const text of await onAll(kind, 'it is ready again', 2, (printed) => printed.includes('ready\n')))
      assert.match(text, /\nfound of attempt 1 of /);
  });

  row('all hosts of the gang hear of a stop, and why', async (kind) => {
    const stopped = await all.user.here('stop', jobOf(kind));
    assert.equal(stopped.code, 0, stopped.stderr);
    await onAll(kind, 'all were told', 2, (printed) => /\ntold \{"v":1,"cause":"stop",/.test(printed));
  });

  row('files come back, those of its last moment too', async (kind) => {
    await told(kind, 'it is stopped', async () => (await all.stack.jobs.row(jobOf(kind))).phase === 'paused');
    const folder = join(all.user.home, `results-${jobOf(kind)}`);
    const got = await all.user.here('download', jobOf(kind), '--host', 'all', folder);
    assert.equal(got.code, 0, got.stderr);
    assert.deepEqual(
      readdirSync(folder).toSorted(),
      numbers(kind).map((host) => `host-${host}`),
    );
    for (const host of numbers(kind)) {
      const file = (path: string): string => readFileSync(join(folder, `host-${host}`, path), 'utf8');
      assert.equal(sha256(file('out/large')), sha256(LARGE));
      assert.equal(file('out/last'), 'last\n');
      assert.match(file('notice'), /"cause":"stop"/);
    }
    assert.equal((await all.user.here('cancel', jobOf(kind))).code, 0);
  });
}

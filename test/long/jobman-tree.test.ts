import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { JobctlUser, type Finished } from '../end-to-end/jobctl-process.js';
import { makeKeyPair } from '../hosts/ssh-host.js';
import { until } from '../until.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const TREE = fileURLToPath(new URL('../cli/migrating/jobman/', import.meta.url));
/** How the tree's README runs each file, and what it says that the job prints. */
const RUNS = [...readFileSync(join(TREE, 'README.md'), 'utf8').matchAll(/^ +jobman (create \S+) +# (.+)$/gm)].map(
  ([, line = '', prints = '']) => ({ line, prints }),
);
const BUCKETS = ['ann_us_east1_d', 'ann_checkpoints'] as const;

/** As a user of JobMan who types `jobctl` for `jobman`: from the root of the tree, on the local stack. */
describe("a tree laid out as JobMan's repository is, on a live stack", function () {
  this.timeout(900_000);
  const home = mkdtempSync(join(tmpdir(), 'jobman-'));
  const root = join(home, 'jobman');
  const user = new JobctlUser({
    HOME: home,
    PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
    XDG_CACHE_HOME: join(process.env['HOME'] ?? '/root', '.cache'),
    LANG: 'C.UTF-8',
  });
  const inTree = (line: string): Promise<Finished> => user.shell(`cd ${root} && ${line}`).finished;
  const done = async (line: string): Promise<Finished> => {
    const finished = await inTree(line);
    assert.equal(finished.code, 0, `${line}\n${finished.stdout}${finished.stderr}`);
    return finished;
  };
  /** The lines that a message holds in the place of one that does not run. */
  const heldIn = async (line: string): Promise<readonly string[]> => {
    const { code, stderr } = await inTree(line);
    assert.equal(code, 2, stderr);
    const lines = stderr.split('\n').flatMap((each) => /^ {2}(jobctl .*)$/.exec(each)?.[1] ?? []);
    assert.ok(lines.length > 0, stderr);
    return lines;
  };
  const ids = new Map<string, string>();
  const phaseOf = async (id: string): Promise<string> =>
    (JSON.parse((await done(`jobctl status ${id} --output json`)).stdout) as { phase: string }).phase;
  const logOf = async (id: string): Promise<string> => (await done(`jobctl logs ${id}`)).stdout;

  before(async function () {
    needsConfinement(this);
    mkdirSync(join(home, 'bin'));
    mkdirSync(join(home, '.ssh'));
    symlinkSync(MAIN, join(home, 'bin/jobctl'));
    cpSync(TREE, root, { recursive: true });
    // A clone, as its README makes one: its files are of one repository, so nobody is asked about them.
    execFileSync('git', ['init', '--quiet', root]);
    const pair = makeKeyPair();
    writeFileSync(join(home, '.ssh/id_rsa'), pair.private, { mode: 0o600 });
    writeFileSync(join(home, '.ssh/id_rsa.pub'), pair.public);
    await done('jobctl dev up');
    const { store } = JSON.parse(readFileSync(join(user.home, 'context.json'), 'utf8')) as {
      store: { endpoint: string };
    };
    for (const bucket of BUCKETS) {
      const place = { bucket, endpoint: store.endpoint, projectId: 'rehearsal' };
      await ensureBucket(place);
      await createStore(place).write('corpus/a', 'hello from the bucket', 'absent', 'text/plain');
    }
    for (const { line } of RUNS) ids.set(line, (await done(`jobctl ${line}`)).stdout.trim());
  });
  after(async () => {
    await user.leave();
    rmSync(home, { recursive: true, force: true });
  });

  it('its README runs each of its files', () => assert.equal(RUNS.length, 8));

  for (const { line, prints } of RUNS)
    it(`${line}: runs to its end and prints: ${prints}`, async () => {
      const id = ids.get(line) ?? assert.fail(line);
      const { code, stdout, stderr } = await inTree(`jobctl wait ${id}`);
      assert.equal(code, 0, `${stdout}${stderr}${(await inTree(`jobctl logs ${id}`)).stdout}`);
      assert.ok((await logOf(id)).includes(prints), await logOf(id));
    });

  it("JobMan's verbs on a job that runs: each runs, or its message holds the lines that do", async () => {
    const id = (await done('jobctl create --config=tests/test_hold.yaml')).stdout.trim();
    await until('it holds', async () => (await logOf(id)).includes('holding'), 120_000);
    for (const line of ['list', 'queue', `status ${id}`, `stop ${id}`, `start ${id}`, `reboot ${id}`])
      await done(`jobctl ${line}`);
    for (const line of [`run ${id} --cmd-only`, `run ${id} --force`, `venv ${id}`])
      for (const held of await heldIn(`jobctl ${line}`)) {
        // A job that is set up is set up again only after that: until then it is refused, and nothing changes.
        const taken = async (): Promise<Finished | undefined> => {
          const finished = await inTree(held);
          return finished.code === 4 ? undefined : finished;
        };
        await until('it runs', async () => (await phaseOf(id)) === 'running', 120_000);
        const { code, stderr } = await until('it is taken', taken, 120_000);
        assert.equal(code, 0, `${held}\n${stderr}`);
      }
    for (const held of await heldIn(`jobctl clean ${id}`)) {
      if (held.includes('--purge')) await inTree(`jobctl wait ${id}`);
      await done(`${held} --yes`);
    }
    // What Temporal has of it stays until its retention.
    assert.equal(await phaseOf(id), 'cancelled');
    assert.match((await inTree(`jobctl logs ${id}`)).stderr, /no output of its command is stored/);
  });

  it('`clean --all`: the line in its message ends the jobs that are left', async () => {
    const id = (await done('jobctl create --config=tests/test_hold.yaml')).stdout.trim();
    for (const held of await heldIn('jobctl clean --all')) await done(`${held} --yes`);
    const { code, stderr } = await inTree(`jobctl wait ${id}`);
    assert.equal(code, 130, stderr);
  });

  it("a job spec of AXLearn's Bastion, imported: its variables, its command, its clean-up", async () => {
    const spec = {
      version: 3,
      name: 'ann-eval',
      command: 'echo evaluated $WANDB_MODE',
      cleanup_command: 'echo cleaned $WANDB_MODE',
      env_vars: { WANDB_MODE: 'offline' },
      metadata: {
        user_id: 'ann',
        project_id: 'none',
        creation_time: '2026-11-23 09:30:00.000000',
        resources: { v4: 8 },
        priority: 5,
        job_id: '0e8c',
        version: null,
      },
    };
    writeFileSync(join(root, 'spec.json'), JSON.stringify(spec));
    await done('jobctl import bastion-jobspec spec.json -o spec.yaml');
    const id = (await done('jobctl submit spec.yaml --zone us-central2-b')).stdout.trim();
    await done(`jobctl wait ${id}`);
    assert.match(await logOf(id), /evaluated offline/);
    assert.match((await done(`jobctl logs ${id} --module hook-finally`)).stdout, /cleaned offline/);
  });

  it("Bastion's keys in a job file: the message says what to write, and that runs", async () => {
    const job = 'job: { name: keys }\ntpu: { accelerator: v6e-1, zone: us-east1-d }\n';
    const command = 'command:\n  run: test -e /tmp/tried && echo second $A || { touch /tmp/tried; exit 7; }\n';
    const foreign = 'max_tries: 2\nenv_vars: { A: "1" }\ncleanup_command: echo cleaned up\n';
    writeFileSync(join(root, 'keys.yaml'), job + command + foreign);
    const { code, stderr } = await inTree('jobctl create keys.yaml');
    assert.equal(code, 2, stderr);
    const written = [...stderr.matchAll(/^ {2}write ((?:retries|env|hooks): .*?)(?:, which .*)?$/gm)].map(
      ([, text]) => text,
    );
    assert.equal(written.length, 3, stderr);
    writeFileSync(join(root, 'keys.yaml'), `${job}${command}${written.join('\n')}\n`);
    const id = (await done('jobctl create keys.yaml')).stdout.trim();
    await done(`jobctl wait ${id}`);
    assert.match(await logOf(id), /second 1/);
    assert.match((await done(`jobctl logs ${id} --module hook-finally`)).stdout, /cleaned up/);
  });
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { hostKeyObject, jobPrefix } from '../../domain/store-layout.js';
import { until } from '../until.js';
import { startNamespace } from '../hosts/namespace.js';
import { hasOpenSshd, startOpenSshd } from '../hosts/open-sshd.js';
import { jobFile } from '../end-to-end/job-files.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import { TestStack, writeKeyPair } from '../end-to-end/test-stack.js';

const TOKEN = 'hf_very-secret-TOKEN-value';

/** One job on four hosts, whose key and token are secrets, for all of these. */
describe('verbs on the hosts of a job, over real SSH', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let folder: string;
  let id: string;
  let user: JobctlUser;
  const run = async (...args: string[]) => {
    const { code: exitCode, ...output } = await user.run(...args);
    return { exitCode, ...output };
  };

  before(async function () {
    this.timeout(120_000);
    folder = mkdtempSync(join(tmpdir(), 'ssh-verbs-'));
    stack = await TestStack.start();
    user = JobctlUser.of(stack, { JOBCTL_SECRET_STORE: stack.secretStore, HOME: folder });
    const secrets = openSecretStore(stack.secretStore);
    await secrets.put('hf', `${TOKEN}\n`);
    await secrets.put('my-key', readFileSync(writeKeyPair(folder).privateKeyFile, 'utf8'));
    const command = 'echo "token of ${#HF_TOKEN} characters"; sleep 1000';
    const more = {
      secrets: { HF_TOKEN: 'hf' },
      ssh: { private_key: 'secret:my-key' },
      setup: { modules: ['mark', 'command'] },
      modules: { mark: { check: 'test -f ~/mark', setup: [{ name: 'make', run: 'echo made >> ~/mark' }] } },
    };
    ({ id } = await stack.jobs.submit({ job: jobFile(command, more), user: 'tester' }));
    await until('the command runs', async () => (await stack.jobs.row(id)).phase === 'running').catch(
      (error: unknown) => {
        throw new Error(`${String(error)}\n${stack.tail()}`);
      },
    );
  });
  after(async () => {
    await stack.stop();
    rmSync(user.home, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  it('logs of a host or a module that the job has not is an error that says what it has', async () => {
    const refusals: Record<string, RegExp> = {
      '--host 4': /^--host 4: .* has no such host\n {2}it has 4: 0 to 3\n$/,
      '--module nope': /^--module nope: .* has no such module\n {2}its modules are mark\n$/,
    };
    for (const [flags, says] of Object.entries(refusals)) {
      const { exitCode, stderr } = await run('logs', id, ...flags.split(' '));
      assert.match(stderr, says);
      assert.equal(exitCode, 3);
    }
    assert.equal((await run('logs', id, '--host', '3')).exitCode, 0);
  });

  it('exec runs on all hosts, labels their lines, and exits with the worst code', async () => {
    const { exitCode, stdout, stderr } = await run('exec', id, '--', 'echo on $(hostname); exit ${HOSTNAME##*-}');
    const lines = stdout.trimEnd().split('\n').toSorted();
    assert.equal(lines.length, 4, stderr);
    lines.forEach((line, host) => assert.match(line, new RegExp(`^${host} │ on .*-w-${host}$`)));
    assert.equal(exitCode, 3);
    assert.match(stderr, /host 2: ended with code 2\nhost 3: ended with code 3\n$/);
  });

  it('several words arrive as they are; of one host the bytes are its own; JSON tells hosts apart', async () => {
    const words = ["a'b", '$HOME', '  two  blanks', '*'];
    const [one, json] = await Promise.all([
      run('exec', id, '--host', '1', '--', 'printf', '[%s]', ...words),
      run('exec', id, '--host', '3,0', '--output', 'json', '--', 'echo out; echo err >&2'),
    ]);
    assert.equal(one.stdout, words.map((word) => `[${word}]`).join(''));
    const { hosts } = JSON.parse(json.stdout) as { hosts: Record<string, unknown>[] };
    assert.deepEqual(
      hosts.map(({ host, exitCode, stdout: out, stderr: err }) => [host, exitCode, out, err]),
      [
        [3, 0, 'out\n', 'err\n'],
        [0, 0, 'out\n', 'err\n'],
      ],
    );
  });

  it('ssh is the OpenSSH client: options and commands go through, and its exit code comes back', async () => {
    const there = await run('ssh', id, '--host', '2', '--', '-T', 'hostname; exit 7');
    assert.deepEqual([there.exitCode, there.stdout.endsWith('-w-2\n')], [7, true], there.stderr);
  });

  it('cp brings folders to all hosts and back, whole; what is there is not sent again', async () => {
    mkdirSync(join(folder, 'src/sub'), { recursive: true });
    writeFileSync(join(folder, 'src/a.bin'), Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251)));
    writeFileSync(join(folder, "src/sub/a b'c.txt"), 'x\n', { mode: 0o640 });
    const first = await run('cp', join(folder, 'src'), `${id}:work/`);
    assert.equal(first.stderr, `8 files (280008 bytes) to 4 of 4 hosts of ${id}\n`);
    const [again, back, missing] = await Promise.all([
      run('cp', join(folder, 'src'), `${id}:work/`),
      run('cp', `${id}:1:work/src`, join(folder, 'back')),
      run('cp', `${id}:nope`, join(folder, 'never')),
    ]);
    assert.equal(again.stderr, `0 files (0 bytes) to 4 of 4 hosts of ${id}, 8 there already\n`);
    assert.equal(back.exitCode, 0, back.stderr);
    for (const name of ['a.bin', "sub/a b'c.txt"])
      assert.ok(readFileSync(join(folder, 'back', name)).equals(readFileSync(join(folder, 'src', name))), name);
    assert.equal(missing.exitCode, 1);
    assert.match(missing.stderr, /host 0: .*nope.*No such file/);
    const same = await run('cp', `${id}:1:work/src`, folder);
    assert.equal(same.stderr, `0 files (0 bytes) from 1 of 1 host of ${id}, 2 there already\n`);
  });

  it('cp from hosts to a full disk says whose disk it is, and leaves nothing there', async () => {
    const full = await startNamespace('mount -t tmpfs -o size=16k none /mnt');
    try {
      const there = `/proc/${full.enter[full.enter.indexOf('--target') + 1]}/root/mnt`;
      const { exitCode, stderr } = await run('cp', `${id}:1:work/src`, join(there, 'src'));
      assert.equal(exitCode, 1);
      assert.match(
        stderr,
        /\nhost 1: \S+\/src\/a\.bin on this computer: the disk is full: 70\.0 kB are needed, and [\d.]+ k?B are free/,
      );
      assert.ok(!readdirSync(join(there, 'src')).some((name) => name.includes('a.bin')));
    } finally {
      full.kill();
    }
  });

  it('setup makes a module ready again beside the command: unchanged it stays, forced it is done, an unknown one is refused', async () => {
    const marks = async (): Promise<string> => (await run('exec', id, '--', 'grep -c made ~/mark')).stdout;
    const ended = (times: number) =>
      until(`${times} set-ups that were asked for are over`, async () => {
        const { events } = await stack.jobs.describe(id);
        return (
          events.filter(({ text }) => text === 'the set-up that was asked for is done on all hosts').length === times
        );
      });
    assert.match(await stack.jobs.setUp(id, 'ann'), /mark on all hosts, what is unchanged stays as it is/);
    await ended(1);
    assert.match(await stack.jobs.setUp(id, 'ann', { modules: ['mark'], force: true }), /whatever is there/);
    await ended(2);
    assert.deepEqual((await marks()).trimEnd().split('\n').toSorted(), ['0 │ 2', '1 │ 2', '2 │ 2', '3 │ 2']);
    await assert.rejects(stack.jobs.setUp(id, 'ann', { modules: ['venv'] }), /has no module venv: it has mark/);
    assert.equal((await stack.jobs.row(id)).phase, 'running');
  });

  it('a host that is not there is exit 3, an ended job 4, each with what there is', async () => {
    const wrong = await run('exec', id, '--host', '4', '--', 'true');
    assert.deepEqual([wrong.exitCode, wrong.stderr], [3, `${id} has no host 4: it has 4 hosts, 0 to 3\n`]);
    const done = await stack.jobs.submit({ job: jobFile('true'), user: 'tester' });
    await stack.jobs.wait(done.id);
    const ended = await run('ssh', done.id);
    assert.equal(ended.exitCode, 4);
    assert.match(ended.stderr, /has ended \(succeeded\): its hosts are gone/);
  });

  it('a job whose slice is kept after its failure is looked at over SSH, and is gone when it is deleted', async () => {
    const more = { keep: 'on-failure', tpu: { accelerator: 'v5litepod-8' }, ssh: { private_key: 'secret:my-key' } };
    const job = jobFile('echo it was here > ~/left; exit 3', more);
    const kept = (await stack.jobs.submit({ job, user: 'tester' })).id;
    await until('its slice is kept', async () => (await stack.jobs.row(kept)).phase === 'holding', 60_000);
    const there = await run('ssh', kept, '--', '-T', 'cat ~/left; pgrep -f "[s]leep 1000" | wc -l');
    assert.deepEqual([there.exitCode, there.stdout], [0, 'it was here\n0\n'], there.stderr);
    const brought = await run('cp', `${kept}:left`, join(folder, 'left'));
    assert.equal(brought.exitCode, 0, brought.stderr);
    assert.equal(readFileSync(join(folder, 'left'), 'utf8'), 'it was here\n');
    const deleted = await run('delete', kept, '--yes');
    assert.equal(deleted.exitCode, 0, deleted.stderr);
    await until('it is gone', async () => (await run('ssh', kept)).exitCode === 4, 60_000);
    const { result, exitCode } = await stack.jobs.wait(kept);
    assert.deepEqual([result, exitCode], ['failed', 3]);

    const refused = await run('delete', kept, '--purge');
    assert.equal(refused.exitCode, 2);
    const says = new RegExp(
      `^delete: ${kept} is tester's, and you are \\S+; the record and logs of ${kept}, gs://[^/]+/jobs/${kept}/, would be removed for good, and there is no terminal to ask on\n` +
        ' {2}--yes does that without a question\n$',
      'm',
    );
    assert.match(refused.stderr, says);
    assert.notDeepEqual(await stack.store.list(jobPrefix(kept)), []);
    const purged = await run('delete', kept, '--purge', '--yes');
    assert.match(purged.stdout, /^\S+: \d+ objects with \d+ bytes removed from gs:/, purged.stderr);
    assert.deepEqual(await stack.store.list(jobPrefix(kept)), []);
  });

  it('a secret reaches the command, and is nowhere else', async () => {
    const said = `token of ${TOKEN.length} characters`;
    const keys = await stack.store.list(`jobs/${id}/`);
    const objects = await Promise.all(keys.map(async ({ name }) => String(await stack.store.read(name))));
    await until('the log is stored', async () => (await run('logs', id)).stdout.includes(said));
    const history = await stack.client.workflow.getHandle(id).fetchHistory();
    const texts = {
      'the history': decoded(history),
      'the bucket': objects.join('\n'),
      "the worker's log": readFileSync(stack.workerLog, 'utf8'),
      'files and command lines of a host': (
        await run(
          'exec',
          id,
          '--host',
          '0',
          '--',
          `grep -rl "${TOKEN.slice(0, 9)}[-]s" ~ ; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true`,
        )
      ).stdout,
    };
    assert.match(texts['the history'], /HF_TOKEN/);
    for (const [place, text] of Object.entries(texts)) {
      assert.ok(!text.includes(TOKEN), `${place} holds the token`);
      assert.doesNotMatch(text, /PRIVATE KEY-----/, place);
    }
  });

  it("status tells each host's key, and that the guest attributes name it", async () => {
    const { hostKeys } = JSON.parse((await run('status', id, '--output', 'json')).stdout) as {
      hostKeys: { slice: number; host: number; publicKey: string; source: string }[];
    };
    assert.deepEqual(
      hostKeys.map(({ slice, host, source }) => [slice, host, source]),
      [0, 1, 2, 3].map((host) => [0, host, 'guest-attributes']),
    );
    assert.ok(hostKeys.every(({ publicKey }) => /^ssh-ed25519 AAAA\S+$/.test(publicKey)));
  });

  // Google's answer cannot be had here: the record of a host that let another user in, and an sshd that knows that one alone.
  (hasOpenSshd ? it : it.skip)(
    'with OS Login all of them log in as the user that the host let in, and as no other',
    async () => {
      const pair = readFileSync(join(folder, 'id_ed25519.pub'), 'utf8').trim();
      const sshd = await startOpenSshd({
        authorized: { private: '', public: pair },
        address: '127.205.0.3',
        port: 24_207,
      });
      const { slices } = await stack.jobs.describe(id);
      const name = hostKeyObject(slices[0]?.uid ?? '', 2);
      const earlier = String(await stack.store.read(name));
      const plant = (user: string): Promise<unknown> => {
        const record = { ...(JSON.parse(earlier) as object), publicKey: sshd.hostKey, user };
        return stack.store.replace(name, JSON.stringify(record), 'application/json');
      };
      const pipe = `const to = require("net").connect(${sshd.port}, "${sshd.address}"); process.stdin.pipe(to); to.pipe(process.stdout)`;
      const there = (verb: string, ...words: string[]) => run(verb, '--proxy-command', `node -e '${pipe}'`, ...words);
      try {
        await plant(sshd.user);
        const ssh = await there('ssh', id, '--host', '2', '--', '-o', 'BatchMode=yes', 'echo "$HOME of $(id -un)"');
        assert.deepEqual([ssh.exitCode, ssh.stdout], [0, `${sshd.home} of ${sshd.user}\n`], ssh.stderr);
        const exec = await there('exec', id, '--host', '2', '--', 'id -un > ~/who; cat ~/who');
        assert.deepEqual([exec.exitCode, exec.stdout], [0, `${sshd.user}\n`], exec.stderr);
        const cp = await there('cp', `${id}:2:who`, join(folder, 'who'));
        assert.deepEqual([cp.exitCode, readFileSync(join(folder, 'who'), 'utf8')], [0, `${sshd.user}\n`], cp.stderr);
        await plant('nobody-here');
        const other = await there('ssh', id, '--host', '2', '--', '-o', 'BatchMode=yes', 'true');
        assert.equal(other.exitCode, 255);
        assert.match(other.stderr, /nobody-here@.*: Permission denied/);
      } finally {
        await stack.store.replace(name, earlier, 'application/json');
        await sshd.stop();
      }
    },
  );

  // Last: it makes the record wrong.
  it('a host that shows another key than the recorded one gets nothing, from OpenSSH and from the fleet', async () => {
    const { slices } = await stack.jobs.describe(id);
    const name = hostKeyObject(slices[0]?.uid ?? '', 0);
    const record = JSON.parse(String(await stack.store.read(name))) as { publicKey: string };
    const other = readFileSync(stack.privateKeyFile.concat('.pub'), 'utf8').split(' ').slice(0, 2).join(' ');
    await stack.store.replace(name, JSON.stringify({ ...record, publicKey: other }), 'application/json');
    const [ssh, exec] = await Promise.all([
      run('ssh', id, '--', 'touch ~/was-here'),
      run('exec', id, '--host', '0,1', '--', 'echo in'),
    ]);
    assert.deepEqual([ssh.exitCode, /host key/i.test(ssh.stderr)], [255, true], ssh.stderr);
    assert.deepEqual([exec.exitCode, exec.stdout], [255, '1 │ in\n'], exec.stderr);
    assert.match(exec.stderr, /host 0: .*SHA256:[^]*SHA256:/);
  });
});

/** Payloads are base64 in a history's JSON. */
function decoded(history: object): string {
  const payloads = JSON.stringify(history).matchAll(/"data":"([A-Za-z0-9+/=]+)"/g);
  return [...payloads].map(([, data = '']) => Buffer.from(data, 'base64').toString('utf8')).join('\n');
}

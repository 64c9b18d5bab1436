import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NodeSSH } from 'node-ssh';
import type { Vm } from '../vm/index.js';
import { signalAll, startVm } from '../vm/index.js';
import type { Isolation } from '../vm/isolation.js';
import { detectIsolation } from '../vm/isolation.js';
import type { Scratch, UserKey } from './scratch.js';
import { makeUserKey, scratchFolder, SUBNET_OCTET } from './scratch.js';
import { until } from '../../test/until.js';
import { firstOutput } from '../../test/first-output.js';
import type { SshPlace } from './ssh-client.js';
import { ssh, startSsh } from './ssh-client.js';

const PORT = 2222;
const ISOLATIONS: readonly Isolation[] = detectIsolation() === 'namespaces' ? ['namespaces', 'marks'] : ['marks'];

for (const [number, isolation] of ISOLATIONS.entries()) {
  describe(`a TPU VM kept apart by ${isolation}`, () => {
    let scratch: Scratch;
    let key: UserKey;
    const address = `127.${SUBNET_OCTET}.200.${number * 10 + 1}`;
    const other = `127.${SUBNET_OCTET}.200.${number * 10 + 2}`;
    let place: SshPlace;
    let vm: Vm;

    before(async () => {
      scratch = scratchFolder('vm');
      key = makeUserKey(scratch.path);
      place = { address, port: PORT, key };
      process.env['JOBCTL_HOME'] = '/leaked';
      vm = await boot(address, 0);
    });
    after(async () => {
      delete process.env['JOBCTL_HOME'];
      await vm.kill();
      scratch.remove();
    });

    function boot(at: string, index: number): Promise<Vm> {
      return startVm({
        dir: join(scratch.path, `vm-${index}`),
        address: at,
        sshPort: PORT,
        hostname: `t1v-n-test-w-${index}`,
        authorizedKeys: `alice:${key.publicKey}\nnonsense\nbob_2:${key.publicKey}`,
        slice: [
          { hostname: 't1v-n-test-w-0', address },
          { hostname: 't1v-n-test-w-1', address: other },
        ],
        environment: { TPU_WORKER_ID: String(index) },
        isolation,
      });
    }

    it('runs commands in the user’s own home, in an environment made from nothing', async () => {
      const { stdout } = await ssh(place, 'pwd; echo $HOME; env');
      const [cwd, home, ...environment] = stdout.trim().split('\n');
      assert.equal(cwd, home);
      assert.equal(home, isolation === 'marks' ? join(scratch.path, 'vm-0/disk/home/alice') : '/home/alice');
      assert.ok(environment.includes('USER=alice') && environment.includes('TPU_WORKER_ID=0'), stdout);
      assert.deepEqual(
        environment.filter((line) => /JOBCTL|npm_|TSX|NODE_/.test(line)),
        [],
      );
    });

    it('finds Python in a login shell too', async () => {
      const { stdout } = await ssh(place, `bash -lc 'python3 -c "print(6 * 7)"'`);
      assert.equal(stdout, '42\n');
    });

    it('lets in who has a key there, under no other name and with no other key', async () => {
      assert.equal((await ssh({ ...place, user: 'bob_2' }, 'echo $USER')).stdout, 'bob_2\n');
      assert.equal((await ssh({ ...place, user: 'carol' }, 'true')).code, 255);
      const stranger = scratchFolder('stranger');
      assert.equal((await ssh({ ...place, key: makeUserKey(stranger.path) }, 'true')).code, 255);
      stranger.remove();
    });

    it('shows the host key that it says it has', async () => {
      const scan = promisify(execFile);
      const { stdout } = await scan('ssh-keyscan', ['-t', 'ed25519', '-p', String(PORT), address]);
      assert.ok(stdout.trim().endsWith(vm.hostKey), stdout);
    });

    it('passes on exit codes, signals, both outputs and stdin, byte for byte', async () => {
      assert.equal((await ssh(place, 'exit 7')).code, 7);
      const both = await ssh(place, 'echo out; echo err >&2');
      assert.deepEqual([both.stdout, both.stderr], ['out\n', 'err\n']);
      const input = Buffer.alloc(3_000_000, 'xyz').toString();
      assert.equal(
        (await ssh(place, 'sha256sum', [], input)).stdout,
        (await ssh(place, 'yes xyz | tr -d "\\n" | head -c 3000000 | sha256sum')).stdout,
      );
      const client = await new NodeSSH().connect({
        host: address,
        port: PORT,
        username: 'alice',
        privateKeyPath: key.privateFile,
      });
      const killed = await client.execCommand('kill -TERM $$');
      client.dispose();
      assert.deepEqual([killed.code, killed.signal], [null, 'SIGTERM']);
    });

    it('gives a terminal to who asks for one', async () => {
      const { code, stdout } = await ssh(place, 'tty; exit 5', ['-tt']);
      assert.match(stdout, /^\/dev\/pts\/\d+/);
      assert.equal(code, 5);
    });

    it('keeps a session open while a background job holds its output', async () => {
      const { stdout } = await ssh(place, '(sleep 0.4; echo late) & echo first');
      assert.equal(stdout, 'first\nlate\n');
    });

    it('hangs up the command of a client that goes away; a daemon goes on', async () => {
      // Until setsid has run, its child is in the session: a hang-up that comes sooner ends it too.
      const script = `setsid -f bash -c 'while :; do date +%N > ~/alive; sleep 0.05; done' </dev/null >/dev/null 2>&1
        trap 'echo hung up > ~/hup; exit' HUP; until [ -s ~/alive ]; do sleep 0.01; done; echo ready; while :; do sleep 0.05; done`;
      const client = startSsh(place, script);
      await firstOutput(client);
      client.kill('SIGKILL');
      const read = (file: string): string =>
        readFileSync(join(scratch.path, 'vm-0/disk/home/alice', file), 'utf8').trim();
      await until('the hang-up to be seen', () => tryTo(() => read('hup') === 'hung up'));
      // A file that is written anew is empty, or not there, for a moment.
      let before = '';
      await until('the daemon to write', () => tryTo(() => (before = read('alive')) !== ''));
      await until('the daemon to go on', () => tryTo(() => read('alive') !== '' && read('alive') !== before));
    });

    it('is silent while it cannot be reached, and goes on in the same connection', async () => {
      const client = startSsh(place, 'while read line; do echo "got $line"; done');
      const lines: string[] = [];
      client.stdout?.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
      client.stdin?.write('one\n');
      await until('the first answer', () => lines.join('') === 'got one\n');
      vm.setReachable(false);
      client.stdin?.write('two\n');
      const refused = await ssh(place, 'true', ['-o', 'ConnectTimeout=1']);
      assert.equal(refused.code, 255);
      assert.equal(lines.join(''), 'got one\n');
      vm.setReachable(true);
      await until('the second answer', () => lines.join('') === 'got one\ngot two\n');
      client.stdin?.end();
    });

    it('stands still while it is frozen', async () => {
      const file = join(scratch.path, 'vm-0/disk/home/alice/beat');
      await ssh(
        place,
        `setsid -f bash -c 'while :; do date +%N > ~/beat; sleep 0.02; done' </dev/null >/dev/null 2>&1`,
      );
      await until('a beat', () => tryTo(() => readFileSync(file, 'utf8') !== ''));
      vm.freeze();
      const still = readFileSync(file, 'utf8');
      await assert.rejects(
        until(
          'a beat while frozen',
          () => tryTo(() => readFileSync(file, 'utf8') !== still && readFileSync(file, 'utf8') !== ''),
          300,
        ),
      );
      vm.thaw();
      await until('a beat after the thaw', () => tryTo(() => readFileSync(file, 'utf8') !== still));
      assert.ok(vm.killProcesses() > 0);
      assert.equal((await ssh(place, 'true')).code, 0);
    });

    it('tells after a thaw how a session ended that was frozen', async () => {
      const session = ssh(place, 'echo > ~/begun; while [ ! -e ~/over ]; do sleep 0.02; done; exit 7');
      const home = join(scratch.path, 'vm-0/disk/home/alice');
      await until('the session', () => existsSync(join(home, 'begun')));
      vm.freeze();
      writeFileSync(join(home, 'over'), '');
      await allStopped();
      vm.thaw();
      assert.equal((await session).code, 7);
    });

    if (isolation === 'namespaces') {
      it('is gone at once when it is killed while it is frozen, sessions and all', async () => {
        const second = await boot(other, 1);
        const there = { ...place, address: other };
        const session = startSsh(there, 'echo begun; sleep 600');
        await firstOutput(session);
        second.freeze();
        await allStopped();
        await second.kill();
        session.kill();
      });

      it('has a host name, processes and a /tmp of its own, and knows the hosts of its slice', async () => {
        const second = await boot(other, 1);
        await ssh(place, 'touch /tmp/mine');
        const there = { ...place, address: other };
        const { stdout } = await ssh(
          there,
          'hostname; ls /tmp | grep -c mine; getent hosts t1v-n-test-w-0; ps -e -o args= | head -1',
        );
        assert.match(
          stdout,
          new RegExp(`^t1v-n-test-w-1\n0\n${address.replaceAll('.', '\\.')}\\s+t1v-n-test-w-0\ninit`),
        );
        await second.kill();
      });
    }
  });
}

describe('a signal to all processes of a VM', () => {
  it('reaches one that was forked while its parent was being signalled', async () => {
    const [parent, forked] = [spawn('sleep', ['600']), spawn('sleep', ['600'])];
    const ended = [parent, forked].map(async (child) => (await once(child, 'exit'))[1] as string);
    const looks = [[parent.pid ?? 0], [parent.pid ?? 0, forked.pid ?? 0]];
    const processes = (): readonly number[] => looks.shift() ?? [];
    try {
      assert.equal(signalAll({ processes }, 'SIGTERM'), 2);
      assert.deepEqual(await Promise.all(ended), ['SIGTERM', 'SIGTERM']);
    } finally {
      forked.kill('SIGKILL');
    }
  });
});

/** Each nsenter that stops with its child has had the time to. */
async function allStopped(): Promise<void> {
  const own = (): readonly string[] => {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ');
  };
  const entrants = own().filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'nsenter\n');
  const isStopped = (pid: string): boolean => / T /u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  await until('they stand still', () => entrants.every(isStopped), 10_000);
}

/** False while what it looks at is not there yet. */
function tryTo(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

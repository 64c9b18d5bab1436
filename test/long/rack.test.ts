import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { RackMachine } from '../../chaos/stack/rack/machine.js';
import { Rack } from '../../chaos/stack/rack/rack.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { writeKeyPair } from '../end-to-end/key-pair.js';
import { hasOpenSshd } from '../hosts/open-sshd.js';
import { until } from '../until.js';

const QUIET = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'BatchMode=yes'];
/** The start of PID 1: what jobctl knows a boot by. */
const BOOT = "awk '{ print $22 }' /proc/1/stat";

(hasOpenSshd ? describe : describe.skip)('a machine of the rack of chaos', function () {
  this.timeout(60_000);
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-rack-'));
  const { privateKeyFile, publicKeyFile } = writeKeyPair(directory);
  let rack: Rack;
  let plain: RackMachine;
  let other: RackMachine;
  before(async () => {
    rack = await Rack.start(directory, readFileSync(publicKeyFile, 'utf8'));
    [plain, , , other] = rack.machines as [RackMachine, RackMachine, RackMachine, RackMachine];
  });
  after(async () => {
    await rack.end();
    rmSync(directory, { recursive: true });
  });

  /** What a script answers there; undefined: the machine cannot be reached within two seconds. */
  async function ask({ port }: RackMachine, script: string): Promise<string | undefined> {
    const options = ['ConnectTimeout=2', ...QUIET].flatMap((option) => ['-o', option]);
    const words = ['-i', privateKeyFile, ...options, '-p', String(port), '127.0.0.1', `{ ${script}\n} 2>&1 || :`];
    return promisify(execFile)('ssh', words).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    );
  }
  const leave = (machine: RackMachine): Promise<unknown> =>
    ask(machine, 'setsid bash -c "while :; do date +%s%N > ~/beat; sleep 0.02; done" < /dev/null > /dev/null 2>&1 &');
  const beat = (machine: RackMachine): string => readFileSync(join(machine.home, 'beat'), 'utf8');
  const beats = (machine: RackMachine): Promise<boolean> => {
    const first = beat(machine);
    return until('it beats', () => beat(machine) !== first, 500).then(
      () => true,
      () => false,
    );
  };

  it('has a name, a boot and processes of its own', async () => {
    assert.equal(await ask(plain, 'hostname'), 'plain-0');
    assert.notEqual(await ask(plain, BOOT), undefined);
    assert.equal(await ask(plain, 'systemctl is-system-running'), 'running');
    assert.ok(Number(await ask(plain, 'ls -d /proc/[0-9]* | wc -l')) < 10);
  });

  it('that loses its power keeps its disk and nothing else, and its next boot is another one', async () => {
    await leave(plain);
    await until('it beats', () => existsSync(join(plain.home, 'beat')));
    const before = await ask(plain, BOOT);
    await plain.off();
    assert.equal(await ask(plain, 'true'), undefined);
    assert.equal(await beats(plain), false);
    await plain.on();
    assert.notEqual(await ask(plain, BOOT), before);
    assert.equal(await beats(plain), false);
    assert.ok(beat(plain).length > 0);
  });

  it('that is silent, or refuses SSH, goes on with what runs there; that is frozen does not', async () => {
    await leave(plain);
    plain.silence();
    assert.deepEqual([await ask(plain, 'true'), await beats(plain)], [undefined, true]);
    plain.thaw();
    assert.equal(await ask(plain, 'echo here'), 'here');
    plain.refuseSsh();
    await until('nobody listens', async () => (await ask(plain, 'true')) === undefined);
    assert.equal(await beats(plain), true);
    plain.acceptSsh();
    await until('it answers', async () => (await ask(plain, 'echo here')) === 'here');
    plain.freeze();
    assert.equal(await beats(plain), false);
    plain.thaw();
    assert.equal(await beats(plain), true);
    plain.killProcesses();
    assert.equal(await beats(plain), false);
  });

  it('whose disk is full says so, and has room again after', async () => {
    const write = 'head -c 20000 /dev/zero > ~/big && echo written';
    await plain.fillDisk();
    assert.match((await ask(plain, write)) ?? '', /No space left on device/);
    await plain.freeDisk();
    assert.equal(await ask(plain, write), 'written');
  });

  it('that shuts down says so, and tells its processes', async () => {
    await ask(
      other,
      `setsid bash -c 'trap "echo told > ~/told; exit" TERM; while :; do sleep 0.02; done' < /dev/null > /dev/null 2>&1 &`,
    );
    other.shutDown();
    await until('it was told', () => existsSync(join(other.home, 'told')));
    assert.equal(await ask(other, 'systemctl is-system-running'), 'stopping');
    await other.off();
    await other.on();
    assert.equal(await ask(other, 'systemctl is-system-running'), 'running');
  });

  it('whose accelerator somebody uses shows who does, for a while', async () => {
    const users = 'find /proc/[0-9]*/fd -lname /dev/accel0 2>/dev/null | wc -l';
    assert.equal(await ask(other, users), '0');
    await other.occupy(2_000);
    await until('it is in use', async () => (await ask(other, users)) === '1');
    await until('it is free', async () => (await ask(other, users)) === '0');
  });

  it('is in an inventory that a pool file may have', () => {
    const file = parsePoolFile(rack.poolFile, 'pool.toml', 'default');
    assert.ok(file.ok, JSON.stringify(file));
  });

  it('ends with the process that started it', async () => {
    const { href } = new URL('../../chaos/stack/rack/rack.ts', import.meta.url);
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-rack-'));
    const file = join(directory, 'starts.mts');
    const program = `import { Rack } from '${href}';
      await Rack.start(${JSON.stringify(folder)}, 'ssh-ed25519 none');
      process.kill(process.pid, 'SIGKILL');`;
    writeFileSync(file, program);
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    await assert.rejects(promisify(execFile)(process.execPath, ['--import', tsx, file]));
    await until('nothing of it is left', async () => {
      const { stdout } = await promisify(execFile)('ps', ['-eo', 'args']);
      assert.ok(stdout.includes('ps -eo args'));
      return !stdout.includes(folder);
    });
    rmSync(folder, { recursive: true });
  });
});

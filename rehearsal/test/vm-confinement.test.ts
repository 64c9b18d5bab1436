import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { detectConfinement } from '../vm/confinement.js';
import { confinementsFrom, VmsUnderTest } from './vm-under-test.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

for (const [number, confinement] of confinementsFrom(detectConfinement().kind).entries()) {
  describe(`a TPU VM that tries to harm this computer (${confinement})`, () => {
    const vms = new VmsUnderTest(210 + number);
    /** A process of this computer that nobody in a VM may end. */
    let bystander: ChildProcess;

    before(async () => {
      bystander = spawn('sleep', ['600'], { stdio: 'ignore' });
      await vms.boot(0, { confinement });
      await vms.boot(1, { confinement });
      assert.equal((await vms.run(1, 'echo secret of w-1 > ~/secret')).code, 0);
    });
    after(async () => {
      bystander.kill('SIGKILL');
      await vms.stop();
    });

    const harm = (command: string): Promise<unknown> => vms.run(0, `${command}; true`);

    it('removes programs and writes passwd, and only its own are gone and written', async () => {
      const before = fingerprint(['/usr/bin', '/etc', '/usr/local', '/opt']);
      const passwd = readFileSync('/etc/passwd');
      await harm(`rm -rf /usr/bin/env /usr/bin/perl* /usr/local/bin/*; rm -f /etc/hostname
        echo 'mallory:x:0:0::/:/bin/sh' >> /etc/passwd; echo harm > /etc/issue; touch /usr/bin/new /etc/new /new`);
      assert.deepEqual(readFileSync('/etc/passwd'), passwd);
      assert.equal(fingerprint(['/usr/bin', '/etc', '/usr/local', '/opt']), before);
      assert.equal(existsSync('/new'), false);
      const { stdout } = await vms.run(0, 'ls /usr/bin/env /usr/bin/new 2>/dev/null; tail -n 1 /etc/passwd; ls /new');
      const isInstalled = confinement === 'overlay' && process.geteuid?.() === 0;
      assert.equal(stdout, `${isInstalled ? '/usr/bin/new' : '/usr/bin/env'}\nmallory:x:0:0::/:/bin/sh\n/new\n`);
    });

    it('ends no process but its own', async () => {
      const { stdout } = await vms.run(0, `kill -9 ${bystander.pid} 2>&1; ps -e -o args= | grep -c '[s]leep 600'`);
      assert.match(stdout, /No such process\n0\n$/);
      await vms.run(0, 'kill -9 -1');
      assert.equal(bystander.exitCode ?? bystander.signalCode, null);
      assert.equal((await vms.run(0, 'echo still there')).stdout, 'still there\n');
    });

    it('finds neither this computer’s homes nor another VM’s disk nor the project', async () => {
      const own = join(homedir(), '.ssh');
      const hidden = [
        vms.folder(1),
        vms.folder(0),
        PROJECT,
        own,
        `${homedir()}/.config`,
        '/proc/1/root/work',
        '/.computer',
      ];
      const { stdout } = await vms.run(
        0,
        `ls -d ${hidden.join(' ')} 2>/dev/null; cat /home/*/secret /root/.ssh/* 2>/dev/null`,
      );
      assert.equal(stdout, '');
      await harm(`mkdir -p ${vms.folder(1)}/disk/home/alice && echo harm > ${vms.folder(1)}/disk/home/alice/secret`);
      assert.equal(readFileSync(join(vms.folder(1), 'disk/home/alice/secret'), 'utf8'), 'secret of w-1\n');
    });

    it('cannot read what root alone may read', async () => {
      const { stdout } = await vms.run(
        0,
        'cat /etc/shadow; cat /etc/ssh/ssh_host_*_key 2>/dev/null; ls /etc/ssl/private 2>/dev/null',
      );
      assert.equal(stdout, 'root:*:19000:0:99999:7:::\n');
    });

    it('reaches neither the kernel’s switches nor a disk nor the mounts of its root', async () => {
      // What would be written is what is there: where this fails, nothing has happened.
      const { stdout } = await vms.run(
        0,
        `same() { cat "$1" > /tmp/same && cat /tmp/same > "$1" && echo "written: $1"; }
        same /proc/sys/vm/swappiness; mount -o remount,bind,rw /proc/sys; same /proc/sys/vm/swappiness
        same /sys/kernel/mm/ksm/run; mount -o remount,rw /sys; same /sys/kernel/mm/ksm/run
        umount /opt/rehearsal/bin && echo unmounted; mknod /tmp/disk b 254 0 && echo 'a disk'; echo tried`,
      );
      assert.equal(stdout, 'tried\n');
    });

    it('works as before when it is booted again on the disk that it left', async () => {
      const vm = await vms.boot(2, { confinement });
      // In /usr the VM of who is not root has no more rights than he has here.
      const canInstall = confinement === 'overlay' && process.geteuid?.() === 0;
      const install = canInstall ? 'echo kept > /usr/share/kept; useradd carol' : 'true';
      await vms.run(2, `echo kept > /srv/kept; echo kept > ~/kept; ${install}`);
      await vm.kill();
      await vms.boot(2, { confinement });
      assert.equal((await vms.run(2, 'cat /srv/kept ~/kept')).stdout, 'kept\nkept\n');
      if (!canInstall) return;
      const { stdout } = await vms.run(2, 'cat /usr/share/kept; id -u carol > /dev/null && echo carol');
      assert.equal(stdout, 'kept\ncarol\n');
    });
  });
}

/** Names, sizes and times of change of everything in these folders, two levels deep. */
function fingerprint(folders: readonly string[]): string {
  const hash = createHash('sha256');
  const look = (folder: string, depth: number): void => {
    for (const entry of readdirSync(folder).toSorted()) {
      const path = join(folder, entry);
      if (!isReadable(path)) continue;
      const state = statSync(path, { throwIfNoEntry: false });
      hash.update(`${path} ${state?.size} ${state?.mtimeMs} ${state?.mode}\n`);
      if (depth > 0 && state?.isDirectory() === true) look(path, depth - 1);
    }
  };
  for (const folder of folders) look(folder, 1);
  return hash.digest('hex');
}

/** Not all is, for who is not root. */
function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { needsConfinement } from './needs-confinement.js';
import { standInsUsed, toolEnvironment, TOOLS_STATE, toolsFolder } from '../vm/tools/install.js';
import { until } from '../../test/until.js';
import { refuses, VmWithTools } from './vm-tools.js';
import { VmsUnderTest } from './vm-under-test.js';

/** Nobody listens there. */
const PLACE = { storeUrl: 'http://127.0.0.1:9', project: 'p', zone: 'us-central1-a' };
const TOOLS = readdirSync(toolsFolder()).filter((name) => statSync(join(toolsFolder(), name)).isFile());

describe('the tools of a TPU VM: the system', function () {
  this.timeout(30_000);
  const vm = new VmWithTools();
  before(function () {
    needsConfinement(this);
    return vm.start();
  });
  after(() => vm.stop());

  it('say on stderr that they are stand-ins, once per VM and tool, and in the journal; stdout is the tool’s own', async () => {
    const first = await vm.runBare('sudo echo one; systemctl is-active docker');
    assert.equal(first.stdout, 'one\nactive\n');
    assert.match(first.stderr, /^sudo: stand-in of the rehearsal: .*\nsystemctl: stand-in of the rehearsal: .*\n$/);
    const second = await vm.runBare('sudo echo two; sudo systemctl is-active docker');
    assert.deepEqual([second.stdout, second.stderr], ['two\nactive\n', '']);
    const said = async (): Promise<readonly unknown[]> =>
      (await vm.cloud.journal()).filter(({ kind }) => kind === 'vm-stand-in').map(({ details }) => details['tool']);
    await until('the journal to tell of both', async () => (await said()).length >= 2);
    assert.deepEqual(await said(), ['sudo', 'systemctl']);
  });

  it('end with 127, name what they do not know, and print nothing', async () => {
    const each = TOOLS.map(
      (tool) =>
        `${tool} --no-such-option > out 2> err; echo "${tool} $? $(wc -c < out) $(grep -c -e --no-such-option err)"`,
    );
    assert.deepEqual(
      (await vm.output(each.join('\n'))).split('\n'),
      TOOLS.map((tool) => `${tool} 127 0 1`),
    );
  });

  it('sudo gives root’s environment and the command’s exit code, and keeps what it is told to', async () => {
    assert.equal(
      await vm.output("sudo -n sh -c 'echo $USER $LOGNAME $HOME $SUDO_USER; whoami'"),
      'root root /root alice\nroot',
    );
    assert.equal(
      await vm.output(
        "export A=1; sudo sh -c 'echo ${A-none}'; sudo -E sh -c 'echo $A'; sudo B=\"x y\" sh -c 'echo $B'",
      ),
      'none\n1\nx y',
    );
    assert.equal((await vm.runBare('sudo -H sh -c "exit 7"')).code, 7);
    assert.equal(
      await vm.output("sudo -i echo '$HOME' \"a  b\"; sudo -nu alice sh -c 'echo $HOME'"),
      '$HOME a  b\n/home/alice'.replace('$HOME', '/root'),
    );
    assert.equal(await vm.output('sudo -E env PATH=/none /usr/bin/env | grep ^PATH'), 'PATH=/none');
    // A tool after sudo is still the VM's, in a login shell too.
    const found = await vm.output(
      'sudo sh -c "command -v apt-get"; sudo -i command -v gcloud; sudo bash -lc "command -v docker"',
    );
    assert.equal(found, '/opt/rehearsal/bin/apt-get\n/opt/rehearsal/bin/gcloud\n/opt/rehearsal/bin/docker');
  });

  it('apt-get records packages, and says of which this computer has nothing', async () => {
    const install = await vm.runBare(
      'sudo DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -yq no-such-thing git',
    );
    assert.equal(install.code, 0, install.stderr);
    assert.match(install.stderr, /no-such-thing is recorded, but this computer has nothing of it/);
    assert.doesNotMatch(install.stderr, /git is recorded, but/);
    assert.match(await vm.output('dpkg -s no-such-thing'), /^Status: install ok installed$/m);
    assert.equal((await vm.runBare('command -v no-such-thing')).code, 1);
    await vm.output('sudo apt-get remove -y no-such-thing');
    assert.equal((await vm.runBare('dpkg -s no-such-thing')).code, 1);
  });

  it('a unit of the user’s is a process, with its log; one of the VM’s is a word', async () => {
    const unit = '[Service]\\nEnvironment=A="b c"\\nExecStart=/bin/sh -c \'echo "started $A"; exec sleep 1000\'\\n';
    await vm.output(
      `printf '${unit.replaceAll("'", `'\\''`)}' | sudo tee /etc/systemd/system/mine.service; sudo systemctl daemon-reload; sudo systemctl enable --now mine`,
    );
    await until('its output', async () => (await vm.output('journalctl -u mine')) === 'started b c');
    assert.equal(await vm.output('systemctl is-active mine; pgrep -fx "sleep 1000" | wc -l'), 'active\n1');
    await vm.output('sudo systemctl stop mine');
    assert.equal((await vm.runBare('systemctl is-active mine')).code, 3);
    assert.equal(await vm.output('pgrep -fx "sleep 1000" | wc -l'), '0');
    assert.equal(
      await vm.output(
        'sudo service cron stop; systemctl is-active cron || sudo systemctl restart cron; systemctl is-active cron',
      ),
      'inactive\nactive',
    );
  });

  refuses(vm, {
    'sudo refuses a user that is not there': {
      run: 'sudo -u nobody2 true',
      code: 1,
      says: /^sudo: unknown user nobody2$/m,
    },
    'sudo refuses a command that is not there': {
      run: 'sudo no-such-command',
      code: 1,
      says: /^sudo: no-such-command: command not found$/m,
    },
    'apt-get refuses what is no package': {
      run: 'sudo apt-get install -y Foo_Bar',
      code: 100,
      says: /^E: Unable to locate package Foo_Bar$/m,
    },
    'apt-get takes no answer for no': { run: 'apt-get install no-such-thing < /dev/null', code: 1, says: /^$/ },
    'apt-get refuses a verb': { run: 'apt-get instal git', code: 100, says: /^E: Invalid operation instal$/m },
    'apt-get does not wait for the lock of a fresh VM, unless it is told to': {
      run: 'lock=/var/lib/rehearsal/dpkg-lock-until; echo $(($(date +%s) + 60)) > $lock; apt-get install -y git; code=$?; echo $(($(date +%s) + 2)) > $lock; apt-get -o DPkg::Lock::Timeout=60 install -y git || exit; rm $lock; exit $code',
      code: 100,
      says: /^E: Could not get lock \/var\/lib\/dpkg\/lock-frontend/m,
    },
    'dpkg refuses a file that is not there': {
      run: 'sudo dpkg -i none.deb',
      code: 2,
      says: /cannot access archive 'none\.deb'/,
    },
    'apt-key refuses an empty key': { run: ': | sudo apt-key add -', code: 2, says: /no valid OpenPGP data found/ },
    'systemctl does not start a unit that is not there': {
      run: 'sudo systemctl start nope',
      code: 5,
      says: /^Failed to start nope\.service: Unit nope\.service not found\.$/m,
    },
    'systemctl has no status of a unit that is not there': {
      run: 'systemctl status nope',
      code: 4,
      says: /^Unit nope\.service could not be found\.$/m,
    },
    'systemctl does not run what it does not know of a unit': {
      run: "printf '[Service]\\nExecStart=/bin/true\\nDynamicUser=yes\\n' | sudo tee /etc/systemd/system/odd.service; sudo systemctl start odd",
      code: 127,
      says: /DynamicUser= in .*odd\.service is not known/,
    },
  });
});

describe('the tools of a TPU VM without a root of its own', () => {
  const vms = new VmsUnderTest(231);
  after(() => vms.stop());

  it('keep what they know in the VM’s folder, and find it without an environment by its mark alone', async () => {
    await vms.boot(0, { confinement: 'none', tools: toolsFolder(), environment: toolEnvironment(PLACE) });
    const { code, stdout, stderr } = await vms.run(
      0,
      'sudo -i apt-get install -y no-such-thing && dpkg -s no-such-thing',
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Status: install ok installed$/m);
    const used = standInsUsed(join(vms.folder(0), 'disk', TOOLS_STATE));
    assert.deepEqual(
      used.map(({ tool }) => tool),
      ['apt-get', 'sudo'],
    );
    assert.equal(existsSync(TOOLS_STATE), false);
  });

  it('do nothing where nothing says which VM it is: it would be done to this computer', async () => {
    for (const tool of TOOLS) {
      const clean = { env: { PATH: '/usr/bin:/bin' } };
      const failed = await promisify(execFile)(join(toolsFolder(), tool), ['install'], clean).then(
        () => assert.fail(`${tool} ended with 0`),
        (error: { readonly code: number; readonly stderr: string; readonly stdout: string }) => error,
      );
      assert.match(failed.stderr, /its environment is gone \(REHEARSAL_VM\), so it does nothing/);
      assert.deepEqual([failed.code, failed.stdout], [127, '']);
    }
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { detectConfinement } from '../../vm/confinement.js';
import { needsConfinement } from '../needs-confinement.js';
import { ssh } from '../ssh-client.js';
import { VmWithTools } from '../vm-tools.js';
import { gcsfuseProgram, GO_BUILD_MS } from '../../../test/long/built-by-go.js';

describe('the tools of a TPU VM, whole', function () {
  this.timeout(120_000);
  const vm = new VmWithTools();
  before(async function () {
    needsConfinement(this);
    // What is set where the rehearsal runs.
    process.env['JOBCTL_REHEARSAL_APT'] = 'real';
    await vm.start();
    await vm.output(
      'gsutil mb gs://data; echo hello > a; mkdir -p d/e; echo x > d/x; echo y > d/e/y; gsutil -m cp -r a d gs://data/',
    );
  });
  after(async () => {
    delete process.env['JOBCTL_REHEARSAL_APT'];
    await vm.stop();
  });

  it('gsutil and gcloud storage copy, list, read and synchronise', async () => {
    const cases: Readonly<Record<string, string>> = {
      'gsutil ls gs://data': 'gs://data/a\ngs://data/d/',
      'gcloud storage ls gs://data/d': 'gs://data/d/x\ngs://data/d/e/',
      'gsutil ls -r gs://data': 'gs://data/a\ngs://data/d/e/y\ngs://data/d/x',
      'echo new | gcloud storage cp - gs://data/new; gsutil cat gs://data/a gs://data/new': 'hello\nnew',
      'gcloud storage cp --recursive gs://data/d got; find got -type f | sort': 'got/e/y\ngot/x',
      'gsutil -m cp "gs://data/*" .; mkdir in; gsutil -m cp -r gs://data/d in; find in -type f | sort':
        'in/d/e/y\nin/d/x',
      'gsutil -m rsync -r d gs://data/s; rm d/x; gsutil -m rsync -r -d d gs://data/s; gsutil ls -r gs://data/s':
        'gs://data/s/e/y',
      'gsutil mv gs://data/new gs://data/moved; gsutil du -s gs://data/moved; gcloud storage rm gs://data/moved':
        '4            gs://data/moved',
      'gcloud storage rm --recursive gs://data/s; gcloud storage buckets describe gs://data | grep ^name': 'name: data',
    };
    for (const [run, want] of Object.entries(cases)) assert.equal(await vm.output(run), want, run);
  });

  it('conda makes environments that activate, run, take packages and are removed', async () => {
    const cases: Readonly<Record<string, string>> = {
      'conda create -y -q -n train python > /dev/null; conda run -n train --no-capture-output python -c "import sys; print(sys.prefix)"':
        '/home/alice/miniconda3/envs/train',
      'source ~/miniconda3/bin/activate train; command -v python; conda deactivate; echo ${CONDA_PREFIX-none}':
        '/home/alice/miniconda3/envs/train/bin/python\nnone',
      'eval "$(conda shell.bash hook)"; conda activate train; echo $CONDA_DEFAULT_ENV; pip install -q --no-index nothing-of-ours 2> /dev/null || echo refused':
        'train\nrefused',
      [`printf 'name: filed\\ndependencies:\\n  - pip\\n  - pip:\\n    - "six==1.17.0"\\n' > environment.yml
        conda env create -f environment.yml > /dev/null; conda run -n filed python -c 'import six; print(six.__version__)'`]:
        '1.17.0',
      'conda env remove -y -n filed > /dev/null; conda remove -y -n train --all > /dev/null; conda env list | grep -c envs/ || true':
        '0',
    };
    for (const [run, want] of Object.entries(cases)) assert.equal(await vm.output(run), want, run);
  });

  it('apt-get of the computer installs on the VM’s disk alone, when it is asked to', async function () {
    // No apt-get or overlay here. Pending, not green: .ci/run, which forbids pending tests, leaves this file out.
    if (!existsSync('/usr/bin/apt-get') || detectConfinement().kind !== 'overlay') this.skip();
    const installed = await vm.run('sudo apt-get update -qq && sudo apt-get install -y hello > /dev/null && hello');
    assert.deepEqual([installed.code, installed.stdout], [0, 'Hello, world!\n'], installed.stderr);
    assert.equal(existsSync('/usr/bin/hello'), false);
    assert.notEqual(spawnSync('dpkg', ['-s', 'hello']).status, 0);
  });

  it('Google’s own gcloud, where this computer has it, speaks to the rehearsal and to nobody else', async function () {
    // No gcloud here. Pending, not green: .ci/run, which forbids pending tests, leaves this file out.
    if (!existsSync('/usr/bin/gcloud')) this.skip();
    const cases: Readonly<Record<string, string>> = {
      'gcloud config set project mine 2>&1; gcloud config set compute/zone us-central1-a 2> /dev/null; gcloud config get-value project 2> /dev/null':
        'Updated property [core/project].\nmine',
      'gcloud config unset project 2> /dev/null; gcloud storage cat gs://data/a': 'hello',
      'sudo gcloud storage cp ~/a gs://data/by-gcloud 2> /dev/null; gsutil cat gs://data/by-gcloud; gsutil rm gs://data/by-gcloud 2> /dev/null':
        'hello',
      'gcloud compute tpus tpu-vm describe tools --zone us-central1-a --format="value(state)"': 'READY',
      'gcloud secrets list 2> /dev/null || echo $?': '127',
    };
    for (const [run, want] of Object.entries(cases)) {
      const { stdout, stderr } = await vm.run(run);
      assert.equal(stdout.trimEnd(), want, `${run}\n${stderr}`);
    }
  });

  describe('gcsfuse', () => {
    before(async function () {
      // No /dev/fuse here. Pending, not green: .ci/run, which forbids pending tests, leaves this file out.
      if (!existsSync('/dev/fuse')) this.skip();
      this.timeout(GO_BUILD_MS);
      const program = await gcsfuseProgram();
      const place = await vm.cloud.place('tools');
      const copied = await ssh(
        place,
        'mkdir -p real && base64 -d > real/gcsfuse && chmod +x real/gcsfuse',
        [],
        readFileSync(program).toString('base64'),
      );
      assert.equal(copied.code, 0, copied.stderr);
    });

    const cases: Readonly<Record<string, string>> = {
      'mkdir m; gcsfuse --dir-mode=777 --file-mode=666 -o allow_other data m > /dev/null; mountpoint -q m; mount | grep -c "data on .*/m type fuse.gcsfuse"':
        '1',
      'ls m; cat m/a m/d/e/y; stat -c %a m/a m/d': 'a\nd\nhello\ny\n666\n777',
      'echo one > m/f; echo two >> m/f; cat m/f; gsutil cat gs://data/f': 'one\ntwo\none\ntwo',
      'mv m/f m/h; mkdir m/n; echo z > m/n/z; rmdir m/n 2> /dev/null || echo kept; mv m/n m/o; ls m m/o; gsutil ls gs://data/o/z':
        'kept\nm:\na\nd\nh\no\n\nm/o:\nz\ngs://data/o/z',
      'head -c 3000001 /dev/urandom > big; cp big m/big; cmp big m/big; printf xyz | dd of=m/big bs=1 seek=10 conv=notrunc 2> /dev/null; gsutil cat gs://data/big | head -c 13 | tail -c 3':
        'xyz',
      'truncate -s 3 m/a; cat m/a; echo; : > m/empty; gsutil ls gs://data/empty; ls m/none 2> /dev/null || echo none':
        'hel\ngs://data/empty\nnone',
      'echo hello > m/a; rm -r m/o m/h m/big m/empty; gsutil ls gs://data': 'gs://data/a\ngs://data/d/',
      'fusermount -u m; ls m; touch m/beneath; gcsfuse data m > /dev/null; ls m; fusermount -u m; rm -r m': 'a\nd',
      'mkdir m; gcsfuse no-such-bucket m > /dev/null 2> e || echo $?; grep -c "The specified bucket does not exist" e; rmdir m':
        '1\n1',
    };
    for (const [kind, path] of Object.entries({ 'the stand-in': '', 'the real one': 'PATH=$PATH:~/real\n' })) {
      for (const [run, want] of Object.entries(cases)) {
        it(`${kind}: ${run.slice(0, 100)}`, async () => assert.equal(await vm.output(path + run), want));
      }
    }
  });
});

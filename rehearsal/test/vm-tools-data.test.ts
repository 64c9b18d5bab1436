import assert from 'node:assert/strict';
import { needsConfinement } from './needs-confinement.js';
import { until } from '../../test/until.js';
import { refuses, VmWithTools } from './vm-tools.js';

describe('the tools of a TPU VM: containers, buckets, environments', function () {
  this.timeout(30_000);
  const vm = new VmWithTools();
  before(async function () {
    needsConfinement(this);
    await vm.start();
    await vm.output(
      'gsutil mb gs://data; echo hello > a; mkdir -p d/e; echo x > d/x; echo y > d/e/y; gsutil -m cp -r a d gs://data/',
    );
  });
  after(() => vm.stop());

  it('docker run gives a command its volumes, folder and environment, its output and its exit code', async () => {
    const run = `docker run --rm --privileged --net=host -v ~/d:/in/d:ro -v ~/out:/out -e A=1 -w /out trainer:1 bash -c
      'pwd; echo $A $HOME; cat /in/d/x; echo err >&2; touch /out/made; touch /in/d/no 2>/dev/null || exit 5'`;
    const { code, stdout, stderr } = await vm.runBare(run.replaceAll(/\n\s+/g, ' '));
    assert.deepEqual([code, stdout], [5, '/out\n1 /root\nx\n'], stderr);
    assert.match(stderr, /^Unable to find image 'trainer:1' locally\n(.*\n)*err\n$/m);
    assert.equal(await vm.output('ls out; docker ps -aq | wc -l'), 'made\n0');
  });

  it('a container outlives the client that started it, has one name, and ends with all its processes', async () => {
    await vm.output(
      `docker pull -q busybox && docker run -d --name box busybox sh -c 'sleep 4321 & trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done'`,
    );
    await until('its first line', async () => (await vm.output('docker logs box')) === 'up');
    assert.equal(
      await vm.output(
        `docker inspect -f '{{.State.Running}}' box; docker ps --filter name=box --format '{{.Names}} {{.Image}}'; docker exec -e B=2 box sh -c 'echo $B'`,
      ),
      'true\nbox busybox:latest\n2',
    );
    assert.equal(
      await vm.output(
        `docker stop -t 5 box; docker logs box; docker inspect -f '{{.State.ExitCode}}' box; pgrep -fx 'sleep 4321' | wc -l`,
      ),
      'box\nup\nbye\n3\n0',
    );
    assert.equal(await vm.output('docker rm box; docker ps -aq | wc -l'), 'box\n0');
  });

  it('a signal to docker run reaches the container, and its exit code comes back', async () => {
    const run = `docker run --rm --name told busybox bash -c 'trap "echo told; exit 9" TERM; echo ready; while :; do sleep 0.05; done' > told &
      client=$!; until grep -q ready told; do sleep 0.05; done; kill $client; wait $client; echo $?; cat told`;
    assert.equal(await vm.output(run), '9\nready\ntold');
  });

  it('gcloud config keeps what it is told, and knows the VM’s project before', async () => {
    assert.equal(
      await vm.output(
        'gcloud config get-value project; gcloud config set project mine; gcloud config set compute/zone z; gcloud config get-value project; gcloud config get compute/zone; gcloud config unset project',
      ),
      'p\nmine\nz',
    );
    assert.match(
      await vm.output('gcloud auth list --format="value(account)"; gcloud auth print-access-token'),
      /^\d+-compute@developer\.gserviceaccount\.com\nya29\./,
    );
  });

  it('gcsfuse mounts a bucket: what is written there is in the bucket, and the other way round', async function () {
    // No /dev/fuse here. Pending, which .ci/run forbids: a skip there is a failure, not green.
    if ((await vm.run('[ -c /dev/fuse ]')).code !== 0) this.skip();
    const mount =
      'mkdir m; gcsfuse --implicit-dirs -o allow_other data m > /dev/null; mountpoint -q m && ls m; cat m/a m/d/e/y';
    assert.equal(await vm.output(mount), 'a\nd\nhello\ny');
    const write =
      'echo one > m/f; echo two >> m/f; mv m/f m/h; gsutil cat gs://data/h; echo other | gsutil cp - gs://data/a; cat m/a; rm m/h; ls m';
    assert.equal(await vm.output(write), 'one\ntwo\nother\na\nd');
    assert.equal(await vm.output('fusermount -u m; ls m | wc -l; gsutil ls gs://data'), '0\ngs://data/a\ngs://data/d/');
  });

  refuses(vm, {
    'docker refuses a name that is no image’s': { run: 'docker pull Foo/Bar', code: 1, says: /must be lowercase/ },
    'docker has no image that nobody pulled': {
      run: 'docker image inspect none',
      code: 1,
      says: /No such image: none/,
    },
    'docker run does not pull when told not to': {
      run: 'docker run --pull never none true',
      code: 125,
      says: /No such image: none:latest/,
    },
    'docker run does not find what only the image has': {
      run: 'docker run --rm busybox no-such-command',
      code: 127,
      says: /exec: "no-such-command": executable file not found in \$PATH/,
    },
    'docker run does not know an image’s own command': {
      run: 'docker run --rm busybox',
      code: 127,
      says: /an image's own command/,
    },
    'docker refuses a second container of one name': {
      run: 'docker run -d --name twin busybox sleep 60; docker run -d --name twin busybox sleep 60; code=$?; docker rm -f twin; exit $code',
      code: 125,
      says: /The container name "\/twin" is already in use by container/,
    },
    'docker has no GPUs': {
      run: 'docker run --gpus all busybox true',
      code: 125,
      says: /could not select device driver/,
    },
    'docker names an option that it does not know': {
      run: 'docker run --cpu-rt-period 1 busybox true',
      code: 127,
      says: /option --cpu-rt-period is not known/,
    },
    'gsutil reads no object that is not there': {
      run: 'gsutil cat gs://data/none',
      code: 1,
      says: /No URLs matched: gs:\/\/data\/none/,
    },
    'gsutil lists no bucket that is not there': {
      run: 'gsutil ls gs://no-such-bucket',
      code: 1,
      says: /BucketNotFoundException: 404/,
    },
    'gcloud reads no object that is not there': {
      run: 'gcloud storage cat gs://data/none',
      code: 1,
      says: /matched no objects or files:\n-gs:\/\/data\/none/,
    },
    'gcloud does not leave the rehearsal': {
      run: 'gcloud secrets list',
      code: 127,
      says: /the group secrets is not known/,
    },
    'gcloud refuses a section': { run: 'gcloud config set nope/x y', code: 1, says: /Section "nope" does not exist/ },
    'gcsfuse mounts no bucket that is not there': {
      run: 'mkdir -p mm; gcsfuse no-such-bucket mm',
      code: 1,
      says: /The specified bucket does not exist/,
    },
    'gcsfuse mounts on no folder that is not there': {
      run: 'gcsfuse data nowhere',
      code: 1,
      says: /failed to access mountpoint .*nowhere/,
    },
    'conda wants a name': {
      run: 'conda create -y python',
      code: 2,
      says: /one of the arguments -n\/--name -p\/--prefix is required/,
    },
    'conda has no such Python': {
      run: 'conda create -y -n old python=2.1',
      code: 1,
      says: /PackagesNotFoundError: (.*\n)+ {2}- python=2\.1\*/,
    },
    'conda runs in no environment that is not there': {
      run: 'conda run -n none true',
      code: 1,
      says: /EnvironmentNameNotFound: Could not find conda environment: none/,
    },
  });
});

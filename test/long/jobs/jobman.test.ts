import assert from 'node:assert/strict';
import { type JobmanFolder, withJobmanFolder } from '../../end-to-end/jobman-job.js';
import type { TestStack } from '../../end-to-end/test-stack.js';

/** The job of JobMan's README apart from bucket, image and the command's own words: docker, gcsfuse, ssh, command. */
const README = `
job: { name: readme }
tpu: { accelerator: v4-16, name: me, zone: us-central2-b, version: tpu-ubuntu2204-base, pricing: spot }
setup: { modules: [docker, gcsfuse, ssh, command] }
ssh: { tpu_private_key: KEY, tpu_public_key: KEY.pub }
gcsfuse: { bucket_name: BUCKET, mount_path: /home/alice/gcs-bucket }
docker:
  image: us-docker.pkg.dev/p/r/i:latest
  env_vars: ['GREETING=a b']
  mount_dirs: [/dev, /home/alice]
  workdir: /home/alice
  flags: ['--privileged', '--network=host', '--env MORE=c']
command:
  run: |
    echo "$GREETING $MORE $(pwd) $(cat \${gcsfuse.mount_path}/corpus/a)"
    for host in $(echo $TPU_WORKER_HOSTNAMES | tr , ' '); do ssh -n $host true || echo no way to $host; done
`;

describe("JobMan's README job on the rehearsal", function () {
  this.timeout(120_000);
  let stack: TestStack;
  let folder: JobmanFolder;

  withJobmanFolder(async (...own) => {
    [stack, folder] = own;
    await stack.store.write('corpus/a', 'hello', 'absent', 'text/plain');
  });

  it('runs as it is: a bucket, keys between the hosts, the command in a container', async () => {
    const id = await folder.submit(README);
    const outcome = await stack.jobs.wait(id);
    const logs = await Promise.all([0, 1].map((host) => folder.logOf(id, 'command', host)));
    assert.equal(outcome.result, 'succeeded', `${JSON.stringify(outcome)}\n${logs.join('\n')}\n${stack.tail()}`);
    for (const log of logs) assert.match(log, /^a b c \/home\/alice hello$/m, log);
    assert.doesNotMatch(logs.join(''), /no way to/);
  });
});

import assert from 'node:assert/strict';
import { type JobmanFolder, withJobmanFolder } from '../end-to-end/jobman-job.js';
import type { TestStack } from '../end-to-end/test-stack.js';

const TPU =
  'tpu: { accelerator: v5litepod-8, name: me, zone: us-east1-d, version: v2-alpha-tpuv5-lite, pricing: spot }';

describe('set-ups that take minutes', function () {
  this.timeout(8 * 60_000);
  let stack: TestStack;
  let folder: JobmanFolder;

  withJobmanFolder((...own) => {
    [stack, folder] = own;
    folder.write('requirements.txt', '# nothing\n');
    folder.write('environment.yml', 'name: other\ndependencies:\n  - python\n');
  });

  async function succeeded(id: string): Promise<string> {
    const outcome = await stack.jobs.wait(id);
    const log = await folder.logOf(id, 'command', 0, outcome.attempts);
    assert.equal(outcome.result, 'succeeded', `${JSON.stringify(outcome)}\n${log}\n${stack.tail()}`);
    return log;
  }

  const environments = { venv: 'requirements_file: requirements.txt', conda: 'config_file: environment.yml' };
  for (const [name, key] of Object.entries(environments)) {
    it(`JobMan's job runs in its ${name}`, async () => {
      const id = await folder.submit(`
job: { name: ${name}, env_type: ${name}, remote_user: alice }
${TPU}
ssh: { private_key: KEY, identities: [{ private_key: KEY, public_key: KEY.pub, config_entry: "Host x\\n  User y\\n" }] }
docker: { image: python }
${name}: { name: train, ${key} }
command: { cmd: "python -c 'import sys; print(sys.prefix)'; grep -c 'Host x' ~/.ssh/config", workers: 0 }
`);
      assert.match(await succeeded(id), /^\/home\/alice\/(miniconda3?\/envs\/)?train\n1\n$/);
    });
  }

  it('a host that stays bad costs its slice, not the job', async () => {
    // The first slice finds no marker in the bucket, the second does.
    const id = await folder.submit(`
name: bad-host
${TPU}
setup: { modules: [tools, command] }
modules:
  tools:
    setup:
      - name: fetch
        run: |
          [ -f ~/was-here ] || gsutil -q stat gs://BUCKET/marker || first=yes
          [ "$first" = yes ] && echo x | gsutil -q cp - gs://BUCKET/marker && touch ~/was-here
          [ ! -f ~/was-here ] || { echo "curl: (22) The requested URL returned error: 503"; exit 22; }
command: { run: echo made it on $JOBCTL_NODE_NAME }
`);
    assert.match(await succeeded(id), /^made it on me-bad-host-\w+-g2\n$/);
    const { attempts, cause } = await stack.jobs.wait(id);
    assert.deepEqual([attempts, cause], [2, undefined]);
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.match(events, /step 'fetch' ended with code 22 \(a server said 5xx or 429\), \d+ times/);
    assert.match(events, /trying again \(1 of 5\)/);
  });
});

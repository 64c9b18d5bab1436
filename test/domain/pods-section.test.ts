import assert from 'node:assert/strict';
import { refuseForPods } from '../../domain/job-file/resolve-form.js';
import { Report } from '../../domain/job-file/report.js';
import type { JobFile } from '../../domain/job-file/sections.js';

describe('what a job file asks of its hosts, where they are pods', () => {
  function problems(form: unknown): readonly (readonly [string, string])[] {
    const report = new Report([]);
    refuseForPods(form as JobFile, report);
    return report.problems.map(({ path, message, hint }) => [path.join('.'), `${message}; ${hint}`] as const);
  }

  it('has files, bundle, script, venv, conda and modules of its own', () => {
    const modules = ['files', 'bundle', 'script', 'venv', 'conda', 'mine'];
    assert.deepEqual(problems({ setup: { modules }, files: {}, bundle: {}, script: {}, modules: { mine: {} } }), []);
  });

  it('has none of the modules that need a VM, and no login user: each with what to do instead', () => {
    const found = problems({
      setup: { modules: ['files', 'docker'] },
      ssh: { private_key: '~/.ssh/k' },
      gcsfuse: { bucket: 'b' },
      job: { remote_user: 'bob' },
    });
    assert.deepEqual(
      found.map(([path]) => path),
      ['ssh', 'gcsfuse', 'setup.modules.1', 'job.remote_user'],
    );
    for (const [at, text] of [
      [0, /no SSH server .* mounted by kubernetes.secrets/],
      [1, /may not mount .* CSI driver/],
      [2, /is a container already; name the image in kubernetes.image/],
      [3, /nobody logs in to a pod; leave it out/],
    ] as const)
      assert.match(found[at]?.[1] ?? '', text);
  });
});

import assert from 'node:assert/strict';
import type { JobctlUser } from './jobctl-process.js';
import { withUser } from './with-stack.js';

describe('a job without a file, on a host', function () {
  this.timeout(90_000);
  let user: JobctlUser;
  withUser((own) => void (user = own));

  it('runs the words after -- as they were written, and exits with their code', async () => {
    const words = ['a b', "it's", '$HOME', '${tpu.zone}', '*', '', 'two\nlines', '"quoted"', '日本'];
    const program = 'import json, sys; print(json.dumps(sys.argv[1:])); sys.exit(7)';
    const flags = ['--tpu', 'v5litepod-8', '--zone', 'us-central1-a', '--spot', '--wait'];
    const { code, stdout, stderr } = await user.run('submit', ...flags, '--', 'python3', '-c', program, ...words);
    assert.equal(code, 7, stderr);
    assert.deepEqual(JSON.parse(stdout.replace(/^0 │ /, '')), words, stdout);
  });
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { objectOfFile } from '../../../domain/local-files.js';
import type { SetUpRecord } from '../../../domain/set-up-record.js';
import { setUpObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';

describe('the set-up of a slice of four hosts', function () {
  this.timeout(90_000);
  let stack: TestStack;

  withStack((own) => {
    stack = own;
  });

  const submit = async (job: object): Promise<string> => (await stack.jobs.submit({ job, user: 'alice' })).id;

  const logOf = (id: string, stream: string, host: number): Promise<string> =>
    storedLog(stack.store, { id, stream, host });
  async function recordOf(id: string): Promise<SetUpRecord> {
    const content = await stack.store.read(setUpObject(id, 1));
    assert.ok(content, 'no record of the set-up');
    return JSON.parse(content.toString()) as SetUpRecord;
  }

  /** Own modules whose steps say in ~/did that they ran. */
  const modules = (failing: string): Record<string, unknown> => ({
    setup: { modules: ['tools', 'more', 'command'] },
    modules: {
      tools: {
        setup: [
          { name: 'first', run: 'echo first >> ~/did' },
          { name: 'second', run: `echo second >> ~/did\ncase $(hostname) in *-w-2) ${failing} ;; esac` },
        ],
      },
      more: { setup: [{ name: 'last', run: 'echo last >> ~/did' }] },
    },
  });

  it('repeats a failing step on its host alone, and keeps what each host did', async () => {
    const failing = '[ -f ~/failed ] || { touch ~/failed; echo not yet; exit 5; }';
    const id = await submit(jobFile('cat ~/did', modules(failing)));
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded');
    const did = await Promise.all([0, 1, 2, 3].map((host) => logOf(id, 'command', host)));
    const once = 'first\nsecond\nlast\n';
    assert.deepEqual(did, [once, once, 'first\nsecond\nsecond\nlast\n', once]);
    assert.equal(await logOf(id, 'tools', 2), 'not yet\n');
    const { hosts, ready, steps } = await recordOf(id);
    assert.deepEqual([hosts, ready], [4, { tools: 4, more: 4 }]);
    const tries = steps.filter(({ step }) => step === 'second').map((row) => [row.host, row.tries, row.outcome]);
    assert.deepEqual(
      tries.toSorted(([a], [b]) => Number(a) - Number(b)),
      [
        [0, 1, 'done'],
        [1, 1, 'done'],
        [2, 2, 'done'],
        [3, 1, 'done'],
      ],
    );
  });

  it('ends at once with module, step, host, code and last lines where nothing can help', async () => {
    const failing = 'echo collecting; echo "ERROR: No matching distribution found for jaxx==9"; exit 1';
    const id = await submit(jobFile('true', modules(failing)));
    const { by, host, message } = (await stack.jobs.wait(id)).cause ?? {};
    assert.deepEqual([by, host], ['task', 2]);
    assert.match(
      message ?? '',
      /set-up of tools failed on host 2: step 'second' ended with code 1 \(pip cannot resolve the requirements\); its last lines:\ncollecting\nERROR: No matching distribution found for jaxx==9$/,
    );
    const { steps } = await recordOf(id);
    const failed = steps
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ host, step, code }) => [host, step, code]);
    assert.deepEqual(failed, [[2, 'second', 1]]);
  });

  it('is not begun where a file or a key of the submitter is not there: nothing is asked for', async () => {
    const venv = { setup: { modules: ['venv', 'command'] }, venv: { name: 't', requirements_file: 'r.txt' } };
    await assert.rejects(stack.jobs.wait(await submit(jobFile('true', venv))), {
      name: 'JobInvalid',
      message: /^venv\.requirements_file: the content of 'r\.txt' was not given\n/,
    });
    const ssh = { setup: { modules: ['ssh', 'command'] }, ssh: { identities: [{ private_key: '/no/such/key' }] } };
    await assert.rejects(stack.jobs.wait(await submit(jobFile('true', ssh))), {
      name: 'JobInvalid',
      message: /^ssh\.identities: private_key: '\/no\/such\/key' cannot be read by the worker \(ENOENT\)/,
    });
  });

  // Inline with the scripts; read by the host itself, which finds it wrong before the worker does.
  for (const size of [155, 600_000])
    it(`ends for good where somebody has overwritten a submitted file of ${size} bytes, and puts it on no host`, async () => {
      const content = Buffer.alloc(size, 'mine ');
      const evil = Buffer.alloc(size, 'evil ');
      const sha256 = createHash('sha256').update(content).digest('hex');
      await stack.store.write(objectOfFile('a.txt', sha256), evil, 'absent');
      const job = jobFile('cat ~/a.txt', {
        setup: { modules: ['files', 'command'] },
        files: [{ from: 'a.txt', to: '~/a.txt' }],
      });
      const { id } = await stack.jobs.submit({ job, user: 'alice', files: { 'a.txt': content } });
      const { result, cause } = await stack.jobs.wait(id);
      assert.equal(result, 'failed');
      assert.match(cause?.message ?? '', /a\.txt: gs:\/\/\S+ is not what was submitted: its sha256 is /);
      const attempts = await stack.store.list(`jobs/${id}/logs/`);
      for (const { name } of attempts) assert.doesNotMatch(String(await stack.store.read(name)), /evil/, name);
    });
});

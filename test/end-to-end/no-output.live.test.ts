import assert from 'node:assert/strict';
import { attemptObject } from '../../domain/store-layout.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

describe('a job whose command falls silent', function () {
  this.timeout(90_000);
  let stack: TestStack;

  withStack((own) => {
    stack = own;
  });

  it('is told so, stopped with its grace on all hosts, begun again by retries.task, and says why', async () => {
    const hangs = `trap 'cat $JOBCTL_NOTICE_FILE; exit 0' TERM; sleep 300 & wait $!`;
    const command = `echo "$JOBCTL_ATTEMPT after '$JOBCTL_PREVIOUS_ATTEMPT_END'"; [ $JOBCTL_ATTEMPT = 2 ] || { ${hangs}; }`;
    const job = jobFile(command, { timeouts: { no_output: 5 }, retries: { task: 1 } });
    const { id } = await stack.jobs.submit({ job });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());

    const why =
      /its command printed nothing for 5 s on any of its hosts \(timeouts\.no_output\); host \d was silent first, since \d{4}-[^;]+ UTC; the last output was host \d's, at \d{4}-[^;]+ UTC/;
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text);
    const told = events.filter((text) => why.test(text));
    assert.equal(told.length, 2, events.join('\n'));
    assert.match(told[0] ?? '', /^running: .+; its command has 30 s to save$/);
    assert.match(told[1] ?? '', /; trying again \(1 of 1\)$/);
    const record = JSON.parse(String(await stack.store.read(attemptObject(id, 1)))) as { readonly end: string };
    assert.equal(record.end, 'no-output');
    for (const host of [0, 1, 2, 3]) {
      const [first, notice, ...rest] = (await storedLog(stack.store, { id, stream: 'command', host })).split('\n');
      assert.deepEqual([first, rest], ["1 after ''", ['']]);
      const { cause, reason } = JSON.parse(notice ?? '') as { readonly cause: string; readonly reason: string };
      assert.equal(cause, 'attempt');
      assert.match(reason, why);
      assert.equal(await storedLog(stack.store, { id, stream: 'command', host, attempt: 2 }), "2 after 'no-output'\n");
    }
    await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
  });
});

import assert from 'node:assert/strict';
import { leftText } from '../../domain/left-processes.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

/** Four hosts; `WHICH` is the one whose end this is about, the others end only when they are told to. */
const RUN = `if [ "$JOBCTL_HOST_INDEX" = WHICH ]; then echo done; exit CODE; fi
trap 'echo told to end; exit 9' TERM
echo serving; while :; do sleep 0.2; done`;

describe('command.success, on four hosts of which one ends', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  withStack((...own) => {
    [stack, admin] = own;
  });

  async function outcomeOf(success: string, host: number, code: number) {
    const run = RUN.replace('WHICH', String(host)).replace('CODE', String(code));
    const file = jobFile(undefined, { tpu: { accelerator: 'v5litepod-16' }, grace: '5s', command: { run, success } });
    const { id } = await stack.jobs.submit({ job: file });
    const outcome = await stack.jobs.wait(id);
    return { id, outcome };
  }

  for (const [success, host] of [
    ['first', 0],
    ['any', 1],
  ] as const)
    it(`${success}: host ${host} ends with 0, the other is told to end, and its code does not count`, async () => {
      const { id, outcome } = await outcomeOf(success, host, 0);
      assert.deepEqual([outcome.result, outcome.attempts, outcome.exitCode], ['succeeded', 1, 0], stack.tail());
      assert.match(await storedLog(stack.store, { id, stream: 'command', host: 1 - host }), /told to end/);
      await cloudIsEmpty(admin);
    });

  it('first: a failure of another host is one of the job', async () => {
    const { outcome } = await outcomeOf('first', 1, 3);
    assert.deepEqual([outcome.result, outcome.exitCode], ['failed', 3], stack.tail());
    await cloudIsEmpty(admin);
  });

  it('what one of the hosts left running is ended, and named in its log, the story, the outcome and by submit --wait', async () => {
    const leave = `if [ "$JOBCTL_HOST_INDEX" = 1 ]; then setsid nohup sleep 3000 > ~/train.log 2>&1 < /dev/null & fi; echo begun`;
    const file = jobFile(leave, { tpu: { accelerator: 'v5litepod-16' }, grace: '1s' });
    const { id } = await stack.jobs.submit({ job: file });
    const { result, left } = await stack.jobs.wait(id);
    const said = /a process on host 1: \d+ 'sleep 3000' \(command\.wait_for: all/;
    assert.equal(result, 'succeeded', stack.tail());
    assert.match(left === undefined ? 'nothing' : leftText(left), said);
    const { events, ...view } = await stack.jobs.describe(id);
    assert.match(events.map(({ text }) => text).join('\n'), said);
    assert.match(
      await storedLog(stack.store, { id, stream: 'command', host: 1 }),
      /was ended .*:\njobctl: {3}\d+ sleep 3000\n$/,
    );
    assert.ok(view.outcome, 'the view has the outcome');
    await cloudIsEmpty(admin);
  });
});

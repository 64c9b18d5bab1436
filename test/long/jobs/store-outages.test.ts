import assert from 'node:assert/strict';
import { outcomeObject } from '../../../domain/store-layout.js';
import { JobLogReader } from '../../../client/job-logs.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';

const SMALL = { tpu: { accelerator: 'v5litepod-8' } };
/** More than one piece of a log (`CUT_BYTES`), so that the worker has to hold output back on the host. */
const TALKATIVE =
  'for i in $(seq 1 40000); do echo "line $i of a job that has much to say, whoever listens"; done; echo end';

describe('a job while its store or its host is away', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // Few events, so that an outage of days is one of seconds.
    stack = await TestStack.start({ timings: { jobHistoryEvents: 40 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack?.stop());
  afterEach(() => admin.stopRefusing());

  const why = async (id: string): Promise<string> => (await stack.jobs.row(id)).why ?? '';
  const submit = async (command: string, more: object = {}): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { ...SMALL, ...more }) })).id;

  // A refusal, an answer that else means that the object is there already, and one that passes. All others: test/cloud/store-error.test.ts.
  for (const [code, status] of [
    ['PERMISSION_DENIED', 403],
    ['FAILED_PRECONDITION', 412],
    ['UNAVAILABLE', 503],
  ] as const) {
    it(`its bucket refuses its logs (${status}) while it runs: it says so, goes on, and has every line`, async () => {
      const id = await submit(`sleep 2; ${TALKATIVE}`, { retries: { infrastructure: 0 } });
      await until('it runs', async () => (await stack.jobs.row(id)).phase === 'running', 30_000);
      await admin.post('refuse', { method: 'objects.insert', code, nameMatches: `${id}/logs/a1/` });
      await until('it says so', async () => /waits for the store, which keeps nothing now/.test(await why(id)), 60_000);
      await admin.stopRefusing();
      const { result, attempts } = await stack.jobs.wait(id);
      assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
      const lines = (await storedLog(stack.store, { id, stream: 'command', host: 0 })).trimEnd().split('\n');
      assert.deepEqual([lines.length, lines.at(-1)], [40_001, 'end']);
    });
  }

  it('its bucket refuses while it is accepted: it says so in list and describe, and is accepted later', async () => {
    await admin.post('refuse', { method: 'objects.insert', code: 'PERMISSION_DENIED', nameMatches: 'jobs/' });
    const id = await submit('echo ran');
    await until('it says so', async () => /cannot be accepted yet: store: /.test(await why(id)), 30_000);
    assert.match((await stack.jobs.describe(id)).why ?? '', /cannot be accepted yet: store: /);
    await admin.stopRefusing();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
  });

  it('its host vanishes in the middle of its output: the log says that its tail is lost, and how much at most', async () => {
    const command =
      'if [ $JOBCTL_ATTEMPT = 1 ]; then for i in $(seq 1 2000); do echo $i; sleep 0.05; done; fi; echo end';
    const id = await submit(command);
    await until('some of it is stored', async () =>
      (await storedLog(stack.store, { id, stream: 'command', host: 0 })).includes('20\n'),
    );
    await admin.post('preempt', { name: (await admin.status()).nodes[0]?.name });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const place = { attempt: 1, stream: 'command' };
    const parts: string[] = [];
    let tail = '';
    for await (const { bytes, isLostTail } of new JobLogReader(stack.store, id, place).unread()) {
      if (isLostTail === true) tail += bytes.toString();
      else parts.push(bytes.toString());
    }
    assert.ok(
      Array.from({ length: 2000 }, (_, i) => `${i + 1}\n`)
        .join('')
        .startsWith(parts.join('')),
      'an exact prefix',
    );
    assert.match(
      tail,
      /\[jobctl\] what this host may have printed after \d{4}-[^ ]+Z is not stored; that is \d+ s at most: .*(PREEMPTED|SUSPEND)/,
    );
    const whole = new JobLogReader(stack.store, id, { ...place, attempt: 2 });
    for await (const { isLostTail } of whole.unread()) assert.equal(isLostTail, undefined, 'a whole log says nothing');
    assert.ok(await stack.store.read(outcomeObject(id)));
  });
});

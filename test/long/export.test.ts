import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { exportJob, type Incident } from '../../client/export/export-job.js';
import { jobFile } from '../end-to-end/job-files.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { play, readIncident } from '../incidents/play.js';
import { currentBundle } from '../replay/bundles.js';
import { replay } from '../replay/recorded.js';
import { until } from '../until.js';

const KEY = `export-${randomBytes(3).toString('hex')}:${randomBytes(32).toString('base64')}`;

/** What a user would not publish, in each place that a job file has for it. None of it may be in an export. */
const PRIVATE = {
  command: 'hunter2command',
  variable: 'HUSHVARIABLE',
  value: 'sk-9f8e7d6c5b4a-hushvalue',
  number: 48_151_623,
  label: 'hushlabel',
  module: 'hushmodule',
  step: 'echo hushstep',
  project: 'hushproject',
  user: 'mallory',
  printed: 'hushoutput',
} as const;

const SAVES = `echo ${PRIVATE.printed}; : ${PRIVATE.command}
if [ "$JOBCTL_ATTEMPT" -gt 1 ]; then exit 0; fi
trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done`;

const JOB = jobFile(SAVES, {
  tpu: { accelerator: 'v5litepod-8', labels: { [PRIVATE.label]: PRIVATE.label } },
  env: { [PRIVATE.variable]: PRIVATE.value, PIN: PRIVATE.number },
  setup: { modules: [PRIVATE.module, 'command'] },
  modules: { [PRIVATE.module]: { setup: [{ name: 'quiet', run: PRIVATE.step }] } },
  timeouts: { run: '1h' },
});

for (const isEncrypting of [false, true]) {
  describe(`an export of a job that was preempted as it saved, ${isEncrypting ? 'encrypted' : 'plain'}`, function () {
    this.timeout(180_000);
    let stack: TestStack;
    let id: string;
    let text = '';
    let incident: Incident;

    before(async function () {
      process.env['EXPORT_TEST_KEY'] = KEY;
      stack = await TestStack.start(isEncrypting ? { codec: { key: 'env:EXPORT_TEST_KEY' } } : {});
      const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
      await admin.post('configure', { guestNoticeMs: 20_000, preemptedLagMs: 60_000, sshAtShutdown: 'open' });
      const source = JSON.stringify(JOB);
      const { user } = PRIVATE;
      ({ id } = await stack.jobs.submit({ job: { ...JOB, project: PRIVATE.project }, source, user }));
      const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0, attempt: 1 });
      await until('the command to begin', async () => (await log()).includes('begun'), 60_000);
      const { nodes } = await admin.status();
      const node = nodes
        .find(({ name, state }) => name.includes(id) && state === 'READY')
        ?.name.split('/')
        .at(-1);
      await admin.post('preempt', { name: node ?? '', mode: 'signal' });
      assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
      const sources = { temporal: stack.client, server: 'Temporal', store: stack.store, version: 'test' };
      await exportJob(id, sources, async (piece) => void (text += piece));
      incident = JSON.parse(text) as Incident;
    });
    after(() => stack.stop());

    it('says what each attempt came to, and by which evidence', () => {
      assert.deepEqual(incident.missing, []);
      assert.deepEqual(incident.expected, {
        attempts: [
          { attempt: 1, end: 'slices preempted', next: 'retry (preemption)' },
          { attempt: 2, end: 'code 0', next: 'succeed' },
        ],
        outcome: 'succeeded',
      });
      const [first] = incident.attempts;
      assert.equal(first?.evidence?.by, 'ends');
      const [end] = first?.evidence?.ends ?? [];
      assert.deepEqual(end?.kind === 'done' && [end.code, end.host], [0, 'preempted']);
    });

    it('leads to the same by the decisions of this build', () => {
      assert.deepEqual(play(incident), incident.expected);
    });

    it('replays: the job and each of its slices', async () => {
      const recorded = incident.histories.map(({ workflowId, runId, events }) => ({
        file: `${workflowId}@${runId}`,
        workflowId,
        history: proto.temporal.api.history.v1.History.fromObject(historyFromJSON({ events })),
        codecKey: undefined,
      }));
      assert.ok(recorded.length >= 3, `${recorded.length} histories`);
      const failures = await replay(recorded, currentBundle);
      assert.deepEqual(
        failures.map(({ file, error }) => `${file}: ${error.message}`),
        [],
      );
    });

    it('holds nothing of what is the user’s, in payloads neither', () => {
      const decoded = text.replace(/"data":"([^"]*)"/g, (_, data: string) => Buffer.from(data, 'base64').toString());
      const left = [...Object.values(PRIVATE), id, stack.store.bucket, stack.owner]
        .map(String)
        .filter((word) => decoded.includes(word));
      assert.deepEqual(left, []);
      assert.match(decoded, /preempted/);
    });

    it('is what the command line writes, whole or not at all', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'jobctl-export-'));
      const user = JobctlUser.of(stack);
      try {
        const file = join(folder, 'incident.json.gz');
        const without = await user.run('export', id, '-o', file);
        if (isEncrypting) {
          assert.match(without.stderr, /is encrypted with key/);
          assert.throws(() => readIncident(file), /ENOENT/);
        }
        const keyed = isEncrypting
          ? await user.run('export', id, '-o', file, '--codec-key', 'env:EXPORT_TEST_KEY')
          : without;
        assert.equal(keyed.code, 0, keyed.stderr);
        assert.deepEqual(play(readIncident(file)), incident.expected);
        const again = await user.run('export', id, '-o', file);
        assert.equal(again.code, 4, again.stderr);
        const unknown = await user.run('export', 'no-such-job', '-o', `${file}2`);
        assert.equal(unknown.code, 3, unknown.stderr);
      } finally {
        rmSync(folder, { recursive: true });
        await user.leave();
      }
    });

    it('of a job that Temporal has forgotten has its records, and says what is missing', async () => {
      const { connection, options } = stack.client;
      const { namespace } = options;
      await connection.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: id } });
      const handle = stack.client.workflow.getHandle(id);
      await until(
        'Temporal to forget it',
        () =>
          handle.describe().then(
            () => undefined,
            () => true,
          ),
        60_000,
      );
      let written = '';
      const sources = { temporal: stack.client, server: 'Temporal', store: stack.store, version: 'test' };
      const { missing } = await exportJob(id, sources, async (piece) => void (written += piece));
      assert.match(missing.join('\n'), /Temporal knows nothing of the job any more/);
      assert.deepEqual(play(JSON.parse(written) as Incident), incident.expected);
    });
  });
}

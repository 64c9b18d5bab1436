import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readIncident } from '../incidents/play.js';
import { currentBundle } from '../replay/bundles.js';
import { type RecordedHistory, replay } from '../replay/recorded.js';
import { eventsOf, historyOf, redactedHistory } from '../replay/redacted.js';

/** A job that was preempted, and its slice. The words `f5p` and `lcffp` in it are the names of the job and of its user. */
const { histories } = readIncident('test/incidents/saves-as-its-vm-is-taken.json.gz');

/** Most of them are also words of jobctl's own. */
const word = fc.constantFrom('slice', 'capacity', 'failed', 'jobs', 'ready', 'none', 'preempted', 'task', 'qxzvuw');
const names = fc.uniqueArray(word, { minLength: 2, maxLength: 2 });

describe('an export of a history', function () {
  this.timeout(60_000);
  const drawn = fc
    .sample(names, 5)
    .map(([job = '', user = '']) => ({ job, user, histories: namedHistories(job, user) }));

  it('replays, whatever the names in it are', async () => {
    for (const isRedacted of [false, true]) {
      const recorded = drawn.flatMap(({ histories: named }) => named);
      const failures = await replay(
        isRedacted ? await Promise.all(recorded.map(redactedHistory)) : recorded,
        currentBundle,
      );
      assert.deepEqual(
        failures.map(({ file, error }) => `${file}: ${error.message}`),
        [],
      );
    }
  });

  it('holds no name of the user', async () => {
    const neutral = await countsOf(namedHistories('wvuqzx', 'zuxqvw'));
    for (const { job, user, histories: named } of drawn) {
      const counts = await countsOf(named);
      for (const name of [job, user])
        assert.ok((counts.get(name) ?? 0) <= (neutral.get(name) ?? 0), `${name} of ${job}, ${user}`);
    }
  });

  it('keeps what happened', async () => {
    const [job] = await Promise.all(namedHistories('wvuqzx', 'zuxqvw').map(redactedHistory));
    const text = decoded(JSON.stringify(eventsOf(job?.history ?? {})));
    for (const kept of [
      'superviseAttempt',
      'v5litepod-8',
      'us-central1-a',
      '"host":"preempted"',
      '"result":"succeeded"',
    ])
      assert.ok(text.includes(kept), kept);
  });
});

function namedHistories(job: string, user: string): readonly RecordedHistory[] {
  const renamed = (text: string): string => text.replaceAll('lcffp', user).replaceAll('f5p', job);
  return histories.map(({ workflowId, runId, events }) => {
    const json = JSON.stringify(events).replace(/"data":"([^"]*)"/g, (_, data: string) => {
      const text = renamed(Buffer.from(data, 'base64').toString());
      return `"data":"${Buffer.from(text).toString('base64')}"`;
    });
    const history = historyOf(JSON.parse(renamed(json)) as unknown[]);
    return { file: `${renamed(workflowId)}@${runId}`, workflowId: renamed(workflowId), history, codecKey: undefined };
  });
}

const decoded = (json: string): string =>
  json.replace(/"data":"([^"]*)"/g, (_, data: string) => Buffer.from(data, 'base64').toString());

/** How often each word is in the histories as they are exported. */
async function countsOf(recorded: readonly RecordedHistory[]): Promise<ReadonlyMap<string, number>> {
  const redacted = await Promise.all(recorded.map(redactedHistory));
  const counts = new Map<string, number>();
  for (const { workflowId, history } of redacted)
    for (const [found] of `${workflowId} ${decoded(JSON.stringify(eventsOf(history)))}`.matchAll(/[a-z]+/g))
      counts.set(found, (counts.get(found) ?? 0) + 1);
  return counts;
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ApplicationFailure } from '@temporalio/common';
import type { ActivityDependencies, Installation } from '../../activities/dependencies.js';
import { checkNotify, noticesActivities } from '../../activities/notices.js';
import type { LoadedPool } from '../../activities/pool-source.js';
import type { Delivery, Destination, NoticeMessage } from '../../cloud/notices/port.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import type { SecretStore } from '../../cloud/secrets/port.js';
import { ensureFolder } from '../../cloud/store/folder.js';
import { openStore } from '../../cloud/store/open-store.js';
import type { DeliverInput } from '../../contract/notices.js';
import type { ToldEvent } from '../../domain/job-events/event.js';
import type { OutsideTarget } from '../../domain/notify.js';
import { jobOwnerObject, runObject } from '../../domain/store-layout.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

const JOB = { id: 'train-7f3k', run: 'run-1' };
const EVENT: ToldEvent = {
  id: 'run-1-7',
  at: Date.UTC(2026, 10, 22),
  kind: 'resumed',
  text: 'ann on w1 resumed it',
  facts: { by: 'ann', from: 'w1' },
};
const HOOK = { webhook: 'https://example.org/jobs', secret: 'vision--hook' } as const;

describe('who is told of a job, and by whose secrets', () => {
  let folder: string;
  let secrets: SecretStore;
  let sent: { readonly to: Destination; readonly message: NoticeMessage }[];
  let answer: Delivery;
  let pool: string;
  let isVerified: boolean;
  let outside: Pick<ActivityDependencies, 'installation' | 'pools' | 'store'>;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'notices-'));
    secrets = openSecretStore(pathToFileURL(join(folder, 'secrets')).href);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  beforeEach(async () => {
    [sent, answer, pool, isVerified] = [[], { kind: 'sent' }, '', false];
    const place = mkdtempSync(join(folder, 'store-'));
    await ensureFolder(place);
    const store = openStore({ bucket: pathToFileURL(place).href });
    await store.write(runObject(JOB.id), JOB.run, 'absent', 'text/plain');
    const owner = JSON.stringify({ user: 'ann', project: 'vision', pool: 'research' });
    await store.write(jobOwnerObject(JOB.id), owner, 'absent', 'application/json');
    await secrets.put('vision--hook', 'whsec_vision');
    await secrets.put('speech--hook', 'whsec_speech');
    await secrets.put('shared', 'https://hooks.example.org/T/B/x');
    const installation = {
      ...{ secrets, googleProject: 'p' },
      trust: { isVerified: () => isVerified, hasVerifiedPools: isVerified },
      outlets: {
        sender: {
          sendsMail: false,
          send: async (to: Destination, message: NoticeMessage) => {
            sent.push({ to, message });
            return answer;
          },
        },
        channels: new Map([['oncall', { kind: 'slack', url: async () => 'https://hooks.example.org/channel' }]]),
      },
    } as unknown as Installation;
    const load = async (): Promise<LoadedPool> => {
      const parsed = parsePoolFile(pool, 'pool.toml', 'research');
      return parsed.ok ? parsed : assert.fail(JSON.stringify(parsed.problems));
    };
    outside = { installation, store, pools: { load } } as unknown as typeof outside;
  });

  const deliver = (target: OutsideTarget, more: Partial<DeliverInput['about']> = {}, isTest?: true): Promise<void> => {
    const about = { job: JOB, name: 'train', pool: 'research', project: 'vision', user: 'ann', ...more };
    return noticesActivities(outside).deliverNotice({ about, target, event: EVENT, ...(isTest && { isTest }) });
  };
  const trust = (is: boolean): void => {
    isVerified = is;
    const { installation } = outside;
    Object.assign(installation.trust, { hasVerifiedPools: is });
  };

  it('a webhook gets the event, by the key that its secret holds', async () => {
    await deliver(HOOK);
    const [{ to, message }] = sent as [(typeof sent)[0]];
    assert.deepEqual(to, { kind: 'webhook', url: HOOK.webhook, key: 'whsec_vision' });
    assert.deepEqual([message.id, message.type, message.title], [EVENT.id, 'job.resumed', 'train-7f3k: resumed']);
    assert.deepEqual(message.data['event'], EVENT);
    assert.doesNotMatch(JSON.stringify(message), /whsec/);
  });

  it('in verified mode only secrets of the project that the store names are read, whatever the workflow says', async () => {
    trust(true);
    pool = '[allow]\nnotify = ["**"]\n';
    await deliver(HOOK, { project: 'speech' });
    assert.equal(sent.length, 1);
    await assert.rejects(
      deliver({ ...HOOK, secret: 'speech--hook' }, { project: 'speech' }),
      /secret speech--hook is not one of project vision/,
    );
    await assert.rejects(deliver({ slack: { secret: 'shared' } }), /secret shared is not one of project vision/);
    assert.equal(sent.length, 1);
  });

  it('a workflow that is of no job of this installation tells nobody', async () => {
    for (const job of [
      { id: 'other', run: 'run-1' },
      { ...JOB, run: 'run-2' },
    ])
      await assert.rejects(deliver(HOOK, { job }), /there is no job/);
    assert.deepEqual(sent, []);
  });

  it('what the pool file allows counts when the event is told, and a strict pool without a list allows nothing', async () => {
    pool = '[allow]\nnotify = ["https://example.org/**", "channel:on*"]\n';
    await deliver(HOOK);
    await deliver({ channel: 'oncall' });
    const others: readonly OutsideTarget[] = [
      { webhook: 'https://example.com/jobs', secret: 'vision--hook' },
      { slack: { secret: 'shared' } },
      { mail: ['ann@example.org'] },
      { channel: 'team' },
    ];
    for (const other of others) await assert.rejects(deliver(other), /is not allowed in pool research/);
    pool = '';
    trust(true);
    await assert.rejects(deliver(HOOK), /pool research allows none/);
    assert.equal(sent.length, 2);
  });

  it('a test reads no secret of a project where users are verified: nobody has said who asks', async () => {
    await deliver(HOOK, { job: { id: 'notify-test', run: 'x' } }, true);
    trust(true);
    pool = '[allow]\nnotify = ["**"]\n';
    await assert.rejects(deliver(HOOK, {}, true), /nobody has verified whose job this is/);
    await deliver({ channel: 'oncall' }, {}, true);
    assert.deepEqual(
      sent.map(({ to }) => to.kind),
      ['webhook', 'slack'],
    );
  });

  it('a refusal for good is not tried again, and a receiver says when the next try is', async () => {
    answer = { kind: 'never', why: 'it answered 410' };
    const failure = (): Promise<ApplicationFailure> =>
      deliver(HOOK).then(
        () => assert.fail(),
        (error: ApplicationFailure) => error,
      );
    assert.deepEqual(await failure().then(({ nonRetryable, message }) => [nonRetryable, message]), [
      true,
      'it answered 410',
    ]);
    answer = { kind: 'later', why: 'it answered 429', afterMs: 7_000 };
    assert.deepEqual(await failure().then(({ nonRetryable, nextRetryDelay }) => [nonRetryable, nextRetryDelay]), [
      false,
      7_000,
    ]);
  });

  const wrong: Readonly<Record<string, readonly [OutsideTarget, RegExp]>> = {
    'a channel that is none': [{ channel: 'oncal' }, /has no channel 'oncal'\n {2}did you mean oncall\? it has oncall/],
    'a mail where no mail is sent': [{ mail: ['a@b.org'] }, /sends no mail\n {2}an operator names a mail server/],
    'a secret that is none': [{ slack: { secret: 'nope' } }, /notify\.to\.slack\.secret: there is no secret nope/],
  };
  for (const [what, [to, why]] of Object.entries(wrong))
    it(`a job with ${what} is refused when it is accepted`, async () => {
      await assert.rejects(checkNotify(outside.installation, { notify: [{ on: ['ended'], to }] }), why);
      await assert.rejects(deliver(to), why);
    });
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ModulePlan } from '../../domain/modules/module.js';
import { HostSetUp, type HostSetUpContext } from '../../activities/attempt/set-up-host.js';
import { SetUpJournal } from '../../activities/attempt/set-up-journal.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { HostConnection } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { FileSource } from '../../domain/local-files.js';
import { MOST_NAMED, unreadyText, type UnreadyHost } from '../../domain/job-events/causes.js';
import { withHost } from '../hosts/session.js';
import { until } from '../until.js';

const slice = (index: number, hosts: number): AttemptInput['slices'][number] => ({
  ownership: { owner: 'o', job: 'a', run: 'r', generation: 1, spec: 's' },
  index,
  ref: { kind: 'cloud-tpu', googleProject: 'p', zone: 'z', name: `jc-a-s${index}-g1`, mode: 'tpu-vm' },
  uid: `7${index}`,
  hosts: Array.from({ length: hosts }, (_, host) => ({
    reach: 'ssh' as const,
    index: host,
    internalIp: `10.0.${index}.${host}`,
  })),
});

async function journalOf(slices: AttemptInput['slices'], modules: readonly string[], stored?: object) {
  const store = {
    read: async () => stored && Buffer.from(JSON.stringify(stored)),
    replace: async () => undefined,
  } as unknown as StorePort;
  const input = { slices, settings: { loginUser: 'me' } } as unknown as AttemptInput;
  return SetUpJournal.open({ store, input, object: 'o', modules, tell: () => undefined });
}

describe('who is not set up when the time is over', () => {
  const untimed = ({ forMs, ...rest }: UnreadyHost): object => {
    assert.ok(forMs >= 0 && forMs < 60_000, String(forMs));
    return rest;
  };

  it('is told with the step that it is at: silent, checked, under way, or waiting for its next try', async () => {
    const journal = await journalOf([slice(0, 5)], ['docker', 'venv']);
    for (const host of [0, 1, 2, 3, 4]) journal.began(host, 'connect', 'connect');
    for (const host of [1, 2, 3, 4]) journal.ended(host, 'connect', 'connect', 0);
    for (const host of [2, 3, 4]) journal.ready(host, 'docker', 'unchanged', Date.now());
    journal.began(2, 'venv', 'make');
    journal.ended(2, 'venv', 'make', 0);
    journal.began(2, 'venv', 'requirements');
    journal.ended(2, 'venv', 'requirements', 100);
    journal.began(2, 'venv', 'requirements');
    journal.ended(2, 'venv', 'requirements', 100);
    journal.ready(4, 'venv', 'done', Date.now());
    journal.began(3, 'venv', 'make');
    const { slowest, ...counts } = journal.unready();
    await journal.close('taken');
    assert.deepEqual(counts, { hosts: 5, ready: 1 });
    assert.equal(slowest.length, MOST_NAMED);
    const byHost = (await unreadyOfEach()).toSorted((a, b) => a.slice - b.slice || a.host - b.host);
    assert.deepEqual(byHost.map(untimed), [
      { slice: 0, host: 0, module: 'connect', step: 'connect', tries: 1 },
      { slice: 0, host: 1, module: 'docker', step: 'check', tries: 1 },
      { slice: 1, host: 0, module: 'venv', step: 'requirements', tries: 2, code: 100 },
    ]);
  });

  /** Three hosts of two slices, so that none is left out. */
  async function unreadyOfEach(): Promise<readonly UnreadyHost[]> {
    const journal = await journalOf([slice(0, 2), slice(1, 1)], ['docker', 'venv']);
    for (const host of [0, 1, 2]) journal.began(host, 'connect', 'connect');
    for (const host of [1, 2]) journal.ended(host, 'connect', 'connect', 0);
    journal.ready(2, 'docker', 'done', Date.now());
    for (let tries = 0; tries < 2; tries += 1) {
      journal.began(2, 'venv', 'requirements');
      journal.ended(2, 'venv', 'requirements', 100);
    }
    const { slowest } = journal.unready();
    await journal.close('taken');
    return slowest;
  }

  it('is known of a step that an earlier worker began, and nobody is named who is ready', async () => {
    const startedAt = Date.now() - 3_600_000;
    const steps = [
      {
        host: 0,
        module: 'connect',
        step: 'connect',
        startedAt,
        endedAt: startedAt,
        code: 0,
        tries: 1,
        outcome: 'done',
      },
      { host: 0, module: 'venv', step: 'make', startedAt, tries: 1 },
    ];
    const stored = { v: 1, modules: ['venv'], hosts: 1, startedAt, ready: {}, steps };
    const journal = await journalOf([slice(0, 1)], ['venv'], stored);
    journal.began(0, 'connect', 'connect');
    journal.ended(0, 'connect', 'connect', 0);
    journal.began(0, 'venv', 'make');
    const [place] = journal.unready().slowest;
    assert.deepEqual([place?.module, place?.step, place?.tries], ['venv', 'make', 2]);
    assert.ok((place?.forMs ?? 0) >= 3_600_000);
    journal.ready(0, 'venv', 'done', Date.now());
    assert.deepEqual(journal.unready(), { hosts: 1, ready: 1, slowest: [] });
    await journal.close('taken');
  });

  it('is ready without modules once it has answered', async () => {
    const journal = await journalOf([slice(0, 1)], []);
    journal.began(0, 'connect', 'connect');
    assert.equal(journal.unready().ready, 0);
    journal.ended(0, 'connect', 'connect', 0);
    assert.equal(journal.unready().ready, 1);
    await journal.close('taken');
  });
});

describe('a file that does not arrive', () => {
  const fileOf = (announced: Buffer, content: Buffer): FileSource => ({
    size: announced.length,
    sha256: createHash('sha256').update(announced).digest('hex'),
    read: async function* (start) {
      yield content.subarray(start);
    },
  });
  const [large, other] = [Buffer.alloc(300_000, 'x'), Buffer.alloc(300_000, 'y')];
  const plan = (name: string, content: Buffer | FileSource): ModulePlan => {
    const files = [{ path: name, content, mode: 0o600 }];
    return { name, fingerprint: name, check: 'true', steps: [{ name: 'put', script: 'true', files }] };
  };

  it('is booked under the module that it is for, though those before it are not all ready', () =>
    withHost(async ({ connection, host: { target } }) => {
      const journal = await journalOf([slice(0, 1)], ['ssh', 'files', 'bundle']);
      const over = new AbortController();
      const context = {
        journal,
        input: { slices: [slice(0, 1)] },
        plans: [
          plan('ssh', Buffer.from('k')),
          plan('files', fileOf(large, large)),
          plan('bundle', fileOf(other, large)),
        ],
        caller: { on: (_: unknown, work: (to: HostConnection) => unknown) => work(connection) },
        patience: { heard: () => undefined },
        files: [],
        signal: over.signal,
      } as unknown as HostSetUpContext;
      const setUp = new HostSetUp(context, { target, number: 0 });
      const ended = assert.rejects(
        new MockActivityEnvironment().run(() => setUp.run()),
        /aborted/,
      );
      const [place] = await until('a try to fail', () => {
        const { slowest } = journal.unready();
        return slowest[0]?.code === undefined ? undefined : slowest;
      });
      over.abort();
      await ended;
      await journal.close('taken');
      assert.deepEqual([place?.module, place?.step, place?.tries, place?.code], ['bundle', 'arrive', 1, 255]);
      assert.equal(journal.firstUnready(0), 'files', 'what comes before it is not made yet');
    }));
});

describe('a set-up that took too long, in words', () => {
  const at: UnreadyHost = { slice: 1, host: 3, module: 'venv', step: 'requirements', forMs: 580_400, tries: 1 };
  const cases: Record<
    string,
    readonly [hosts: number, ready: number, slowest: readonly UnreadyHost[], slices: number]
  > = {
    'host 3 was at venv, step requirements, for 9 min 40 s; 3 of 4 hosts were ready': [4, 3, [at], 1],
    'host 3 of slice 1 was at venv, step requirements, for 59 s (try 2); 7 of 8 hosts were ready': [
      8,
      7,
      [{ ...at, forMs: 59_999, tries: 2 }],
      2,
    ],
    'host 3 was at venv, its check, for 2 h (tried once, last with code 255); 2 more were not ready; 1 of 4 hosts were ready':
      [4, 1, [{ ...at, step: 'check', forMs: 7_200_000, code: 255 }], 1],
    'host 0 had not answered over SSH for 1 h 1 min': [
      1,
      0,
      [{ ...at, host: 0, module: 'connect', step: 'connect', forMs: 3_660_000 }],
      1,
    ],
  };
  for (const [text, [hosts, ready, slowest, slices]] of Object.entries(cases))
    it(text, () => assert.equal(unreadyText({ hosts, ready, slowest }, slices), text));
});

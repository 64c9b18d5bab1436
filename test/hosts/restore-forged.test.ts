import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { commandHostsOf } from '../../activities/attempt/attempt-hosts.js';
import { Restore } from '../../activities/attempt/restore.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { type Applied, applyModule } from './apply-modules.js';
import { type HostSession, never, withHost } from './session.js';

const sha = (content: string): string => createHash('sha256').update(content).digest('hex');
const MANIFEST = outputManifestObject('j1', 1, 0);
const INPUT = {
  ...{ job: { id: 'j1', run: 'r' }, attempt: 2, settings: { loginUser: 'bob' } },
  spec: {
    ...{ slices: 1, modules: ['command'], command: { run: 'true', hosts: 'all' } },
    outputs: { patterns: ['out'], everySeconds: 600, waitSeconds: 600, restore: true },
  },
  // Its worker hands it what is stored: nothing of a store is needed.
  slices: [{ index: 0, uid: 'n', ref: {}, hosts: [{ reach: 'pod', index: 0, internalIp: 'x' }] }],
} as unknown as AttemptInput;

describe('a forged manifest, put back on a host', () => {
  const objects = new Map<string, string>();
  const store = {
    bucket: 'jobs',
    list: async (prefix: string) => [...objects.keys()].flatMap((name) => (name.startsWith(prefix) ? [{ name }] : [])),
    read: async (name: string, range?: { start: number; end?: number }) => {
      const text = objects.get(name);
      return text === undefined ? undefined : Buffer.from(text.slice(range?.start, range?.end));
    },
    downloadUrl: (name: string) => `https://no.such.store/${name}`,
    objectUrl: (name: string) => `https://no.such.store/${name}`,
  } as unknown as StorePort;

  function forge(entries: readonly object[]): void {
    const files = entries.filter((one) => 'sha256' in one).length;
    const header = { v: 1, state: 'ended', whole: true, at: 1, files, bytes: 1, unmatched: [], problems: [] };
    const text = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
    const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
    objects.set(MANIFEST, text.replaceAll(/[^\n -~]/g, escaped));
  }
  function file(path: string, content: string): object {
    objects.set(outputContentObject('j1', sha(content)), content);
    return { path, sha256: sha(content), size: content.length, mtime: 1_000, mode: '644' };
  }
  const restore = (): Restore => Restore.of(store, INPUT) ?? assert.fail('this attempt gets something back');
  const host = commandHostsOf(INPUT)[0]!;
  const planOf = async (its: Restore): Promise<ModulePlan> => {
    const find = (): Promise<ModulePlan | undefined> => its.planFor(host);
    const plan = await new MockActivityEnvironment().run<[], ModulePlan | undefined, typeof find>(find);
    return plan ?? assert.fail('nothing is put back');
  };
  async function restored({ connection }: HostSession): Promise<Applied> {
    const its = restore();
    const plan = await planOf(its);
    await its.hand(host, connection, never);
    return applyModule(connection, plan);
  }

  for (const path of ['../x', '/etc/cron.d/x', 'out/../../x', 'out/\u012e\u012e/x', 'out/\u012ex'])
    it(`is refused by name: ${JSON.stringify(path)}`, async () => {
      forge([file(path, 'evil')]);
      await assert.rejects(planOf(restore()), /host-0\.jsonl is refused: /);
    });

  it('is refused for a link that leads out of the folder', async () => {
    forge([{ path: 'out/d', link: '../..' }]);
    await assert.rejects(planOf(restore()), /leads out of the folder/);
  });

  it('lands nowhere but in what the job file names', () =>
    withHost(async (session) => {
      forge(['.ssh/authorized_keys', '.bashrc', 'train.py', 'out/x'].map((path) => file(path, 'evil')));
      const { home } = session.host;
      const before = readdirSync(home);
      assert.equal((await restored(session)).kind, 'done');
      const made = readdirSync(home).filter((name) => !before.includes(name));
      assert.deepEqual(made.toSorted(), ['.jobctl', 'out']);
      assert.deepEqual(readdirSync(join(home, 'out')), ['x']);
    }));

  it('is not written through a link that is on the host', () =>
    withHost(async (session) => {
      forge([file('out/a', 'good'), file('out/b', 'more')]);
      const { home } = session.host;
      mkdirSync(join(home, 'elsewhere'));
      symlinkSync('elsewhere', join(home, 'out'));
      const applied = await restored(session);
      assert.equal(applied.kind, 'failed');
      assert.match(applied.output, /out\/[ab]: .*\/out is a symbolic link on this host; nothing is written through it/);
      assert.deepEqual(readdirSync(join(home, 'elsewhere')), []);
      rmSync(join(home, 'out'));
      mkdirSync(join(home, 'out'));
      symlinkSync('../elsewhere/a', join(home, 'out/a'));
      assert.equal((await restored(session)).kind, 'done');
      assert.ok(lstatSync(join(home, 'out/a')).isFile(), 'the link is replaced');
      assert.deepEqual(readdirSync(join(home, 'elsewhere')), []);
    }));
});

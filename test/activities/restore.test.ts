import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { commandHostsOf } from '../../activities/attempt/attempt-hosts.js';
import { Restore } from '../../activities/attempt/restore.js';
import { KEPT, PUT_BACK } from '../../domain/modules/restore.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { outputManifestObject, outputManifestsPrefix } from '../../domain/store-layout.js';

const FILE = { path: 'out/a', sha256: 'a'.repeat(64), size: 3, mtime: 1, mode: '644' };
const manifest = (whole: boolean, entries: readonly object[] = [FILE]): string => {
  const files = entries.filter((one) => 'sha256' in one).length;
  const header = { v: 1, state: 'running', whole, at: 43_390_000, files, bytes: 3, unmatched: [], problems: [] };
  return [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
};

/** @param stored manifests by attempt and host, `1/0` */
function restoreOf(stored: Readonly<Record<string, string>>, { attempt = 4, restore = true } = {}) {
  const objects = new Map(
    Object.entries(stored).map(([place, text]) => {
      const [number, host] = place.split('/').map(Number);
      return [outputManifestObject('train', number!, host!), text];
    }),
  );
  const store = {
    bucket: 'jobs',
    list: async (prefix: string) => {
      assert.equal(prefix, outputManifestsPrefix('train'));
      return [...objects.keys()].map((name) => ({ name }));
    },
    read: async (name: string) => {
      const text = objects.get(name);
      return text === undefined ? undefined : Buffer.from(text);
    },
    downloadUrl: (name: string) => `https://store/${name}?alt=media`,
    objectUrl: (name: string) => `https://store/${name}`,
  } as unknown as StorePort;
  const input = {
    job: { id: 'train', run: 'r' },
    attempt,
    spec: {
      modules: ['command'],
      slices: 2,
      command: { run: 'true', hosts: 'all' },
      outputs: { patterns: ['out'], everySeconds: 600, waitSeconds: 600, ...(restore && { restore: true }) },
    },
    settings: { loginUser: 'ann' },
    slices: [0, 1].map((index) => ({ index, uid: 'n', ref: {}, hosts: [{ reach: 'ssh', index: 0, internalIp: 'x' }] })),
  } as unknown as AttemptInput;
  return { restore: Restore.of(store, input), hosts: commandHostsOf(input) };
}

async function scriptFor(stored: Readonly<Record<string, string>>, host = 0, more = {}): Promise<string> {
  const { restore, hosts } = restoreOf(stored, more);
  const find = () => restore!.planFor(hosts[host]!);
  const plan = await new MockActivityEnvironment().run<[], ModulePlan | undefined, typeof find>(find);
  return plan?.steps[0]?.script ?? '';
}

describe('what a host gets back', () => {
  const cases: Record<
    string,
    { readonly stored: Record<string, string>; readonly host?: number; readonly want: RegExp }
  > = {
    'is of the newest attempt': { stored: { '1/0': manifest(true), '3/0': manifest(true) }, want: /\bstored_by=3\b/ },
    'is no round in which files changed': {
      stored: { '1/0': manifest(true), '2/0': manifest(true), '3/0': manifest(false) },
      want: /\bstored_by=2\b/,
    },
    'is no round without files': {
      stored: { '1/0': manifest(true), '2/0': manifest(true, []) },
      want: /\bstored_by=1\b/,
    },
    'is no round of files that the job file does not name': {
      stored: { '1/0': manifest(true), '2/0': manifest(true, [{ ...FILE, path: '.bashrc' }]) },
      want: /\bstored_by=1\b/,
    },
    "is its own: another host's is none": {
      stored: { '3/0': manifest(true), '2/1': manifest(true) },
      host: 1,
      want: /\bstored_by=2\b.* host=1\b/,
    },
    'is nothing of its own attempt, nor of one from before a reset': {
      stored: { '4/0': manifest(true), '5/0': manifest(true) },
      want: /nothing is put back: no attempt has stored its files/,
    },
    'is nothing where no round is whole': {
      stored: { '3/0': manifest(false) },
      want: /nothing is put back: no attempt/,
    },
  };
  for (const [name, { stored, host, want }] of Object.entries(cases))
    it(name, async () => assert.match(await scriptFor(stored, host), want));

  it('is asked for by the job file, for a second attempt', () => {
    assert.equal(restoreOf({}, { restore: false }).restore, undefined);
    assert.equal(restoreOf({}, { attempt: 1 }).restore, undefined);
    assert.ok(restoreOf({}, { attempt: 2 }).restore);
  });

  it('is a wrong manifest never: it is named', async () => {
    await assert.rejects(
      scriptFor({ '2/0': manifest(true), '3/0': manifest(true, [{ ...FILE, path: '../x' }]) }),
      /^ManifestWrong: gs:\/\/jobs\/jobs\/train\/outputs\/manifests\/a3\/host-0\.jsonl is refused: "\.\.\/x"/,
    );
  });

  it('is told as the hosts say it', async () => {
    const { restore, hosts } = restoreOf({ '3/0': manifest(true), '2/1': manifest(true) });
    assert.ok(restore);
    await new MockActivityEnvironment().run(
      async () => void (await Promise.all(hosts.map((host) => restore.planFor(host)))),
    );
    assert.equal(restore.text, '', 'nothing is known yet');
    restore.heard(hosts[0]!, `restore: 1 file (3 B) of attempt 3 ${PUT_BACK.slice(0, 5)}`);
    restore.heard(hosts[0]!, `${PUT_BACK.slice(5)} 0 stored them`);
    const first =
      'restored 1 file (3 B) of attempt 3 on 1 host, as stored at 12:03:10Z; what was written to them after that is lost';
    assert.equal(restore.text, first);
    restore.heard(hosts[1]!, `restore: ${KEPT} 3 ran here`);
    assert.equal(restore.text, `${first}; 1 host has its files still`);
  });
});

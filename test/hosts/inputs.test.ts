import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { commandHostsOf } from '../../activities/attempt/attempt-hosts.js';
import { Inputs } from '../../activities/attempt/inputs.js';
import { findInputs } from '../../activities/inputs.js';
import type { WorkflowClient } from '../../activities/workflow-lookup.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { GroupResult } from '../../contract/group.js';
import type { AttemptInput, FoundInputs } from '../../contract/job-activities.js';
import { groupWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import type { InputsSpec } from '../../domain/inputs.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { inputsObject, outcomeObject, outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { applyModule } from './apply-modules.js';
import { ended, request } from './run.js';
import { type HostSession, never, withHost } from './session.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const JOB = 'train-x1';

/** A store and a Temporal with jobs that have ended. */
class Past {
  readonly objects = new Map<string, string>();
  /** Marks and rounds of groups that have ended. */
  readonly groups = new Map<string, GroupResult['state'] | 'open'>();

  stores(job: string, attempt: number, host: number, files: Readonly<Record<string, string>>): this {
    const entries = Object.entries(files).map(([path, text]) => {
      if (text.startsWith('-> ')) return { path, link: text.slice(3) };
      this.objects.set(outputContentObject(job, sha256(text)), text);
      return { path, sha256: sha256(text), size: text.length, mtime: 1, mode: '640', in: 'dir' };
    });
    const count = entries.filter((entry) => 'sha256' in entry).length;
    const header = { v: 1, state: 'ended', at: 1, files: count, bytes: 3, unmatched: [], problems: [] };
    const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
    this.objects.set(outputManifestObject(job, attempt, host), lines);
    return this;
  }

  readonly store = {
    bucket: 'jobs',
    list: async (prefix: string) =>
      [...this.objects].flatMap(([name, text]) => (name.startsWith(prefix) ? [{ name, size: text.length }] : [])),
    read: async (name: string, range?: { start: number; end?: number }) => {
      const text = this.objects.get(name);
      return text === undefined ? undefined : Buffer.from(text).subarray(range?.start, range?.end);
    },
    replace: async (name: string, text: string) => void this.objects.set(name, text),
    downloadUrl: (name: string) => `https://no.such.store/${name}`,
    objectUrl: (name: string) => `https://no.such.store/${name}`,
  } as unknown as StorePort;

  readonly client = {
    workflow: {
      getHandle: (id: string) => {
        const state = [...this.groups].find(([group]) => groupWorkflowId(group) === id)?.[1];
        const describe = async () => {
          if (state === undefined) throw new WorkflowNotFoundError('unknown', id, undefined);
          return { type: WorkflowType.Group, runId: 'r', status: { name: state === 'open' ? 'RUNNING' : 'COMPLETED' } };
        };
        return { describe, result: async () => ({ state }) };
      },
    },
  } as unknown as WorkflowClient;

  find(inputs: InputsSpec): Promise<FoundInputs> {
    return findInputs(this.client, this.store, JOB, inputs);
  }

  async whyGone(inputs: InputsSpec): Promise<string> {
    const found = await this.find(inputs);
    assert.equal(this.objects.has(inputsObject(JOB)), false);
    return found.kind === 'gone' ? found.why : JSON.stringify(found);
  }
}

describe('the inputs of a job', () => {
  it('are the newest attempt with files of the first host that stored any', async () => {
    const past = new Past()
      .stores('prep', 1, 0, { old: 'x' })
      .stores('prep', 2, 0, {})
      .stores('prep', 2, 1, { new: 'y' });
    past.stores('prep', 2, 2, { new: 'other' }).stores('prep', 3, 0, {});
    assert.deepEqual(await past.find({ data: { job: 'prep' } }), {
      kind: 'found',
      inputs: [{ name: 'data', job: 'prep', files: 1, bytes: 1, jobs: 1 }],
    });
    const { inputs } = JSON.parse(past.objects.get(inputsObject(JOB)) ?? '') as { inputs: { sources: unknown }[] };
    assert.deepEqual(inputs[0]?.sources, [{ job: 'prep', attempt: 2, host: 1, folder: '' }]);
  });

  it('of a group are those of its members that began, in their last round', async () => {
    const past = new Past().stores('exp-0', 1, 0, { a: 'xx' }).stores('exp-r1-1', 1, 0, { a: 'y' });
    past.stores('exp-1', 1, 0, { a: 'of the round before' }).stores('exp-3', 1, 0, { a: "somebody else's" });
    past.groups.set('exp', { marks: 'ss-kx', rounds: '01000' });
    assert.deepEqual(await past.find({ all: { job: 'exp' } }), {
      kind: 'found',
      inputs: [{ name: 'all', job: 'exp', files: 2, bytes: 3, jobs: 2 }],
    });
  });

  it('that are not there say which, where, and what to do', async () => {
    const past = new Past().stores('prep', 1, 0, { 'a/b': 'x' }).stores('cut', 1, 0, { c: 'cc' });
    past.groups.set('exp', 'open');
    assert.match(
      await past.whyGone({ data: { job: 'idle' } }),
      /^input data: no outputs of idle are stored \(any more\) at gs:\/\/jobs\/jobs\/idle\/outputs\/: .*run it again/,
    );
    assert.match(
      await past.whyGone({ data: { job: 'prep', path: 'a/c' } }),
      /prep has stored files, and none at 'a\/c'; `jobctl outputs prep`/,
    );
    assert.match(await past.whyGone({ data: { job: 'exp' } }), /group exp is open/);
    assert.match(await past.whyGone({ data: { job: 'prep', isThere: true } }), /prep has no stored outcome/);
    past.objects.set(outcomeObject('prep'), '{}');
    past.objects.set(outputContentObject('cut', sha256('cc')), 'c');
    assert.match(await past.whyGone({ data: { job: 'cut' } }), /'c' of cut is not in the store any more .*contents\//);
    past.objects.set(
      outputManifestObject('forged', 1, 0),
      '{"v":1,"state":"ended","at":1,"files":1,"bytes":1}\n{"path":"../.bashrc","sha256":"x"}\n',
    );
    assert.match(
      await past.whyGone({ data: { job: 'forged' } }),
      /input data: gs:.*host-0\.jsonl is refused: .*outside/,
    );
    assert.equal((await past.find({ data: { job: 'prep', path: 'a', isThere: true } })).kind, 'found');
  });
});

describe('the inputs of a job on a host', function () {
  this.timeout(60_000);
  const SPEC: InputsSpec = { data: { job: 'prep', path: 'tokens' }, 'all-runs': { job: 'exp', isOfAllHosts: true } };
  const inputOf = (spec: InputsSpec): AttemptInput =>
    ({
      ...{ job: { id: JOB, run: 'r' }, attempt: 1, settings: { loginUser: 'bob' } },
      spec: { slices: 1, modules: ['command'], command: { run: 'true', hosts: 'all' }, inputs: spec },
      slices: [{ index: 0, uid: 'n', ref: {}, hosts: [{ reach: 'pod', index: 0, internalIp: 'x' }] }],
    }) as unknown as AttemptInput;
  const past = (): Past => {
    const made = new Past().stores('prep', 1, 0, {
      ...{ 'tokens/a b': 'words', 'tokens/deep/c': 'more', other: 'not wanted' },
      ...{ 'tokens/deep/up': '-> ../a b', 'tokens/out': '-> ../other' },
    });
    made.stores('exp-0', 1, 0, { said: 'first' }).stores('exp-1', 1, 3, { said: 'words' });
    made.groups.set('exp', { marks: 'ss', rounds: '00' });
    return made;
  };

  async function laid({ store, ...from }: Past, { connection }: HostSession) {
    assert.equal((await findInputs(from.client, store, JOB, SPEC)).kind, 'found');
    const inputs = Inputs.of(store, inputOf(SPEC));
    const [host] = commandHostsOf(inputOf(SPEC));
    assert.ok(inputs && host);
    const find = () => inputs.planFor(host);
    const plan = await new MockActivityEnvironment().run<[], ModulePlan | undefined, typeof find>(find);
    assert.ok(plan && inputs.isHanded(host));
    await inputs.hand(host, connection, never);
    return { plan, applied: await applyModule(connection, plan) };
  }

  it('lie in a folder each, read-only, and the command finds them by their variables', () =>
    withHost(async (session) => {
      const { plan, applied } = await laid(past(), session);
      assert.equal(applied.kind, 'done', JSON.stringify(applied));
      assert.match(applied.output, /^inputs: 4 files \(19 B\) are in ~\/\.jobctl\/inputs\/train-x1$/m);
      const root = join('.jobctl/inputs', JOB);
      assert.equal(session.read(join(root, 'data/a b')), 'words');
      assert.equal(session.read(join(root, 'data/deep/up')), 'words');
      for (const absent of ['data/out', 'data/other', 'data/tokens'])
        assert.equal(existsSync(join(session.host.home, root, absent)), false, absent);
      const script = `cat "$JOBCTL_INPUT_DATA/deep/c" "$JOBCTL_INPUT_ALL_RUNS/1/host-3/said" > got
        stat -c %a "$JOBCTL_INPUT_DATA/a b" >> got`;
      const folder = `~/${root}`;
      const variables = { JOBCTL_INPUT_DATA: `${folder}/data`, JOBCTL_INPUT_ALL_RUNS: `${folder}/all-runs` };
      await session.connection.startRun(request(script, { inputs: { folder, variables } }));
      await ended(session.connection);
      assert.equal(session.read('got'), 'morewords444\n');
      assert.equal((await applyModule(session.connection, plan)).kind, 'unchanged', 'as for the next attempt');
    }));

  it('are refused by name if somebody has changed them, and nothing is laid down', () =>
    withHost(async (session) => {
      const made = past();
      const { list } = made.store;
      const name = outputContentObject('prep', sha256('more'));
      made.objects.set(name, 'MORE');
      assert.equal((await list(name)).length, 1);
      await assert.rejects(laid(made, session), { name: 'ManifestWrong', message: /^data\/deep\/c: .*\(SHA-256\)/ });
      assert.equal(existsSync(join(session.host.home, '.jobctl/inputs')), false);
    }));

  it('that were deleted since the job began fail the set-up, with their place', () =>
    withHost(async (session) => {
      const made = past();
      const { store } = made;
      const read = store.read.bind(store);
      let isGone = false;
      store.read = async (name, range) => (isGone && name.includes('/exp-1/') ? undefined : read(name, range));
      await made.find(SPEC);
      isGone = true;
      const inputs = Inputs.of(store, inputOf(SPEC));
      const [host] = commandHostsOf(inputOf(SPEC));
      await assert.rejects(
        new MockActivityEnvironment().run(async () => inputs?.planFor(host!)),
        /input all-runs: 1 of its 2 files are stored at gs:\/\/jobs\/jobs\/exp-0\/outputs\//,
      );
      assert.equal(existsSync(join(session.host.home, '.jobctl/inputs')), false);
    }));
});

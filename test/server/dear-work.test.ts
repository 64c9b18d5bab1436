import assert from 'node:assert/strict';
import type * as DearWorks from '../../server/dear-work.js';
import type * as Problems from '../../server/problem.js';
import { refuseForeignProjects } from '../../server/routes/pools.js';
import { load } from '../built.js';
import { GatedApp } from './gated-app.js';

/** Its threads load what it is: built, or sources, which each thread compiles. */
let DearWork: typeof DearWorks.DearWork;
type DearWork = DearWorks.DearWork;
let ApiError: typeof Problems.ApiError;
before(async () => {
  ({ DearWork } = await load<typeof DearWorks>('server/dear-work'));
  ({ ApiError } = await load<typeof Problems>('server/problem'));
});

const wrong = (keys: number): object => ({
  ...{ tpu: {}, ...Object.fromEntries(Array.from({ length: keys }, (_, at) => [`key${at}`, 1])) },
});
const WRONG = wrong(200);

describe('work that one call makes dear', () => {
  const begun: DearWork[] = [];
  const dear = (options: ConstructorParameters<typeof DearWork>[0] = {}): DearWork => {
    const work = new DearWork(options);
    begun.push(work);
    return work;
  };
  /** Shared: to start a thread costs more than most of these tests. Its limits are those of no test. */
  let usual: DearWork;
  before(() => (usual = dear({ mostMs: 300_000, mostMsPerMinute: 300_000 })));
  /** Whose subjects have one call each. */
  let strict: DearWork;
  before(() => (strict = dear({ mostMs: 300_000, mostMsPerMinute: 1 })));
  after(() => Promise.all(begun.map((each) => each.close())));
  const refused = (code: string, detail: RegExp) => (error: unknown) =>
    error instanceof ApiError && error.code === code && detail.test(error.message);

  it('leaves the event loop to the calls of others', async () => {
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 1);
    const found = await usual.run('resolve', { job: wrong(4_000) }, 'mallory');
    clearInterval(turning);
    assert.ok('problems' in found && /\n\.\. and 39\d\d more problems$/.test(found.problems));
    assert.ok(turns > 5, `${turns} turns of the event loop`);
  });

  it('is given up after its time, and the next call has another thread', async () => {
    const work = dear({ mostMs: 1 });
    await assert.rejects(work.run('resolve', { job: WRONG }, 'mallory'), refused('unavailable', /takes longer than/));
    await assert.rejects(work.run('resolve', { job: WRONG }, 'mallory'), refused('unavailable', /takes longer than/));
  });

  it('is charged to who calls, and to nobody else', async () => {
    await strict.run('resolve', { job: WRONG }, 'mallory');
    await assert.rejects(strict.run('resolve', { job: {} }, 'mallory'), refused('too-many-requests', /of computing/));
    assert.ok('problems' in (await strict.run('resolve', { job: {} }, 'alice')));
  });

  it('counts single values too: they are paid for, also where nothing can be said of them', async () => {
    const set = [{ path: ['env'], value: WRONG }];
    assert.deepEqual(await strict.run('edit', { set }, 'zoe'), {});
    await assert.rejects(strict.run('edit', { set }, 'zoe'), /of computing/);
  });

  it('runs one call of a subject at a time: others do not wait behind all of them', async () => {
    const order: string[] = [];
    const call = async (subject: string): Promise<void> => {
      await usual.run('resolve', { job: WRONG }, subject);
      order.push(subject);
    };
    // Until both threads have begun, the first one has all of the calls.
    await Promise.all([call('bob'), call('carol')]);
    order.length = 0;
    await Promise.all([...Array.from({ length: 12 }, () => call('mallory')), call('alice')]);
    assert.ok(order.indexOf('alice') < 6, order.join(' '));
  });

  it('finds out whose projects a quota file names, at the cost of who applies it', async () => {
    const asked: string[] = [];
    const dear: Pick<DearWork, 'run'> = {
      run: (name, input, subject) => {
        asked.push(`${name} of ${subject}`);
        return usual.run(name, input, subject);
      },
    };
    const config = (...names: readonly string[]): unknown => ({
      config: { projects: names.map((name) => ({ name })) },
    });
    const pools: Record<string, unknown> = { mine: config('a'), other: config('b') };
    const rules = {
      of: async (pool: string) => ({ rules: { operators: [] }, ...(pools[pool] as object) }),
      names: async () => Object.keys(pools),
    };
    const apply = (project: string): Promise<void> =>
      refuseForeignProjects(
        { rules: rules as never, dear },
        { id: 'olga', kind: 'user', groups: [] } as never,
        'mine',
        {
          name: 'q.toml',
          text: `[toml-schema]\nversion = "1"\n[[total_resources]]\nv5litepod = 4\n[project_membership]\n${project} = []\n[project_resources.${project}]\nv5litepod = 1.0\n`,
        },
      );
    await apply('a');
    await apply('new');
    await assert.rejects(apply('b'), /q\.toml: project b is one of pool other too/);
    assert.deepEqual(asked, ['projects of olga', 'projects of olga', 'projects of olga']);
  });
});

describe('calls of which each costs everybody', () => {
  let app: GatedApp;
  const LIMIT = 3;
  before(async () => {
    app = await GatedApp.start({ limits: { submitsPerMinute: LIMIT } });
    await app.addJob('theirs', 'alice@example.org', 'vision');
  });
  after(() => app?.stop());
  const statuses = async (who: string, path: string, bodies: readonly object[]): Promise<readonly number[]> => {
    const found: number[] = [];
    for (const body of bodies) found.push((await app.call(who, 'POST', path, body)).status);
    return found;
  };

  for (const verb of ['restart', 'resume']) {
    const path = `/v1/jobs/theirs/${verb}`;
    it(`a ${verb} with a wrong file is refused before its workflow is asked`, async () => {
      const { status, body } = await app.call('alice', 'POST', path, { job: { command: { run: 'id' }, keyy: 1 } });
      assert.equal(status, 422);
      assert.match(String(body['detail']), /^keyy: no such key/m);
    });

    it(`as many with changes as submits, and each ${verb} without is a call like others`, async () => {
      const edits = [{ set: [{ path: ['env', 'A'], value: '1' }] }, { job: {} }, { files: {} }];
      const found = await statuses('alice', path, edits);
      assert.equal(found.at(-1), 429, found.join(' '));
      assert.deepEqual(await statuses('alice', path, [{}, {}, {}, {}]), [200, 200, 200, 200]);
    });
  }

  it('as many files of pools are applied as jobs submitted', async () => {
    const files = Array.from({ length: LIMIT + 1 }, () => ({ quotaFile: { name: 'q', text: '' } }));
    assert.deepEqual(await statuses('zoe', '/v1/pools/default/apply', files), [403, 403, 403, 429]);
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poolStateObject } from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import { busyPool } from '../cli/pools.js';
import { jobctl } from '../cli/command-line.js';
import { GatedApp } from './gated-app.js';

const PATH = '/v1/pools/default/quota/plan';
/** Three times what vision had, so that nobody waits for quota. */
const LARGER = `
[toml-schema]
version = "1"
[[total_resources]]
v4 = 512
v5litepod = 16
[project_resources.vision]
v4 = 0.5
[project_resources.speech]
v4 = 0.5
[project_membership]
vision = ["ada"]
speech = ["ada"]
`;
const RULES = '[quota]\nadmins = ["olga"]\n';

describe('a plan of quota over HTTP', function () {
  this.timeout(60_000);
  let app: GatedApp;
  let home: string;
  before(async () => {
    app = await GatedApp.start({ limits: { submitsPerMinute: 20 } });
    await app.store.replace(poolStateObject('default'), JSON.stringify(packState(busyPool())), 'application/json');
    home = mkdtempSync(join(tmpdir(), 'quota-plan-'));
    writeFileSync(join(home, 'larger.toml'), LARGER);
    writeFileSync(join(home, 'rules.toml'), RULES);
  });
  after(async () => {
    rmSync(home, { recursive: true, force: true });
    await app?.stop();
  });

  it('is what the command line prints as JSON in a context of the server, under each choice of files', async () => {
    const env = {
      HOME: home,
      JOBCTL_SERVER: app.urls[0] ?? '',
      T: await app.issuer.token({ email: 'zoe@example.org' }),
    };
    const login = await jobctl(['login', '--id-token-from', 'env:T'], env);
    assert.equal(login.exitCode, 0, login.stderr);
    const quotaFile = { name: join(home, 'larger.toml'), text: LARGER };
    const poolFile = { name: join(home, 'rules.toml'), text: RULES };
    const cases: readonly (readonly [object | undefined, readonly string[]])[] = [
      [undefined, []],
      [{}, []],
      [{ quotaFile }, ['--quota', quotaFile.name]],
      [{ quotaFile, poolFile }, ['--quota', quotaFile.name, '--pool-file', poolFile.name]],
    ];
    const answers: unknown[] = [];
    for (const [body, flags] of cases) {
      const { status, text, body: answer } = await app.call('zoe', 'POST', PATH, body);
      assert.equal(status, 200, text);
      const printed = await jobctl(['quota', 'plan', ...flags, '--output', 'json'], env);
      assert.equal(printed.exitCode, 0, printed.stderr);
      const { warnings = [], ...plan } = answer as { warnings?: readonly string[] };
      assert.deepEqual(plan, JSON.parse(printed.stdout));
      for (const warning of warnings) assert.ok(printed.stderr.includes(warning), printed.stderr);
      answers.push(plan);
    }
    const [inForce, , larger] = answers as { grants: object[]; waiting: { id: string; reasons: string[] }[] }[];
    assert.ok((inForce?.waiting.length ?? 0) > 0 && inForce?.waiting.every(({ reasons }) => reasons.length > 0));
    assert.notDeepEqual(larger, inForce, 'the files count');
  });

  it('of wrong files says every problem; of a pool file alone, or of an unknown pool, what to do', async () => {
    const text = LARGER.replace('v4 = 512', 'v4 = -1').replace('v4 = 0.5', 'v4 = "half"');
    const wrong = await app.call('zoe', 'POST', PATH, { quotaFile: { name: 'q.toml', text } });
    assert.deepEqual([wrong.status, wrong.body['code']], [422, 'invalid']);
    assert.match(String(wrong.body['detail']), /q\.toml:5.*\n[^]*q\.toml:8/);
    const alone = await app.call('zoe', 'POST', PATH, { poolFile: { name: 'p.toml', text: RULES } });
    assert.deepEqual([alone.status, alone.body['detail']], [422, 'poolFile: needs the quota file beside it']);
    const nowhere = await app.call('zoe', 'POST', PATH.replace('default', 'other'), {});
    assert.deepEqual([nowhere.status, nowhere.body['code']], [404, 'not-found']);
    await app.store.replace(poolStateObject('odd'), '{"v":2,"pool":"odd"', 'application/json');
    const odd = await app.call('zoe', 'POST', PATH.replace('default', 'odd'), {});
    assert.deepEqual([odd.status, odd.body['code']], [503, 'unavailable'], odd.text);
  });

  it('has a limit of its own, since it is the dearest call', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 25 }, async () => (await app.call('alice', 'POST', PATH, {})).status),
    );
    assert.equal(statuses.filter((status) => status === 429).length, 5, statuses.join(' '));
    assert.equal((await app.call('bob', 'POST', PATH, {})).status, 200);
  });
});

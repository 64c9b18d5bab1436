import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandScript } from '../../../domain/modules/command.js';
import type { ModulePlan } from '../../../domain/modules/module.js';
import { type Applied, applyModule } from '../../hosts/apply-modules.js';
import { bundlePlans } from '../../hosts/bundle-plans.js';
import { type HostSession, withHost } from '../../hosts/session.js';
import { outputOf, venv, venvPlan, withRequirements } from '../../hosts/venv-plan.js';

/** Real environments, which Python takes seconds to make. */
const apply = ({ connection }: HostSession, plan: ModulePlan): Promise<Applied> => applyModule(connection, plan);

describe('the module venv', function () {
  this.timeout(60_000);

  it('makes an environment that the command runs in; unchanged the second time; anew when broken or when requirements change', () =>
    withHost(async (session) => {
      const mine = join(session.host.home, 'my env/mine');
      const plan = venvPlan(withRequirements, Buffer.from('# nothing yet\n'));
      const { kind, output } = await apply(session, plan);
      assert.equal(kind, 'done', output);
      assert.equal(session.read('requirements.txt'), '# nothing yet\n');
      writeFileSync(mine, '');
      assert.equal((await apply(session, plan)).kind, 'unchanged');
      assert.ok(existsSync(mine));
      const run = `python -c 'import sys; print(sys.prefix)'`;
      const script = commandScript({ modules: ['venv', 'command'], venv, command: { run, hosts: 'all' } });
      assert.equal(await outputOf(session, script!), `${session.host.home}/my env\n`);

      // As a build that was cut off leaves it, with the record of an older whole one beside it.
      rmSync(join(session.host.home, 'my env/bin/activate'));
      assert.equal((await apply(session, plan)).kind, 'done');
      assert.ok(existsSync(join(session.host.home, 'my env/bin/activate')) && !existsSync(mine));

      writeFileSync(mine, '');
      const missing = Buffer.from('--no-index\nno-such-package-of-ours==1.0\n');
      const failed = await apply(session, venvPlan(withRequirements, missing));
      assert.equal(failed.kind === 'failed' && failed.step, 'requirements');
      assert.match(
        failed.kind === 'failed' ? failed.tail : '',
        /No matching distribution found for no-such-package-of-ours==1\.0/,
      );
      assert.equal(session.read('requirements.txt'), missing.toString());
      assert.ok(!existsSync(mine));
    }));

  it('says which Pythons there are when the one asked for is not', () =>
    withHost(async (session) => {
      const outcome = await apply(session, venvPlan({ ...venv, python: '3.2' }));
      assert.equal(outcome.kind === 'failed' && outcome.code, 1);
      assert.match(
        outcome.kind === 'failed' ? outcome.tail : '',
        /python3\.2 does not run on this host.*Installed: .*python3/,
      );
    }));

  it('never deletes a folder that it has not made', () =>
    withHost(async (session) => {
      mkdirSync(join(session.host.home, 'my env'));
      writeFileSync(join(session.host.home, 'my env/precious'), '');
      assert.equal((await apply(session, venvPlan(venv))).kind, 'done');
      assert.ok(existsSync(join(session.host.home, 'my env/precious')));
    }));
});

describe('the module bundle', function () {
  this.timeout(60_000);

  let mine: string;
  beforeEach(() => {
    mine = mkdtempSync(join(tmpdir(), 'bundle-test-'));
  });
  afterEach(() => rmSync(mine, { recursive: true }));

  it('is installed into the environment, again for other content and for an environment that was made anew', () =>
    withHost(async (session) => {
      const install = 'echo "$VIRTUAL_ENV in $PWD" >> "$HOME/installed"; test -e train.py';
      const set = async (): Promise<readonly string[]> => {
        const kinds: string[] = [];
        for (const plan of bundlePlans(mine, { install }, '~/env')) kinds.push((await apply(session, plan)).kind);
        return kinds;
      };
      const installed = (): number => session.read('installed').split('\n').length - 1;
      writeFileSync(join(mine, 'train.py'), 'one\n');
      assert.deepEqual(await set(), ['done', 'done']);
      assert.equal(session.read('installed'), `${session.host.home}/env in ${session.host.home}/bundle\n`);
      assert.deepEqual(await set(), ['unchanged', 'unchanged']);
      writeFileSync(join(mine, 'train.py'), 'other\n');
      assert.deepEqual(await set(), ['unchanged', 'done']);
      assert.equal(installed(), 2);
      rmSync(join(session.host.home, 'env/bin/activate'));
      assert.deepEqual(await set(), ['done', 'done']);
      assert.equal(installed(), 3);

      rmSync(join(mine, 'train.py'));
      const failed = await applyModule(session.connection, bundlePlans(mine, { install }, '~/env')[1]!);
      assert.equal(failed.kind === 'failed' && `${failed.step} ${failed.code}`, 'install 1');
    }));
});

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandScript, modulePlans, venvModule } from '../../activities/modules/index.js';
import type { ModulePlan } from '../../cloud/hosts/port.js';
import type { Applied } from './apply-modules.js';
import { applyModule } from './apply-modules.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';

const venv = { path: '~/my env', python: 'python3' };
const withRequirements = { ...venv, requirementsFile: 'sub/requirements.txt' };

const apply = ({ connection }: HostSession, plan: ModulePlan): Promise<Applied> => applyModule(connection, plan);

async function outputOf({ connection }: HostSession, script: string): Promise<string> {
  let output = '';
  await connection.startRun({ runId: 'train-a1', epoch: 1, script, env: {} });
  await connection.followOutput('train-a1', 0, (chunk) => void (output += chunk.toString()), never);
  return output;
}

describe('the module venv', function () {
  this.timeout(60_000);

  it('makes an environment that the command runs in; unchanged the second time; anew when broken or when requirements change', () =>
    withHost(async (session) => {
      const mine = join(session.host.home, 'my env/mine');
      const plan = venvModule(withRequirements, Buffer.from('# nothing yet\n'));
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
      const failed = await apply(session, venvModule(withRequirements, missing));
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
      const outcome = await apply(session, venvModule({ ...venv, python: '3.2' }));
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
      assert.equal((await apply(session, venvModule(venv))).kind, 'done');
      assert.ok(existsSync(join(session.host.home, 'my env/precious')));
    }));
});

describe('module plans', () => {
  it('depend on the path, the Python and the content of the requirements, not on where they lay', () => {
    const base = venvModule(withRequirements, Buffer.from('a')).fingerprint;
    assert.equal(
      venvModule({ ...withRequirements, requirementsFile: '/x/requirements.txt' }, Buffer.from('a')).fingerprint,
      base,
    );
    assert.equal(
      venvModule({ ...venv, python: '3.10' }).fingerprint,
      venvModule({ ...venv, python: 'python3.10' }).fingerprint,
    );
    const others = [
      venvModule(withRequirements, Buffer.from('b')),
      venvModule({ ...withRequirements, path: '~/b' }, Buffer.from('a')),
      venvModule({ ...withRequirements, python: '3.9' }, Buffer.from('a')),
      venvModule(venv),
    ];
    assert.equal(new Set([base, ...others.map(({ fingerprint }) => fingerprint)]).size, 5);
  });

  it('come in the order of the file; the command needs none', () => {
    const files = new Map([['sub/requirements.txt', Buffer.from('a')]]);
    assert.deepEqual(modulePlans({ modules: ['command'], venv }, { files, keys: [] }), []);
    const names = modulePlans({ modules: ['ssh', 'venv', 'command'], venv: withRequirements }, { files, keys: [] });
    assert.deepEqual(
      names.map(({ name }) => name),
      ['venv'],
    );
  });

  it('refuse a missing file, a missing section and a module that is not known', () => {
    const none = { files: new Map<string, Buffer>(), keys: [] };
    assert.throws(
      () => modulePlans({ modules: ['venv'], venv: withRequirements }, none),
      /requirements_file 'sub\/requirements\.txt' was not given/,
    );
    assert.throws(() => modulePlans({ modules: ['venv'] }, none), /'venv' is named, but the job has no section 'venv'/);
    assert.throws(() => modulePlans({ modules: ['docekr'] }, none), /'docekr' is no module/);
  });

  it("leave the user's text as it is", () => {
    const run = `echo "\${VAR:-x}" '$HOME' \\\n  end\n`;
    assert.equal(commandScript({ modules: ['command'], command: { run, hosts: 'all' } }), run);
    assert.equal(
      commandScript({ modules: ['venv', 'command'], venv, command: { run, hosts: 'all' } })?.endsWith(`\n${run}`),
      true,
    );
    assert.equal(commandScript({ modules: ['venv'], venv }), undefined);
  });

  it('do not start the command outside of an environment that cannot be entered', () =>
    withHost(async (session) => {
      const spec = { modules: ['venv', 'command'], venv, command: { run: 'echo no', hosts: 'all' } } as const;
      assert.doesNotMatch(await outputOf(session, commandScript(spec)!), /^no$/m);
      const status = await session.connection.runStatus('train-a1');
      assert.equal(status.kind === 'exited' && status.code, 126);
    }));
});

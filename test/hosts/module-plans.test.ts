import assert from 'node:assert/strict';
import { modulePlans } from '../../activities/module-plans.js';
import { commandScript } from '../../domain/modules/command.js';
import { withHost } from './session.js';
import { outputOf, venv, venvPlan, withRequirements } from './venv-plan.js';

describe('module plans', () => {
  it('depend on the path, the Python and the content of the requirements, not on where they lay', () => {
    const base = venvPlan(withRequirements, Buffer.from('a')).fingerprint;
    assert.equal(
      venvPlan({ ...withRequirements, requirementsFile: '/x/requirements.txt' }, Buffer.from('a')).fingerprint,
      base,
    );
    assert.equal(
      venvPlan({ ...venv, python: '3.10' }).fingerprint,
      venvPlan({ ...venv, python: 'python3.10' }).fingerprint,
    );
    const others = [
      venvPlan(withRequirements, Buffer.from('b')),
      venvPlan({ ...withRequirements, path: '~/b' }, Buffer.from('a')),
      venvPlan({ ...withRequirements, python: '3.9' }, Buffer.from('a')),
      venvPlan(venv),
    ];
    assert.equal(new Set([base, ...others.map(({ fingerprint }) => fingerprint)]).size, 5);
  });

  it('come in the order of the file; the command needs none', () => {
    const files = new Map([['sub/requirements.txt', Buffer.from('a')]]);
    assert.deepEqual(modulePlans({ modules: ['command'], venv }, { files, keys: [] }), []);
    const names = modulePlans(
      { modules: ['script', 'venv', 'command'], venv: withRequirements, script: { run: 'true' } },
      { files, keys: [] },
    );
    assert.deepEqual(
      names.map(({ name }) => name),
      ['script', 'venv'],
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
    assert.equal(commandScript({ modules: ['command'], command: { run, hosts: 'all' } }), `set -o pipefail; ${run}`);
    assert.equal(
      commandScript({ modules: ['venv', 'command'], venv, command: { run, hosts: 'all' } })?.endsWith(
        `\nset -o pipefail; ${run}`,
      ),
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

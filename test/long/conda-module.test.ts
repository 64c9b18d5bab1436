import assert from 'node:assert/strict';
import { commandScript } from '../../domain/modules/command.js';
import type { ModuleFiles } from '../../domain/modules/module.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { never } from '../hosts/session.js';
import { VmWithModules } from '../hosts/vm-with-modules.js';

describe('the module conda on a rehearsed TPU VM', function () {
  this.timeout(120_000);
  const host = VmWithModules.shared();
  const { vm } = host;

  let runs = 0;

  it('conda makes the environment that the command runs in; anew when its file changed', async () => {
    const conda = { name: 'train', configFile: 'sub/environment.yml' };
    const file = (text: string): ModuleFiles => new Map([['sub/environment.yml', Buffer.from(text)]]);
    const plain = file('name: other\ndependencies:\n  - python\n');
    const first = await host.apply('conda', { conda }, plain);
    assert.equal(first.kind, 'done', first.output);
    assert.equal(await host.kindOf('conda', { conda }, plain), 'unchanged');
    assert.match(await runOf({ modules: ['conda', 'command'], conda }), /\/envs\/train\n$/);

    await vm.run('touch "$(cat ~/.jobctl/modules/conda.prefix)/mine"');
    const changed = await host.apply('conda', { conda }, file('name: other\ndependencies:\n  - python\n  - pip\n'));
    assert.match(changed.output, /making train anew/);
    assert.equal((await vm.run('ls "$(cat ~/.jobctl/modules/conda.prefix)/mine"')).code, 2);
    await vm.run('rm -rf "$(cat ~/.jobctl/modules/conda.prefix)/bin"');
    assert.equal(
      await host.kindOf('conda', { conda }, file('name: other\ndependencies:\n  - python\n  - pip\n')),
      'done',
    );
  });

  it('conda keeps an environment that it has not made', async () => {
    await vm.run('conda create -y -n theirs python; touch ~/miniconda3/envs/theirs/precious');
    assert.equal(await host.kindOf('conda', { conda: { name: 'theirs' } }), 'done');
    assert.equal((await vm.run('ls ~/miniconda3/envs/theirs/precious')).code, 0);
  });

  /** The output of a command under the job's environment. */
  async function runOf(spec: Pick<JobSpec, 'modules' | 'conda'>): Promise<string> {
    const runId = `train-a${++runs}`;
    const run = 'python -c "import sys; print(sys.prefix)"';
    const script = commandScript({ ...spec, command: { run, hosts: 'all' } }) ?? assert.fail('no command');
    let output = '';
    await host.connection.startRun({ runId, epoch: runs, script, env: {} });
    await host.connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never);
    return output;
  }
});

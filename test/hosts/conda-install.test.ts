import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { modulePlans } from '../../activities/module-plans.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { applyModule } from './apply-modules.js';
import type { HostSession } from './session.js';
import { withHost } from './session.js';

/** What stands for Miniconda's installer, which cannot be fetched here: the same options, and a conda of the verbs that the module uses. */
const INSTALLER = `#!/bin/bash
[ "$1 $2" = '-b -p' ] || exit 9
mkdir -p "$3/bin" "$3/envs"
cat > "$3/bin/conda" <<'END'
#!/bin/bash
base=$(cd "$(dirname "$0")/.." && pwd)
echo "$*" >> "$HOME/conda-calls"
case "$1 $2" in
  '--version ') echo 'conda 24.11.1' ;;
  'info --base') echo "$base" ;;
  'env list') echo '# conda environments:'; for env in "$base"/envs/*/; do [ ! -d "$env" ] || echo "$(basename "$env")   $env"; done ;;
  'env remove') rm -rf "$base/envs/$5" ;;
  'create -y') mkdir -p "$base/envs/$4/bin" && ln -s "$(command -v python3)" "$base/envs/$4/bin/python" ;;
  *) exit 8 ;;
esac
END
printf 'export CONDA_PREFIX=%s/envs/$1\\nPATH=$CONDA_PREFIX/bin:$PATH\\n' "$3" > "$3/bin/activate"
chmod +x "$3/bin/conda"
`;

describe('the module conda where there is none', () => {
  let server: Server;
  let isDown = false;
  before(async () => {
    server = createServer((_request, response) => {
      if (isDown) return void response.writeHead(503).end();
      response.end(INSTALLER);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => server.close());

  const [plan] = modulePlans(
    { modules: ['conda'], conda: { name: 'train', python: '3.11' } },
    { files: new Map(), keys: [] },
  );
  const prepare = ({ host }: HostSession): void => {
    const { port } = server.address() as AddressInfo;
    writeFileSync(join(host.home, '.bash_profile'), `export JOBCTL_MINICONDA_URL=http://127.0.0.1:${port}/m.sh\n`);
  };

  it('installs Miniconda into ~/miniconda once, and makes the environment', () =>
    withHost(async (session) => {
      assert.ok(plan);
      prepare(session);
      const { kind, output } = await applyModule(session.connection, plan);
      assert.equal(kind, 'done', output);
      assert.match(output, /installing Miniconda into ~\/miniconda, from http:/);
      assert.equal(session.read('.jobctl/modules/conda.prefix'), `${session.host.home}/miniconda/envs/train\n`);
      assert.ok(session.read('conda-calls').includes('create -y -n train python=3.11\n'));
      assert.equal((await applyModule(session.connection, plan)).kind, 'unchanged');

      rmSync(join(session.host.home, 'miniconda/envs/train/bin/python'));
      const again = await applyModule(session.connection, plan);
      assert.equal(again.kind, 'done', again.output);
      assert.doesNotMatch(again.output, /installing/);
      assert.match(again.output, /making train anew/);
    }));

  it('takes a mirror that is down for what passes, and leaves nothing half-installed', () =>
    withHost(async (session) => {
      assert.ok(plan);
      prepare(session);
      isDown = true;
      const failed = await applyModule(session.connection, {
        ...plan,
        steps: [quick(plan.steps[0]!), ...plan.steps.slice(1)],
      });
      isDown = false;
      assert.equal(
        failed.kind === 'failed' && judgeSetUpFailure(failed.code, failed.tail).kind,
        'transient',
        failed.output,
      );
      assert.ok(!existsSync(join(session.host.home, 'miniconda')));
      assert.equal((await applyModule(session.connection, plan)).kind, 'done');
    }));

  /** Without curl's own retries, which take seconds. */
  const quick = <Step extends { readonly script: string }>(step: Step): Step => ({
    ...step,
    script: step.script.replace('--retry 3', ''),
  });
});

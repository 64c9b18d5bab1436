import assert from 'node:assert/strict';
import type { SetUpRecord } from '../../domain/set-up-record.js';
import { setUpObject } from '../../domain/store-layout.js';
import { type JobmanFolder, withJobmanFolder } from '../end-to-end/jobman-job.js';
import type { TestStack } from '../end-to-end/test-stack.js';

const BAD_HOST = 2;

/** On one host of four: programs that fail the first times that they are called with certain words, and then are themselves. */
const SABOTAGE = `
      - name: shims
        run: |
          case $(hostname) in *-w-${BAD_HOST}) ;; *) exit 0 ;; esac
          mkdir -p ~/shims
          shim() {
            printf '#!/bin/bash\\nPATH=\${PATH//$HOME\\\\/shims:}\\nreal=%s\\ncase "$0 $*" in %s) [ -e ~/failed.%s ] || { echo >> ~/failed.%s; echo "curl: (6) Could not resolve host: x"; exit 6; } ;; esac\\nexec "$real" "$@"\\n' "$(command -v $1)" "$2" $3 $3 > ~/shims/$1
            chmod +x ~/shims/$1
          }
          shim docker '*" pull "*' docker
          shim conda '*" info "*' conda
          shim chmod '*" 700 "*' ssh
          shim cp '*jobctl-new*' files
          shim findmnt '*" -M "*' gcsfuse
          shim tar '*bundle.tar.gz*' bundle
          shim python3 '*venv*' venv
          ! command -v uv || shim uv '*venv*' venv
          for file in ~/.bash_profile ~/.bash_login ~/.profile; do [ ! -e $file ] || break; done
          echo 'PATH=$HOME/shims:$PATH' >> $file`;

/** By the environment of the command, of which a job has one at most. */
const JOBS: Readonly<Record<string, { readonly modules: readonly string[]; readonly section: string }>> = {
  venv: {
    modules: ['ssh', 'gcsfuse', 'files', 'script', 'mine', 'venv', 'bundle'],
    section: `venv: { name: train, requirements_file: requirements.txt }
bundle: { dir: ., exclude: [key*], install: 'test -e requirements.txt && echo "$VIRTUAL_ENV"' }`,
  },
  conda: { modules: ['conda'], section: 'conda: { name: train }' },
  docker: { modules: ['docker'], section: 'docker: { image: python }' },
};

describe('a step that fails on one host of four', function () {
  this.timeout(5 * 60_000);
  let stack: TestStack;
  let folder: JobmanFolder;

  withJobmanFolder((...own) => {
    [stack, folder] = own;
    folder.write('requirements.txt', '# nothing\n');
  });

  for (const [name, { modules, section }] of Object.entries(JOBS)) {
    it(`is tried again there alone, in each of ${modules.join(', ')}`, async () => {
      const once = `case $(hostname) in *-w-${BAD_HOST}) [ -e ~/failed.$0x ] || { touch ~/failed.$0x; exit 5; } ;; esac`;
      const id = await folder.submit(`
name: ${name}
tpu: { accelerator: v5litepod-16, name: me, zone: us-east1-d, pricing: spot }
setup: { modules: [sabotage, ${modules.join(', ')}, command] }
ssh: { tpu_private_key: KEY, tpu_public_key: KEY.pub }
gcsfuse: { bucket_name: BUCKET, mount_path: ~/data }
files: [{ from: requirements.txt, to: ~/copied }]
script: { run: '${once.replaceAll('$0x', 'script')}' }
${section}
modules:
  sabotage:
    setup: ${SABOTAGE}
  mine:
    setup: [{ name: one, run: '${once.replaceAll('$0x', 'mine')}' }, { name: two, run: 'true' }]
command: { run: 'true' }
`);
      const outcome = await stack.jobs.wait(id);
      const logs = await Promise.all(modules.map((module) => folder.logOf(id, module, BAD_HOST)));
      assert.equal(outcome.result, 'succeeded', `${JSON.stringify(outcome)}\n${logs.join('\n')}\n${stack.tail()}`);
      const record = JSON.parse(String(await stack.store.read(setUpObject(id, 1)))) as SetUpRecord;
      const tries = (host: number, module: string): number =>
        Math.max(...record.steps.filter((row) => row.host === host && row.module === module).map((row) => row.tries));
      for (const module of modules) {
        const seen = [0, 1, 2, 3].map((host) => tries(host, module));
        assert.deepEqual(seen, [1, 1, 2, 1], `${module}: ${logs.join('\n')}`);
      }
      const failed = record.steps.filter(({ outcome: end }) => end === 'failed');
      assert.deepEqual(failed, []);
    });
  }
});

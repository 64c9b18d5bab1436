import assert from 'node:assert/strict';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';
import type { SshResult } from './ssh-client.js';
import { ssh } from './ssh-client.js';

/** A PATH on which the rehearsal's tools find none of the computer's own of these names. */
const HIDDEN = ['gcloud', 'gsutil', 'gcsfuse', 'docker', 'conda', 'uv', 'dpkg', 'dpkg-query', 'lsof', 'lsb_release'];
const LAPTOP = `
if [ ! -d /tmp/laptop ]; then
  mkdir /tmp/laptop && cp -s /usr/bin/* /tmp/laptop/ 2> /dev/null
  cd /tmp/laptop && rm -f apt* fusermount* journalctl systemctl ${HIDDEN.join(' ')} && cd
fi
case \${PATH##*:} in /usr/* | /bin | /sbin) python= ;; *) python=:\${PATH##*:} ;; esac
PATH=/opt/rehearsal/bin:/run/rehearsal/bin:/tmp/laptop$python`;

/** One TPU VM, entered by OpenSSH's client: scripts run there as a job's do. */
export class VmWithTools {
  readonly cloud = new CloudUnderTest();

  async start(): Promise<void> {
    await this.cloud.start();
    const request = { parent: PARENT, nodeId: 'tools', node: this.cloud.nodeBody() };
    const [operation] = await this.cloud.client.createNode(request);
    await operation.promise();
  }

  stop(): Promise<void> {
    return this.cloud.stop();
  }

  /** By `bash -lc`, as jobctl runs commands. */
  async run(script: string): Promise<SshResult> {
    return ssh(await this.cloud.place('tools'), 'bash -l', [], script);
  }

  /** As on a computer that has none of the tools itself. */
  runBare(script: string): Promise<SshResult> {
    return this.run(`${LAPTOP}\n${script}`);
  }

  /** Runs to exit code 0. @returns what came on stdout, without the last newline. */
  async output(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.runBare(script);
    assert.equal(code, 0, `${script}\n${stdout}\n${stderr}`);
    return stdout.trimEnd();
  }
}

/** A refusal: its exit code, and words that it must say on stderr. */
export type Refusals = Readonly<Record<string, { readonly run: string; readonly code: number; readonly says: RegExp }>>;

/** One test per refusal: what the real tool refuses is refused in its words, with its code. All run in one login. */
export function refuses(vm: VmWithTools, refusals: Refusals): void {
  const names = Object.keys(refusals);
  let results: readonly { readonly code: number; readonly stderr: string }[] | undefined;
  const runAll = async (): Promise<NonNullable<typeof results>> => {
    const each = Object.values(refusals).map(
      ({ run }, index) => `( ${run}\n) > /dev/null 2> e${index}; echo $? > c${index}`,
    );
    const read = names.map((_, index) => `cat c${index}; base64 -w 0 e${index}; echo`);
    const lines = (
      await vm.output(['mkdir -p refusals', 'ln -sfn ~/d refusals/d', 'cd refusals', ...each, ...read].join('\n'))
    ).split('\n');
    return names.map((_, index) => ({
      code: Number(lines[2 * index]),
      stderr: Buffer.from(lines[2 * index + 1] ?? '', 'base64').toString(),
    }));
  };
  for (const [index, name] of names.entries()) {
    it(name, async () => {
      results ??= await runAll();
      const { code, stderr } = results[index] ?? assert.fail(`no result of ${name}`);
      assert.match(stderr, refusals[name]!.says);
      assert.equal(code, refusals[name]!.code, stderr);
    });
  }
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DevStatus } from '../../cli/local/dev/status.js';
import type { DevContext } from '../../cli/place/stack/context.js';
import { programArguments } from '../built.js';
import { makeKeyPair } from '../hosts/ssh-host.js';
import { type Rack, startRack } from '../hosts/rack.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { until } from '../until.js';

/** A machine at which nobody listens, and what `dev up` says of it. */
const NOWHERE = `[[machines]]
name = "rack-0"
address = "127.0.0.1:1"
user = "train"
`;

/** The two ways in which a lab has its machines in a local stack: beside the simulated cloud, or alone (docs/adr/0171). */
const WAYS: Readonly<
  Record<string, { readonly flags: (folder: string) => readonly string[]; readonly first: string }>
> = {
  '--pool-file': {
    flags: (folder) => ['--quota', join(folder, 'q.toml'), '--pool-file', join(folder, 'p.toml')],
    first: '[quota]\n',
  },
  '--machines': { flags: (folder) => ['--machines', join(folder, 'p.toml')], first: NOWHERE },
};

for (const [way, { flags, first }] of Object.entries(WAYS)) {
  describe(`a local stack with a machine of one’s own, by dev up ${way}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'own-machine-down-'));
    const home = join(folder, 'home');
    let rack: Rack;
    const jobctl = (...words: string[]): Promise<{ code: number; text: string }> =>
      new Promise((resolve) => {
        const env = { ...process.env, JOBCTL_HOME: home, NO_COLOR: '1', USER: 'ann' };
        const told = (error: Error | null, out: string, err: string): void =>
          resolve({ code: error === null ? 0 : Number((error as NodeJS.ErrnoException).code), text: out + err });
        execFile(process.execPath, [...programArguments('cli/main'), ...words], { env }, told);
      });
    const done = async (...words: string[]): Promise<string> => {
      const { code, text } = await jobctl(...words);
      assert.equal(code, 0, text);
      return text;
    };
    const up = (): Promise<string> => done('dev', 'up', ...flags(folder));
    const claim = (): string => join(rack.hosts[0]?.home ?? '', '.jobctl/machine/claim');

    before(async function () {
      this.timeout(180_000);
      writeFileSync(join(folder, 'q.toml'), everybodysQuota({ machine: 1 }));
      writeFileSync(join(folder, 'p.toml'), first);
      const said = await up();
      if (way === '--machines') assert.match(said, /1 of 1 machines do not answer; .*\n +rack-0 \(127\.0\.0\.1:1\): /);
      const context = JSON.parse(readFileSync(join(home, 'context.json'), 'utf8')) as DevContext;
      rack = await startRack(1, { ...makeKeyPair(), public: readFileSync(context.ssh.publicKeyFile, 'utf8').trim() });
      const [machine] = rack.inventory;
      writeFileSync(
        join(folder, 'p.toml'),
        `[[machines]]\nname = "rack-0"\naddress = "${machine?.address}:${machine?.port}"\nuser = "${machine?.user}"\n`,
      );
      const again = await up();
      if (way === '--machines') assert.match(again, /All 1 machines answer/);
      writeFileSync(join(folder, 'job.yaml'), 'name: train\nmachines: {}\ncommand: { run: exec sleep 1000 }\n');
    });
    after(async function () {
      this.timeout(120_000);
      await jobctl('cancel', 'train-a');
      await jobctl('dev', 'down', '--purge', '--yes');
      await rack?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('calls nothing of its job a rehearsal, refuses to go down beneath it, and says what would go on', async function () {
      this.timeout(240_000);
      const said = [await done('submit', '--name', 'train-a', join(folder, 'job.yaml'))];
      await until('the job runs', async () => (await done('status', 'train-a')).includes('running for'), 60_000);
      const { parts } = JSON.parse(await done('dev', 'status', '--output', 'json')) as DevStatus;
      assert.equal(
        parts.some(({ name }) => name === 'rehearsal'),
        way === '--pool-file',
        'nothing simulated is started',
      );
      for (const verb of [
        ['status', 'train-a'],
        ['list'],
        ['why', 'train-a'],
        ['logs', 'train-a', '--job'],
        ['machines', 'ls'],
      ])
        said.push(await done(...verb));
      assert.doesNotMatch(said.join('\n'), /rehears|not on real/i);
      for (const words of [[], ['--purge', '--yes']]) {
        const { code, text } = await jobctl('dev', 'down', ...words);
        assert.equal(code, 4, text);
        assert.match(text, /nothing was changed: 1 job \(train-a\) and 1 slice \(\S+\) open/);
        assert.match(text, /commands run on machines of your own/);
        assert.equal(text.includes('end them first: `jobctl delete --yes train-a`'), words.length > 0, text);
      }
      assert.ok(existsSync(claim()));
      assert.doesNotMatch(await done('cancel', 'train-a'), /rehears/i);
      await until('the machine is free', () => !existsSync(claim()));
      await done('secret', 'put', 'token', '--from-file', join(folder, 'job.yaml'));
      const down = await until(
        'it goes down',
        async () => {
          const { code, text } = await jobctl('dev', 'down', '--purge', '--yes');
          return code === 0 && text;
        },
        60_000,
      );
      assert.ok(down.includes(`; the secrets in ${join(home, 'secrets')} are kept`), down);
      assert.ok(existsSync(join(home, 'secrets')));
    });
  });
}

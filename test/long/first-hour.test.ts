import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveTemporalCli } from '../../cli/local/dev/temporal-server/resolve.js';
import { filmOf, type Shown, typeFirstHour } from '../../scripts/recording/first-hour.js';
import { svgOf } from '../../scripts/recording/svg.js';
import { LoopbackRegistry } from './loopback-registry.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LONGEST_PAUSE_MS = 1_000;
const MOST_MEGABYTES = 80;
const MOST_PICTURE_BYTES = 150_000;
/** Where pictures go that are kept; scripts/record-first-hour.ts sets it. */
const PICTURES = process.env['JOBCTL_PICTURES'];

/**
 * In an empty home: five commands from the packed tarball to a result, typed in a terminal, each one as the one before it told.
 * One thing is there already, the Temporal CLI of ~/.cache/jobctl: where it cannot be downloaded, it is built by Go in 200 s.
 */
describe('the first hour, typed in a terminal', function () {
  this.timeout(1_800_000);
  const scratch = mkdtempSync(join(tmpdir(), 'jobctl-hour-'));
  const registry = new LoopbackRegistry(join(scratch, 'registry'));
  let tarball: string;
  let cli: string;

  before(async () => {
    cli = (await resolveTemporalCli()).path;
    await registry.start();
    const done = async (ran: ReturnType<LoopbackRegistry['npm']>): Promise<string> => {
      const { code, stdout, stderr } = await ran;
      assert.equal(code, 0, `${stdout}\n${stderr}`);
      return stdout;
    };
    await done(registry.npm(ROOT, 'run', 'build'));
    await done(registry.run(ROOT, 'npx', 'tsx', 'scripts/write-integrity.ts'));
    await done(registry.npm(ROOT, 'publish', '--workspaces', '--include-workspace-root', '--ignore-scripts'));
    const packed = await done(registry.npm(ROOT, 'pack', '--ignore-scripts', '--pack-destination', scratch));
    tarball = packed.trim().split('\n').at(-1) ?? '';
    // What the registry passes through is then its own: a warm one.
    await done(registry.npm(scratch, 'install', '--global', '--prefix', join(scratch, 'warm'), `./${tarball}`));
  });
  after(() => {
    registry.stop();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 500 });
  });

  for (const columns of [80, 120])
    describe(`${columns} columns wide`, () => {
      const home = join(scratch, `h${columns}`);
      const prefix = join(scratch, `p${columns}`);
      let shown: Shown | undefined;
      before(async () => {
        mkdirSync(join(home, '.cache/jobctl'), { recursive: true });
        symlinkSync(dirname(dirname(cli)), join(home, '.cache/jobctl/temporal'));
        symlinkSync(join(scratch, tarball), join(home, tarball));
        shown = await typeFirstHour(columns, { home, prefix, registry: registry.url, tarball });
      });
      after(() => {
        shown?.terminal.end();
        const env = { PATH: process.env['PATH'], HOME: home };
        spawnSync(join(prefix, 'bin/jobctl'), ['dev', 'down', '--yes'], { env });
      });

      /** What jobctl printed: npm's own warnings are not ours to fold. */
      const lines = (): readonly string[] =>
        (shown?.text ?? '').split('\n').filter((line) => !line.startsWith('npm warn'));

      it('five commands, and the file that the program wrote is here', () => {
        const [install, enter, init, submit, download = ''] = shown?.typed ?? [];
        assert.deepEqual(
          [install, enter, init, submit],
          [`npm install --global ./${tarball}`, 'cd my-model', 'jobctl init', 'jobctl submit --local --wait job.yaml'],
        );
        assert.match(download, /^jobctl download my-model-\w{4}$/);
        const result = join(home, 'my-model', download.replace(/.* /, ''), 'out/model.json');
        assert.deepEqual(Object.keys(JSON.parse(readFileSync(result, 'utf8')) as object), ['steps', 'loss']);
      });

      it('says each phase, the lines of the program, and how it ended', () => {
        for (const part of [
          / {2}out: stored every 5 minutes, and put back after a preemption; jobctl\s+download\s+JOB\s+brings\s+it\n/,
          /\nInstalling @jobctl\/worker [^]*\nInstalling @jobctl\/cloud-tpu-rehearsal /,
          /\nmy-model-\w{4} {3}v5litepod-8 spot {3}8 chips on 1 host {3}REHEARSAL\s+context local\n/,
          /\n ✔ setting-up [^]*\n0 │ step 1 of 8, loss [^]*\n0 │ saved out\/model\.json\n ✔ running [^]*\n ✔ succeeded in /,
          /\n1 file \(\d+ B\) of host 0, attempt 1, in my-model-\w{4}\/\n/,
        ])
          assert.match(shown?.text ?? '', part);
      });

      it('breaks no line in the middle of a word, and leaves no escape code or internal word behind', () => {
        const wide = [...lines(), ...(shown?.terminal.broken ?? [])].filter((line) => line.length > columns);
        assert.deepEqual(
          // npm's own words, which wrap as it likes.
          wide.filter((line) => !/^npm warn|allow-scripts/.test(line)),
          [],
        );
        // oxlint-disable-next-line no-control-regex -- what is looked for
        const left = lines().filter((line) => /[\u0000-\u001f\ufffd]|\[[\d;]*[mKJHG](?!\w)|\^\[/.test(line));
        assert.deepEqual(left, []);
        const internal = lines().filter((line) => /undefined|NaN|\[object|\bError:|^\s+at .*:\d+/.test(line));
        assert.deepEqual(internal, []);
      });

      it(`takes ${MOST_MEGABYTES} MB at most`, () => {
        const [bytes = '0'] = execFileSync('du', ['-sb', join(prefix, 'lib')], { encoding: 'utf8' }).split('\t');
        const megabytes = Number(bytes) / 1e6;
        const time = /added \d+ packages in (\w+)/.exec(shown?.text ?? '')?.[1];
        console.log(`      ${megabytes.toFixed(1)} MB, installed in ${time} from a warm registry, with an empty cache`);
        assert.ok(megabytes <= MOST_MEGABYTES);
      });

      it(`is a picture of ${MOST_PICTURE_BYTES / 1_000} kB at most`, () => {
        const svg = svgOf(filmOf(shown?.terminal.frames ?? []), columns, LONGEST_PAUSE_MS);
        if (PICTURES !== undefined) writeFileSync(join(PICTURES, `first-hour-${columns}.svg`), svg);
        assert.ok(svg.length <= MOST_PICTURE_BYTES, `${svg.length} bytes`);
      });
    });
});

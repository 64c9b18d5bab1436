import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Stack } from '../dev/stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { type Finished, JobctlUser } from './jobctl-process.js';

const JOB = `machines: {}
command:
  run: |
    echo "attempt $JOBCTL_ATTEMPT on $(hostname)"
    until [ -e ~/go ]; do sleep 0.1; done
    rm ~/go
    echo done > "$JOBCTL_OUTPUT_DIR/said"
`;
const BUSY = ['local-1', 'local-2', 'local-3', 'local-4'].map(
  (name, at) => `${name} is held by slice jc-job-${at + 1}-g1`,
);

/** Pids of processes with that text in their environment. */
const processesWith = (text: string): readonly string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });

/** docs/adr/0154: a local stack whose pool file names no machines. */
describe('machines of a local stack that has none of its own', function () {
  this.timeout(240_000);
  const stack = new Stack();
  const user = new JobctlUser({ JOBCTL_HOME: stack.file('.'), LANG: 'C.UTF-8', NO_COLOR: '1' });
  const job = `${stack.root}/job.yaml`;
  const run = (...words: string[]): Promise<Finished> => user.run(...words);
  const done = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...words);
    assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}`);
    return stdout + stderr;
  };
  const runs = (name: string, attempt: number): Promise<unknown> =>
    until(`${name} runs`, async () => (await done('status', name)).includes(`attempt ${attempt} on 1 host`), 120_000);

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    writeFileSync(job, JOB);
    await stack.up();
  });
  after(async () => {
    await user.leave();
    await stack.remove();
  });

  it('serve four jobs side by side, labelled REHEARSAL, and the fifth waits and says for which', async () => {
    for (const number of [1, 2, 3, 4]) {
      await done('submit', '--name', `job-${number}`, job);
      await runs(`job-${number}`, 1);
    }
    await done('submit', '--name', 'job-5', job);
    const why = async (): Promise<string> => (await done('why', 'job-5')).replaceAll(/\s+/g, ' ');
    await until('the fifth says why it waits', async () => (await why()).includes(BUSY.join('; ')));
    assert.match(await why(), /REHEARSAL/);
    assert.match(await done('status', 'job-1'), /job-1 {3}REHEARSAL/);
    assert.match(
      await done('machines', 'ls'),
      /local-1 +held +job-1 [^]*local-4 +held +job-4 [^]*REHEARSAL: VMs on this/,
    );
  });

  it('are none with an accelerator, and not those of another pool: refused with exit code 4', async () => {
    const cases = {
      'machines: { accelerator: h100, count: 8 }': /asks for 1 machine of 8 h100, and pool default has none\n.*local-4/,
      'machines: {}\npool: other':
        /asks for 1 machine without an accelerator, and pool other has none\n.*\[\[machines\]\]/,
    };
    for (const [machines, said] of Object.entries(cases)) {
      writeFileSync(`${job}.other`, `${machines}\ncommand: { run: "true" }\n`);
      const { code, stderr } = await run('submit', `${job}.other`);
      assert.equal(code, 4, stderr);
      assert.match(stderr, said);
    }
  });

  it('outlive the rehearsal, and serve the next job when one has ended', async () => {
    stack.kill('rehearsal');
    await stack.up();
    await done('exec', 'job-1', '--', 'touch', 'go');
    await done('wait', 'job-1');
    assert.match(await done('logs', 'job-1'), /attempt 1 on local-1/);
    await runs('job-5', 1);
    for (const name of ['job-2', 'job-3']) await done('cancel', name);
  });

  it('do not keep the stack up; a job goes on after the next `dev up`, also once a pool file names machines', async () => {
    await done('dev', 'down');
    const pool = `${stack.root}/pool.toml`;
    writeFileSync(pool, '[[machines]]\nname = "rack"\naddress = "127.0.0.1:1"\nuser = "me"\n');
    await stack.up({ poolFile: pool });
    await runs('job-5', 2);
    const shown = await done('machines', 'ls');
    assert.match(shown, /rack +silent/);
    assert.doesNotMatch(shown, /local-|REHEARSAL/);
    await done('exec', 'job-5', '--', 'touch', 'go');
    await done('wait', 'job-5');
    assert.match(await done('status', 'job-5'), /job-5 {3}REHEARSAL[^]*1 file \(5 B\) of 1 host stored/);
  });

  it('leave no process after `dev down --purge`, though job-4 ran', async () => {
    const ofJobs = (): readonly string[] => processesWith(`REHEARSAL_DISK=${stack.file('rehearsal')}`);
    assert.notDeepEqual(ofJobs(), []);
    await done('dev', 'down', '--purge', '--yes');
    assert.deepEqual([...stack.processes(), ...ofJobs()], []);
  });
});

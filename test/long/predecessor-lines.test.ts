import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ASTERA_LINES,
  BASTION_LINES,
  type Example,
  JOBMAN_LINES,
  typedWords,
} from '../../scripts/migrating-examples.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { type Finished, JobctlUser } from '../end-to-end/jobctl-process.js';
import { until } from '../until.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** The file that keeps what was typed and printed; scripts and people set it. */
const RECORDING = process.env['JOBCTL_RECORDING'];

const QUICK_START = `job: {name: quick-start, remote_user: ann}
tpu: {name: quick-start, allocation_mode: tpu-vm, accelerator: v4-8, zone: us-central2-b, version: tpu-ubuntu2204-base, pricing: spot}
command: {cmd: "echo hello from $(hostname)", workers: [0]}
`;
/** Two slices of four hosts each: lines ask for a replica and a worker. */
const EXP = `tpu: {accelerator: v4-32, zone: us-central2-b, allocation_mode: queued-resources}
slices: 2
command: {run: 'echo step 1; sleep 3600'}
`;
const SPEC = {
  name: 'from-spec',
  command: 'python3 train.py',
  metadata: { user_id: 'ann', project_id: 'none', priority: 3, resources: { v4: 8 } },
};

/** Each line of the predecessors' pages with `jobctl` in the place of their program, in an empty home, on the local stack. */
describe('the lines of JobMan, Bastion and launch, typed in an empty home', function () {
  this.timeout(1_800_000);
  const home = mkdtempSync(join(tmpdir(), 'lines-'));
  const user = new JobctlUser({
    HOME: home,
    PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
    // The Temporal CLI alone, which cannot be downloaded everywhere.
    XDG_CACHE_HOME: join(process.env['HOME'] ?? '/root', '.cache'),
    LANG: 'C.UTF-8',
  });
  const recording: string[] = [];
  let jobs = 0;
  let job: string | undefined;

  const type = (line: string): Promise<Finished> => user.shell(`cd ${home} && timeout 120 ${line}`).finished;
  const done = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await type(line);
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
    return stdout;
  };
  /** One that runs, submitted anew if the line before it ended the last one. */
  async function openJob(): Promise<string> {
    const phase = async (id: string) =>
      (JSON.parse(await done(`jobctl status ${id} -o json`)) as { phase: string }).phase;
    if (job !== undefined && (await phase(job)) === 'running') return job;
    if (job !== undefined) await type(`jobctl delete ${job} --yes`);
    jobs += 1;
    const id = `exp-${jobs}`;
    await done(`jobctl submit exp.yaml --name ${id}`);
    await until('the job runs', async () => (await phase(id)) === 'running', 120_000);
    job = id;
    return id;
  }

  before(async function () {
    needsConfinement(this);
    for (const folder of ['bin', 'configs']) mkdirSync(join(home, folder));
    symlinkSync(MAIN, join(home, 'bin/jobctl'));
    writeFileSync(join(home, 'configs/quick_start.yaml'), QUICK_START);
    writeFileSync(join(home, 'exp.yaml'), EXP);
    writeFileSync(join(home, 'spec.json'), JSON.stringify(SPEC));
    for (const name of ['train', 'my_script', 'my_script2'])
      writeFileSync(join(home, `${name}.py`), "print('step 1')\n");
    await done('jobctl dev up');
  });
  after(async () => {
    await user.leave();
    rmSync(home, { recursive: true, force: true });
    if (RECORDING !== undefined) writeFileSync(RECORDING, `${recording.join('\n').replaceAll(home, '~')}\n`);
  });

  const all: Readonly<Record<string, readonly Example[]>> = {
    'JobMan v2': JOBMAN_LINES,
    "AXLearn's Bastion": BASTION_LINES,
    "Astera's launch": ASTERA_LINES,
  };
  for (const [tool, examples] of Object.entries(all))
    describe(tool, () => {
      before(() => recording.push(`# ${tool}`, ''));
      for (const example of examples)
        it(example.theirs, async () => {
          const words = typedWords(example);
          const line = words.includes('exp-1') ? words.replaceAll('exp-1', await openJob()) : words;
          const { code, stdout, stderr } = await type(`jobctl ${line}`);
          recording.push(
            `$ ${example.theirs}`,
            `> jobctl ${line}`,
            `${stdout}${stderr}`.trimEnd(),
            `[exit code ${code}]`,
            '',
          );
          assert.ok([0, 2, 4].includes(code ?? -1), `exit code ${code}\n${stdout}${stderr}`);
          assert.doesNotMatch(stderr, /\n +at \w|unknown (?:command|option)/, stderr);
          // A line that does not run as it stands is answered with one that does, or with the page that says why none does.
          if (code === 2) assert.match(stderr, /\n {2}(?:jobctl |\S)/, stderr);
        });
    });
});

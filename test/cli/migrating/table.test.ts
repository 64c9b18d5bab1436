import assert from 'node:assert/strict';
import { VERBS } from '../../../cli/commands/verbs.js';
import { isForeign } from '../../../cli/job/migrating/foreign-words.js';
import { answerTo } from '../answer-to.js';
import { splitShellWords } from '../../../domain/shell-quote.js';
import { refusalOf } from '../command-line.js';
import { verbReached } from '../verb-reached.js';

const TOOLS = ['jobman', 'axlearn', 'axlearn gcp', 'gcp', 'sky'];
/** Of the tools' pages, of others', and some that nothing has. */
const WORDS = [
  ...['create', 'start', 'reboot', 'run', 'clean', 'gcsfuse', 'docker', 'conda', 'venv', 'tpu', 'billing', 'storage'],
  ...[
    'availability',
    'analytics',
    'bastion',
    'history',
    'sshvm',
    'bundle',
    'sbatch',
    'srun',
    'squeue',
    'scancel',
    'sinfo',
  ],
  ...[
    'apply',
    'down',
    'rm',
    'kill',
    'attach',
    'shell',
    'events',
    'retry',
    'rerun',
    'resubmit',
    'sacct',
    'up',
    'cost',
    'info',
    'launch',
    'auth',
    'vm',
  ],
  ...['dataflow', 'queue', 'check', 'jobs', 'serve', 'spot', 'storage', 'cluster', 'config', 'monitor', 'nothing'],
];
const ARGUMENTS: readonly (readonly string[])[] = [
  ...[[], ['exp-1'], ['activate'], ['list'], ['start'], ['exp-1', '--all'], ['--all'], ['job.yaml'], ['x.sh']],
  ['python3', 'train.py'],
];

/** Whatever is typed of another tool, each line that jobctl answers with is one of its own, with all that it needs. */
describe('lines that jobctl shows for those of other tools', () => {
  for (const tool of ['', ...TOOLS])
    it(`are lines of jobctl${tool === '' ? '' : `, behind ${tool}`}`, async () => {
      let shown = 0;
      const wrong: string[] = [];
      for (const word of tool === '' ? WORDS : [...WORDS, ...VERBS.map(({ name }) => name)])
        for (const args of ARGUMENTS) {
          const own = [...tool.split(' ').filter(Boolean), word, ...args];
          const answer = isForeign(own) ? answerTo(own, undefined) : undefined;
          for (const line of answer?.runs === undefined ? (answer?.lines ?? []) : []) {
            shown++;
            const parts = splitShellWords(line.replace(/^(npx )?jobctl /, '')) ?? [];
            await verbReached(parts).catch(({ message }: Error) => wrong.push(`${own.join(' ')}: ${line}: ${message}`));
          }
        }
      assert.deepEqual(wrong, []);
      assert.ok(shown > 100, `only ${shown}`);
    });

  for (const [typed, wanted] of Object.entries({
    'gcp config activate': 'jobctl context use NAME',
    'axlearn gcp config list': 'jobctl context ls',
    'gcp tpu list': 'jobctl list',
    'gcp vm start': 'jobctl setup server',
    'jobman quota': 'jobctl doctor --gcp',
    'run python3 train.py': 'jobctl submit --tpu v5litepod-8 -- python3 train.py',
    'sbatch x.sh': 'jobctl submit --tpu v5litepod-8 -- bash x.sh',
    'sbatch x.py': 'jobctl submit --tpu v5litepod-8 -- python3 x.py',
    sacct: 'jobctl list --all --since 7d',
    'jobman billing': 'jobctl report cost --since 30d',
    'jobman analytics': 'jobctl report usage --since 30d',
    'sky jobs queue': 'jobctl list',
    'sky jobs launch task.yaml': 'jobctl submit task.yaml',
    'sky jobs logs 3': 'jobctl logs 3 --follow',
    'sky jobs cancel 3': 'jobctl cancel 3',
    'sky cost-report': 'jobctl report cost --since 30d',
    down: 'jobctl dev down',
    'down exp-1': 'jobctl delete exp-1',
    'clean --all': 'jobctl delete --mine',
    'launch logs x --worker 1': 'jobctl logs x --follow --host 1',
  }))
    it(`${typed}: ${wanted}`, async () => {
      const { exitCode, text } = await refusalOf(typed.split(' '));
      assert.equal(exitCode, 2);
      assert.ok(text.split('\n').includes(`  ${wanted}`), text);
    });

  for (const typed of ['gcp auth', 'gcp dataflow', 'jobman config', 'axlearn gcp nothing', 'sky jobs', 'sky serve up'])
    it(`${typed}: no line, for there is none`, async () => {
      const { exitCode, text } = await refusalOf(typed.split(' '));
      assert.equal(exitCode, 2);
      assert.match(text, /this is .* command line, and jobctl has none that does the same/);
      assert.doesNotMatch(text, /^ +jobctl /m);
    });

  for (const typed of ['config', 'csot', 'inffo', 'lits2', 'zzz', 'updat'])
    it(`of '${typed}', which nobody has, no far word is called the nearest`, async () => {
      const { exitCode, text } = await refusalOf([typed]);
      assert.equal(exitCode, 2);
      assert.doesNotMatch(text, /the nearest is/);
    });
  for (const [typed, wanted] of [
    ['lsit', 'list'],
    ['lst', 'list'],
    ['sumbit', 'submit'],
    ['cancle', 'cancel'],
    ['downlaod', 'download'],
  ] as const)
    it(`of '${typed}' it is ${wanted}`, async () =>
      assert.match((await refusalOf([typed])).text, new RegExp(`the nearest is ${wanted}`)));

  it('a job file with a flag of launch is no line of launch', async () => {
    const { exitCode, text } = await refusalOf(['submit', 'job.yaml', '--gpus', '8']);
    assert.equal(exitCode, 2);
    assert.match(text, /^jobctl submit: unknown option '--gpus'/);
  });
  it('a quota file that is not there is named before anybody is asked', async () => {
    const { exitCode, text } = await refusalOf(['quota', 'apply', 'nosuch.toml']);
    assert.equal(exitCode, 2);
    assert.match(text, /nosuch\.toml/);
    assert.doesNotMatch(text, /terminal to ask on/);
  });
});

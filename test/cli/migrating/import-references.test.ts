import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { importJobman } from '../../../cli/job/migrating/import-jobman.js';
import { CliError } from '../../../cli/terminal/cli-error.js';
import { parseJobFile } from '../../../domain/job-file/parse.js';

const TPU = 'tpu: {accelerator: v4-32, zone: us-central2-b, pricing: spot, num_workers: 4}';

/** The command of a file that is imported; it is the same as that of the file as it runs. */
function imported(text: string): string {
  const { text: written } = importJobman(text, 'jm.yaml');
  const [before, after] = [text, written].map((each) => {
    const job = parseJobFile(each, { file: 'jm.yaml', env: {} });
    assert.ok(job.ok, job.ok ? '' : `${JSON.stringify(job.problems)}\n${each}`);
    return job.spec;
  });
  assert.equal(after?.command?.run, before?.command?.run);
  return (parse(written) as { readonly command: { readonly run: string } }).command.run;
}

describe('references in a file of JobMan that is imported', () => {
  for (const [of, { file, run }] of Object.entries({
    'the name of the job': { file: `job: {name: run-1}\n${TPU}\ncommand: {cmd: "a \${job.name}"}\n`, run: 'a run-1' },
    'a name that is made to fit': {
      file: `job: {name: Big Run_1}\n${TPU}\ncommand: {cmd: "a '\${job.name}'"}\n`,
      run: "a 'Big Run_1'",
    },
    'a renamed key that stays in a section': {
      file: `${TPU}\nconda: {env_name: e, yaml_file: env.yml}\ncommand: {cmd: "a \${conda.env_name}"}\n`,
      run: 'a ${conda.name}',
    },
    'a key that does nothing': { file: `${TPU}\ncommand: {cmd: "a \${tpu.num_workers}"}\n`, run: 'a 4' },
    'a name that refers to another key': {
      file: `job: {name: "x-\${tpu.accelerator}"}\n${TPU}\ncommand: {cmd: "a \${job.name}"}\n`,
      run: 'a x-${tpu.accelerator}',
    },
    'keys that stay': {
      file: `${TPU}\ncommand: {cmd: "a \${tpu.zone} \${tpu.name} $\${x.y} $X"}\n`,
      run: 'a ${tpu.zone} ${tpu.name} $${x.y} $X',
    },
  }))
    it(of, () => assert.equal(imported(file), run));

  it('a key that jobctl does not know', () => {
    const { text, told } = importJobman(`${TPU}\njob: {slack: chan}\ncommand: {cmd: "a \${job.slack}"}\n`, 'jm.yaml');
    assert.equal((parse(text) as { readonly command: { readonly run: string } }).command.run, 'a chan');
    assert.ok(told.some(({ key, text: says }) => key === '${job.slack}' && says.startsWith('chan')));
  });

  for (const sections of ['', 'ssh: {private_key: ~/.ssh/k}\n'])
    it(`a backslash that JobMan took away is told once, ${sections === '' ? 'without' : 'with'} ssh`, () => {
      const { told } = importJobman(`job: {name: a}\n${sections}${TPU}\ncommand: {cmd: 'a \\\${x.y}'}\n`, 'jm.yaml');
      const of = told.filter(({ text }) => text.includes('the backslash of \\${x.y} stays'));
      assert.equal(of.length, 1, JSON.stringify(told));
    });

  it('what is wrong has its line and column in the file that was given', () => {
    const file = `job:\n  name: run-1\n  loop: true\n${TPU}\nconda:\n  env_name: e\n  yaml_file: env.yml\ncommand:\n  cmd: "a \${no.such}"\n`;
    assert.throws(
      () => importJobman(file, 'jm.yaml'),
      (error: unknown) => error instanceof CliError && error.message.startsWith('jm.yaml:9:11: cmd: '),
    );
  });
});

import assert from 'node:assert/strict';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { formatProblems } from '../../domain/problem.js';

const parsed = (job: string, tpu: string) =>
  parseJobFile(`job: {${job}}\ntpu: {${tpu}}\ncommand: {cmd: hostname}\n`, { file: 'job.yaml', env: {} });

/** What a JobMan file asks for, and what is said of it. */
function accepted(
  job: string,
  tpu: string,
): { readonly tpu: Readonly<Record<string, unknown>>; readonly said: string } {
  const file = parsed(job, tpu);
  assert.ok(file.ok, file.ok ? '' : formatProblems(file.problems));
  const { tpu: request = {} } = file.spec as { readonly tpu?: Readonly<Record<string, unknown>> };
  return { tpu: request, said: file.warnings.join('\n') };
}

const V5P = 'accelerator: v5p-16, zone: us-east5-a';

describe('what users of JobMan have in their files', () => {
  for (const value of ['auto', 'spot', '3', '"0"'])
    it(`worker_num: ${value} is taken, and said to do nothing`, () => {
      const { said } = accepted(`name: a, worker_num: ${value}`, V5P);
      assert.match(said, /^job\.worker_num: is JobMan's own and does nothing here/m);
    });

  it('num_workers is taken, and a number that is not that of the type is told', () => {
    assert.doesNotMatch(accepted('name: a', `${V5P}, num_workers: 2`).said, /num_workers/);
    assert.match(accepted('name: a', `${V5P}, num_workers: 4`).said, /^tpu\.num_workers: .*v5p-16 has 2 hosts$/m);
  });

  it('keys of a fork are named with what to write, all in one pass', () => {
    const file = parseJobFile(
      `job: {name: a, worker_num: auto, environment: {A: 1}}\ntpu: {${V5P}}\nresumable: {enabled: true}\n`,
      { file: 'job.yaml', env: {} },
    );
    assert.ok(!file.ok);
    const said = formatProblems(file.problems);
    assert.match(said, /environment: no such key in job\n {2}write env: \{"A":1\}/);
    assert.match(said, /resumable: no such key in a job file\n {2}a fork of JobMan has it: its env is env/);
    assert.doesNotMatch(said, /worker_num/);
  });

  const flags: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    '--project=some-project': { project: 'some-project' },
    '--zone us-east5-b': { zones: ['us-east5-b'] },
    '--accelerator-type=v5p-8': { accelerator: 'v5p-8' },
    '--runtime-version=v2-alpha-tpuv5': { runtimeVersion: 'v2-alpha-tpuv5' },
    '--best-effort': { pricing: 'spot' },
    '--guaranteed': { pricing: 'ondemand' },
    '--provisioning-model=SPOT': { pricing: 'spot' },
    '--provisioning-model=standard': { pricing: 'ondemand' },
    '--valid-until-duration=6h': { validUntilSeconds: 21_600 },
  };
  for (const [flag, wanted] of Object.entries(flags))
    it(`flags: ${flag}`, () => {
      const own = flag.startsWith('--zone')
        ? 'accelerator: v5p-16'
        : flag.startsWith('--acc')
          ? 'zone: us-east5-a'
          : V5P;
      const { tpu } = accepted('name: a', `${own}, flags: ["${flag}"]`);
      for (const [key, value] of Object.entries(wanted)) assert.deepEqual(tpu[key], value);
    });

  it("gcloud's own flags are left out with a word", () => {
    const { said } = accepted('name: a', `${V5P}, flags: [--quiet, --async, --format=json]`);
    for (const flag of ['--quiet', '--async', '--format'])
      assert.match(said, new RegExp(`^tpu\\.flags\\[\\d\\]: ${flag} is gcloud's own`, 'm'));
  });

  it('a model that gcloud does not have is refused', () => {
    const file = parsed('name: a', `${V5P}, flags: ["--provisioning-model=cheap"]`);
    assert.ok(!file.ok);
    assert.match(formatProblems(file.problems), /is no provisioning model\n {2}known: standard, spot, flex-start/);
  });
});

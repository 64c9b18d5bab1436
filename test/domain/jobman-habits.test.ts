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

  /** By keys of `tpu` with their flags: what the flag is refused for; empty if it says the same. */
  const beside: Readonly<Record<string, string>> = {
    'accelerator: v5p-16, zone: us-east5-a, flags: [--zone=europe-west4-b]':
      "--zone contradicts tpu.zone, which is 'us-east5-a'",
    'accelerator: v5p-16, zones: [us-east5-a], flags: [--zone=europe-west4-b]':
      '--zone contradicts tpu.zones, which is ["us-east5-a"]',
    [`${V5P}, flags: [--accelerator-type=v5p-32]`]: "--accelerator-type contradicts tpu.accelerator, which is 'v5p-16'",
    [`${V5P}, flags: ["--type v5p-32"]`]: '--type contradicts tpu.accelerator',
    [`${V5P}, pricing: spot, flags: [--reserved]`]: "--reserved contradicts tpu.pricing, which is 'spot'",
    [`${V5P}, pricing: spot, flags: [--provisioning-model=standard]`]: '--provisioning-model contradicts tpu.pricing',
    [`${V5P}, external_ips: true, flags: [--internal-ips]`]: '--internal-ips contradicts tpu.external_ips',
    [`${V5P}, metadata: {a: s3cr3t}, flags: [--metadata=b=c]`]: '--metadata contradicts tpu.metadata\n',
    [`${V5P}, tags: [a], flags: ["--tags=a,b"]`]: '--tags contradicts tpu.tags',
    [`${V5P}, data_disks: [{source: d, mode: read-only}], flags: ["--data-disk=source=e,mode=read-only"]`]:
      '--data-disk contradicts tpu.data_disks',
    [`${V5P}, flags: [--spot, --reserved]`]: '--reserved contradicts --spot\n',
    'accelerator: v5p-16, flags: [--zone=us-east5-a, --zone=europe-west4-b]': '--zone contradicts --zone, which',
    [`${V5P}, flags: [--zone=us-east5-a, --accelerator-type=v5p-16]`]: '',
    'accelerator: v5e-16, zone: us-central1-a, flags: [--accelerator-type=v5litepod-16]': '',
    [`${V5P}, zones: [us-east5-a], zone: null, flags: [--zone=us-east5-a]`.replace(', zone: us-east5-a', '')]: '',
    [`${V5P}, pricing: spot, flags: [--spot, --best-effort, --provisioning-model=SPOT]`]: '',
    [`${V5P}, tags: [a, b], flags: ["--tags=a,b"]`]: '',
    [`${V5P}, labels: {b: 1, a: x}, flags: ["--labels=a=x,b=1"]`]: '',
    [`${V5P}, scopes: [cloud-platform], flags: ["--scopes=https://www.googleapis.com/auth/cloud-platform"]`]: '',
    [`${V5P}, valid_until: 1h, flags: [--valid-until-duration=60m]`]: '',
    [`${V5P}, flags: ["--data-disk=source=d,mode=read-only", "--data-disk=source=e,mode=read-only"]`]: '',
  };
  for (const [keys, wanted] of Object.entries(beside))
    it(`a flag beside the key or another flag: ${keys}`, () => {
      const file = parsed('name: a', keys);
      const said = file.ok ? '' : formatProblems(file.problems);
      assert.equal(file.ok, wanted === '', said);
      assert.ok(said.includes(wanted) && !said.includes('s3cr3t'), said);
      if (wanted !== '') assert.match(said, /: flags\[\d\]: --.*\n {2}gcloud takes the last of them: keep the one/);
    });
});

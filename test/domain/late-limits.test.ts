import assert from 'node:assert/strict';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { formatProblems } from '../../domain/problem.js';

const TPU = 'tpu: {accelerator: v6e-1, zone: us-east1-d}\n';
const RUN = 'command: {run: echo}\n';
const onVms = (type: string, more = ''): string =>
  `compute_engine: {machine_type: ${type}, zone: us-central1-a${more}}\n${RUN}`;
const onTpu = (type: string, zone: string, more = ''): string =>
  `tpu: {accelerator: ${type}, zone: ${zone}${more}}\n${RUN}`;

function verdictOf(text: string): { readonly problems: string; readonly warnings: readonly string[] } {
  const parsed = parseJobFile(text, { file: 'f', env: {} });
  return parsed.ok
    ? { problems: '', warnings: parsed.warnings }
    : { problems: formatProblems(parsed.problems), warnings: [] };
}

/** Limits of others that a job would meet on its hosts, or at Google's: said before it costs anything. */
describe('job file: limits of Linux and of Google', () => {
  const long = (bytes: number): string => 'x'.repeat(bytes);
  const refused: readonly (readonly [what: string, text: string, want: RegExp | undefined])[] = [
    [
      'a variable that Linux starts no program with',
      `${TPU}${RUN}env: {A: ${long(131_070)}}`,
      /A: is 131072 bytes with its name, and Linux/,
    ],
    ['the longest variable', `${TPU}${RUN}env: {A: ${long(131_069)}}`, undefined],
    ['a variable of two bytes a letter', `${TPU}${RUN}env: {A: ${'é'.repeat(70_000)}}`, /A: is 140002 bytes/],
    ['such a variable on own machines', `machines: {}\n${RUN}env: {A: ${long(140_000)}}`, /Linux starts no program/],
    [
      'a start-up script',
      onTpu('v6e-1', 'us-east1-d', `, startup_script: ${long(262_145)}`),
      /startup_script: is 262145 bytes, and Google takes 262144/,
    ],
    ['the longest start-up script', onTpu('v6e-1', 'us-east1-d', `, startup_script: ${long(262_144)}`), undefined],
    [
      'a value of metadata',
      onTpu('v6e-1', 'us-east1-d', `, metadata: {k: ${long(300_000)}}`),
      /k: is 300000 bytes, and Google takes 262144/,
    ],
    [
      'a start-up script of a VM',
      onVms('n2-standard-8', `, startup_script: ${long(300_000)}`),
      /startup_script: is 300000 bytes/,
    ],
    ['metadata of a VM', onVms('n2-standard-8', `, metadata: {k: ${long(300_000)}}`), /k: is 300000 bytes/],
    ...['tpu7x-standard-4t', 'ct6e-standard-4t', 'ct5lp-hightpu-1t', 'ct4p-hightpu-4t'].map(
      (type) =>
        [
          `${type}, whose chips nobody counted`,
          onVms(type),
          /machine type with TPUs\n  VMs with TPUs are asked for by tpu:/,
        ] as const,
    ),
    ['c3-standard-4, which has none', onVms('c3-standard-4'), undefined],
    ['t2d-standard-4, which has none', onVms('t2d-standard-4'), undefined],
  ];
  for (const [what, text, want] of refused)
    it(want === undefined ? `takes ${what}` : `refuses ${what}`, () => {
      const { problems } = verdictOf(text);
      if (want === undefined) assert.equal(problems, '');
      else assert.match(problems, want);
    });

  const warned: readonly (readonly [string, RegExp | undefined])[] = [
    [
      onTpu('v5litepod-16', 'us-west4-a', ', version: tpu-ubuntu2204-base'),
      /is a runtime of v2, v3, v4, and the accelerator is v5litepod-16/,
    ],
    [onTpu('v5p-8', 'us-east5-a', ', version: tpu-ubuntu2204-base'), /runtime of v2, v3, v4.*usual: v2-alpha-tpuv5\)/],
    [onTpu('v6e-8', 'us-east5-a', ', version: tpu-vm-base'), /runtime of v2, v3, v4/],
    [onTpu('v4-8', 'us-central2-b', ', version: tpu-ubuntu2204-base'), undefined],
    [onTpu('v4-8', 'us-central2-b', ', version: v2-alpha-tpuv6e'), /runtime of v6e/],
    [`slices: 2\n${onTpu('v2-8', 'us-central1-b')}`, /slices: multislice is for v4 and later: slices of v2-8/],
    [`slices: 2\n${onTpu('v3-8', 'europe-west4-a')}`, /slices: multislice is for v4 and later: slices of v3-8/],
    [`slices: 2\n${onTpu('v4-8', 'us-central2-b')}`, undefined],
  ];
  for (const [text, want] of warned)
    it(`${want === undefined ? 'is silent on' : 'warns of'} ${text.split('\n').slice(0, -2).join(', ')}`, () => {
      const { problems, warnings } = verdictOf(text);
      assert.equal(problems, '');
      if (want === undefined) assert.deepEqual(warnings, []);
      else assert.match(warnings.join('\n'), want);
    });

  it('takes login names with dots, as Ubuntu and gcloud do', () => {
    for (const name of ['first.last', 'a', '_x', 'a-b_c.d'])
      assert.equal(verdictOf(`${TPU}${RUN}job: {remote_user: ${name}}`).problems, '');
    for (const name of ['.a', '-a', 'A', 'a b', 'a/b', 'a:b', '"a\\nb"', `a${long(32)}`])
      assert.match(verdictOf(`${TPU}${RUN}job: {remote_user: ${name}}`).problems, /no Linux user name/);
  });

  it('leaves keys x-.. of the file to YAML, whose anchors stand there, and no others', () => {
    const text = `x-defaults: &d {A: b}\nx-: 1\n${TPU}${RUN}env: {<<: *d, C: "\${x-defaults.A}"}\n`;
    const parsed = parseJobFile(text, { file: 'f', env: {} });
    assert.deepEqual(parsed.ok && parsed.spec.env, { A: 'b', C: 'b' });
    assert.match(verdictOf(`${TPU}command: {run: echo, x-a: 1}\n`).problems, /x-a: no such key in command/);
    assert.match(verdictOf(`${TPU}${RUN}xa: 1\n`).problems, /xa: no such key in a job file/);
  });

  for (const [written, hint] of [
    ['true', `in quotes it is text: "true" (with --set: 'KEY="true"')`],
    ['7', `in quotes it is text: "7" (with --set: 'KEY="7"')`],
    ['[python3, train.py]', 'a line is wanted: python3 train.py'],
    ['[python3, -c, "print(1)"]', "a line is wanted: python3 -c 'print(1)'"],
  ] as const)
    it(`says what to write for run: ${written}`, () =>
      assert.equal(verdictOf(`${TPU}command:\n  run: ${written}\n`).problems.split('\n  ')[1], hint));
});

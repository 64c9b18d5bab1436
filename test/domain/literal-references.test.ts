import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { bindJobName, resolveJob } from '../../domain/job-file/resolve.js';
import { asLiteral } from '../../domain/job-file/interpolation.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { YamlSource } from '../../domain/job-file/yaml-source.js';

const TPU = 'tpu: {accelerator: v6e-1, zone: us-east1-d, name: me}\n';

function boundOf(text: string, set: readonly string[] = []): JobSpec {
  const parsed = parseJobFile(text, { file: 'job.yaml', env: { X: 'of-env' }, set });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  // A workflow resolves the plain JSON again.
  const again = resolveJob(parsed.raw);
  assert.ok(again.ok, JSON.stringify(again));
  assert.deepEqual(again.spec, parsed.spec);
  return bindJobName(again.spec, 'job-7f3k');
}
const runOf = (run: string): string | undefined =>
  boundOf(`${TPU}command:\n  run: ${JSON.stringify(run)}\n`).command?.run;

describe('job file: a reference that another program resolves', () => {
  for (const reference of [
    'model.heads',
    'a.b.c',
    'a[0].b',
    'tpu.zone',
    'tpu.name',
    'oc.env:X',
    'oc.env:X,y',
    'oc.env:NONE',
  ])
    it(`$\${${reference}} is text, also where the file has such a value`, () =>
      assert.equal(runOf(`x $\${${reference}} y`), `x \${${reference}} y`));

  it('of more dollars the even ones are text, and the last odd one is the reference’s', () => {
    const zone = ['us-east1-d', '${tpu.zone}', '$$us-east1-d', '$$${tpu.zone}'];
    assert.deepEqual(
      [1, 2, 3, 4].map((dollars) => runOf(`${'$'.repeat(dollars)}{tpu.zone} z`)),
      zone.map((one) => `${one} z`),
    );
    const name = ['me-job-7f3k', '${tpu.name}', '$$me-job-7f3k', '$$${tpu.name}'];
    assert.deepEqual(
      [1, 2, 3, 4].map((dollars) => runOf(`${'$'.repeat(dollars)}{tpu.name}`)),
      name,
    );
  });

  it('what a backslash keeps stays as it is, and a dollar behind one is the shell’s', () => {
    assert.equal(runOf('"\\${a.b}"'), '"\\${a.b}"');
    assert.equal(runOf('"\\$${tpu.zone}"'), '"\\$us-east1-d"');
  });

  it('two dollars before what is no reference are the shell’s', () => {
    for (const shell of ['$$', '$${X}', '$${X:-a.b}', '$$(ls a.b)', '$$X']) assert.equal(runOf(shell), shell);
  });

  it('a value that is text is text where it is referred to', () =>
    assert.deepEqual(boundOf(`${TPU}env: {A: '$\${a.b}', B: '\${env.A}', C: 'x\${env.A}'}\n`).env, {
      A: '${a.b}',
      B: '${a.b}',
      C: 'x${a.b}',
    }));

  const quotings: Readonly<Record<string, string>> = {
    plain: `run: echo 'd=$\${a.b}'`,
    'double quotes': `run: "echo 'd=$\${a.b}'"`,
    'single quotes': `run: 'echo ''d=$\${a.b}'''`,
    literal: `run: |-\n    echo 'd=$\${a.b}'`,
    folded: `run: >-\n    echo\n    'd=$\${a.b}'`,
    'an anchor': `run: &r "echo 'd=$\${a.b}'"`,
    escapes: `run: "echo 'd=\\x24\\u0024{a.b}'"`,
  };
  for (const [name, line] of Object.entries(quotings))
    it(`is the same in YAML's ${name}`, () =>
      assert.equal(boundOf(`${TPU}command:\n  ${line}\n`).command?.run, "echo 'd=${a.b}'"));
  it('is the same by --set', () =>
    assert.equal(boundOf(TPU, [`command.run=echo 'd=$\${a.b}'`]).command?.run, "echo 'd=${a.b}'"));

  const shells: Readonly<Record<string, string>> = {
    'single quotes': `printf '%s\\n' 'd=$\${a.b}'`,
    'double quotes': `printf '%s\\n' "d=\\\${a.b}"`,
    'a quoted heredoc': `cat << 'EOF'\nd=$\${a.b}\nEOF`,
    'a heredoc': `cat << EOF\nd=\\\${a.b}\nEOF`,
    "$'..'": `printf '%s\\n' $'d=$\${a.b}'`,
  };
  for (const [name, run] of Object.entries(shells))
    it(`comes to a program out of the shell's ${name}`, () => {
      const { stdout } = spawnSync('/bin/bash', ['-c', runOf(run) ?? ''], { encoding: 'utf8' });
      assert.equal(stdout, 'd=${a.b}\n');
    });

  it('is what the error of one that leads nowhere says', () => {
    const text = `${TPU}command:\n  run: "x \${model.heads}"\n`;
    const parsed = parseJobFile(text, { file: 'job.yaml', env: {} });
    const [{ hint = '' } = {}] = parsed.ok ? [] : parsed.problems;
    assert.equal(hint, 'for a reference that another program resolves, write $${model.heads}');
    const written = new YamlSource(text.replace('${model.heads}', () => hint.split(' ').at(-1) ?? ''));
    assert.ok(resolveJob(written.tree()).ok);
  });

  for (const text of [
    '${a.b}',
    "echo '${a.b}'",
    '${tpu.zone}',
    '${tpu.name}',
    '${oc.env:X,y}',
    '$$${a.b}',
    '${X:-a.b}',
  ])
    it(`${text} of another program comes out of its literal form as it was`, () =>
      assert.equal(runOf(`x ${asLiteral(text)}`), `x ${text}`));

  it('a file of JobMan is told of the backslash that JobMan took away, with what to write', () => {
    const said = (run: string): string => {
      const file = `job: {name: a}\n${TPU}command: {cmd: ${JSON.stringify(run)}}\n`;
      const parsed = parseJobFile(file, { file: 'job.yaml', env: {} });
      assert.ok(parsed.ok, JSON.stringify(parsed));
      return parsed.warnings.join('\n');
    };
    assert.match(said("echo '\\${a.b}'"), /command\.cmd: the backslash of \\\$\{a\.b\} stays.* write \$\$\{a\.b\}$/m);
    assert.match(said('echo \\${HOME}'), /the backslash of \\\$\{HOME\} stays.* write \$\{HOME\}$/m);
    for (const run of ['echo ${HOME}', "echo '$${a.b}'", 'echo \\\\${HOME}', 'echo \\$HOME'])
      assert.doesNotMatch(said(run), /backslash/, run);
  });
});

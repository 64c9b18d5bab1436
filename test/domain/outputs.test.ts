import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { type HostOutputs, outputsText, reportOf } from '../../domain/outputs.js';
import { formatProblems } from '../../domain/problem.js';
import { readManifest } from '../../domain/stored-outputs.js';

const job = (keys: object) =>
  resolveJob({ tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' }, command: { run: 'x' }, ...keys });
function specOf(keys: object) {
  const resolved = job(keys);
  assert.ok(resolved.ok, resolved.ok ? '' : formatProblems(resolved.problems));
  return resolved;
}
function problemsOf(outputs: unknown): string {
  const resolved = job({ outputs });
  return resolved.ok ? '' : formatProblems(resolved.problems);
}

describe('outputs of a job file', () => {
  it('are a list, or a section; ten minutes between rounds, and for the last one', () => {
    const { outputs } = specOf({ outputs: ['out', '*.ckpt'] }).spec;
    assert.deepEqual(outputs, { patterns: ['out', '*.ckpt'], everySeconds: 600, waitSeconds: 600 });
    const section = { paths: ['runs/**/best.pt'], every: '30s', wait: 0 };
    assert.deepEqual(specOf({ outputs: section }).spec.outputs, {
      patterns: ['runs/**/best.pt'],
      everySeconds: 30,
      waitSeconds: 0,
    });
    assert.equal(specOf({}).spec.outputs, undefined);
  });

  const wrong: Readonly<Record<string, readonly [outputs: unknown, want: RegExp]>> = {
    'an absolute path': [
      ['/data/out'],
      /^outputs\[0\]: '\/data\/out' is an absolute path\n {2}a path relative to .*\$JOBCTL_OUTPUT_DIR/,
    ],
    'a path of the home': [['~/out'], /^outputs\[0\]: '~\/out' is an absolute path\n/],
    'a path that leads out': [
      ['out', 'a/../../b'],
      /^outputs\[1\]: 'a\/\.\.\/\.\.\/b' is a path that leads out of that folder\n/,
    ],
    'an empty list': [
      [],
      /^outputs: .* is an empty list\n {2}name a path, or leave it out: \$JOBCTL_OUTPUT_DIR is stored anyway/,
    ],
    'an empty list in a section': [{ paths: [] }, /^outputs\.paths: .* is an empty list\n/],
    'the whole folder': [['.'], /^outputs\[0\]: '\.' is the whole folder\n/],
    'a long form': [['./out'], /^outputs\[0\]: '\.\/out' is not in its shortest form\n {2}such as out/],
    'an empty name': [[''], /text of one character or more/],
    'a period that is too short': [{ every: '5s' }, /^outputs\.every: '5s' is out of range\n {2}from 10s to 24h/],
    'a wait that is too long': [{ wait: '7h' }, /^outputs\.wait: '7h' is out of range\n {2}from 0s to 6h/],
    'a text': ['out', /a list of paths, such as \[out, "\*\.ckpt"\], or a section \{paths, every, wait, restore\}/],
    'another key': [{ path: ['out'] }, /path.*\n.*paths/],
  };
  for (const [name, [outputs, want]] of Object.entries(wrong))
    it(`refuses ${name}, with place, value and remedy`, () => assert.match(problemsOf(outputs), want));

  const literal: Readonly<Record<string, RegExp>> = {
    '$HOME/ckpt':
      /^outputs\[0\]: '\$HOME\/ckpt' stays as it is: no variable is replaced here; write the path itself, or write to \$JOBCTL_OUTPUT_DIR/,
    // oxlint-disable-next-line no-template-curly-in-string
    'a/${RUN}': /no variable is replaced here/,
    '$(date)': /no variable is replaced here/,
    '{a,b}.bin':
      /^outputs\[0\]: '\{a,b\}\.bin' stays as it is: braces are not expanded here; write \["a\.bin", "b\.bin"\]$/,
    'x/{a,b}/{c,d}': /braces are not expanded here; write \["x\/a\/\{c,d\}", "x\/b\/\{c,d\}"\]$/,
    'part-{1..9}': /braces are not expanded here; write a pattern for each$/,
  };
  for (const [pattern, want] of Object.entries(literal))
    it(`warns of ${pattern}, and says what to write`, () =>
      assert.match(specOf({ outputs: [pattern] }).warnings.join(), want));

  it('warns of no name that is only odd', () =>
    assert.deepEqual(specOf({ outputs: ['a{b}', 'cost$', 'c{', '*.ckpt'] }).warnings, []));

  it('warns where nothing could write them, or where they are in an image', () => {
    assert.match(specOf({ command: null, outputs: ['out'] }).warnings.join(), /outputs: there is no command/);
    const docker = { setup: { modules: ['docker', 'command'] }, docker: { image: 'python:3.12' }, outputs: ['out'] };
    assert.match(
      specOf(docker).warnings.join(),
      /outputs: relative paths of a command in a container are in its image/,
    );
  });
});

describe('the report on outputs', () => {
  const round = (files: number, unmatched: readonly string[] = [], problems: readonly string[] = []): HostOutputs => ({
    at: 1,
    files,
    bytes: files * 1000,
    unmatched,
    problems,
  });

  it('warns of a pattern only if it matched on none of the hosts', () => {
    const report = reportOf(
      2,
      new Map([
        [1, round(1, ['b'])],
        [0, round(2, ['a', 'b'], ['x: cannot be read'])],
      ]),
    );
    assert.deepEqual(report, {
      attempt: 2,
      files: 3,
      bytes: 3000,
      hosts: 2,
      unmatched: ['b'],
      problems: ['host 0: x: cannot be read'],
    });
    assert.equal(
      report && outputsText(report),
      '3 files (3.0 kB) of 2 hosts stored; host 0: x: cannot be read; nothing matched b',
    );
  });

  it('says of which hosts the last files are missing, and nothing of a job without outputs', () => {
    const report = reportOf(
      1,
      new Map<number, HostOutputs>([
        [0, round(1)],
        [3, { why: 'HTTP 403' }],
        [4, { why: 'a slice was lost', isOpen: true }],
      ]),
    );
    assert.match(
      report ? outputsText(report) : '',
      /; the last files of host 3 are NOT stored: HTTP 403; the last files of host 4 were not stored yet at the end of its attempt: a slice was lost$/,
    );
    assert.equal(reportOf(1, new Map([[0, undefined]])), undefined);
  });
});

describe('a manifest of outputs', () => {
  const sha256 = 'a'.repeat(64);
  const header = (files: number) => ({ v: 1, state: 'ended', at: 1, files, bytes: 1, unmatched: [], problems: [] });
  const file = (path: string) => ({ path, sha256, size: 1, mtime: 1.5, mode: '4755' });
  const text = (...lines: readonly unknown[]): Buffer =>
    Buffer.from(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));

  it('holds names of any bytes; those that are no UTF-8 are shown', () => {
    const raw = Buffer.concat([
      text(header(2), file('ü\n"')),
      Buffer.from(`{"path":"a`),
      Buffer.from([0xff]),
      text(`b","sha256":"${sha256}","size":0,"mtime":1,"mode":"600"}`),
    ]);
    const { entries } = readManifest(raw);
    assert.deepEqual(
      entries.map(({ path }) => path),
      ['ü\n"', 'a%FFb'],
    );
    assert.deepEqual(entries[0], { kind: 'file', path: 'ü\n"', sha256, size: 1, modifiedAt: 1500, mode: 0o755 });
  });

  const refused: Readonly<Record<string, readonly [lines: readonly unknown[], want: RegExp]>> = {
    'a way up': [[header(1), file('../x')], /is refused: "\.\.\/x" would be written outside/],
    'a hidden way up': [[header(1), file('a/../../x')], /is refused/],
    'an absolute name': [[header(1), file('/x')], /is refused/],
    'a way up in bytes that are UTF-8 only together': [[header(1), file('a/\u002e\u002e/x')], /is refused/],
    'a NUL': [[header(1), file('a\0b')], /"a\\u0000b" is no name: it has a NUL byte/],
    'no name': [[header(1), { ...file('x'), path: '' }], /"" is no name: it is empty/],
    'a link that leads out': [[header(0), { path: 'a/l', link: '../../x' }], /is refused: link "a\/l" leads out/],
    'a link that leads out by way of another': [[header(0), { path: 'l', link: 'd/../../x' }], /leads out/],
    'an absolute link': [[header(0), { path: 'l', link: '/etc' }], /leads out/],
    'a file below a link': [[header(1), { path: 'l', link: 'd' }, file('l/x')], /"l\/x" is below "l"/],
    'a file below a file': [[header(2), file('f'), file('f/x')], /"f\/x" is below "f"/],
    'a name that is there twice': [[header(2), file('f'), file('f')], /lists "f" twice/],
    'fewer files than it says': [[header(2), file('f')], /is not whole: it lists 1 files of 2/],
    'a name of 5,000 characters': [[header(1), file('x/'.repeat(2500))], /is refused/],
    'a part of 256 bytes': [[header(1), file('x'.repeat(256))], /has a part that is longer than 255 bytes/],
    'a file below a file, with names between': [[header(3), file('f'), file('f-'), file('f/x')], /"f\/x" is below "f"/],
    'a size that is no number': [[header(1), { ...file('f'), size: 'NaN' }], /has size "NaN", which is no count/],
    'a size below 0': [[header(1), { ...file('f'), size: -1 }], /has size -1, which is no count/],
    'a size of 1e300': [[header(1), { ...file('f'), size: 1e300 }], /has size 1e\+300, which is no count/],
    'a time of 1e300': [[header(1), { ...file('f'), mtime: 1e300 }], /has mtime .*, which is no time/],
    'a mode that is not octal': [[header(1), { ...file('f'), mode: 'rwx' }], /has mode "rwx", which is none/],
    'a mode of five digits': [[header(1), { ...file('f'), mode: '77777' }], /has mode "77777"/],
    'a count below 0': [[{ ...header(0), files: -1 }], /has files -1, which is no count/],
    'a time of its own of 1e300': [[{ ...header(0), at: 1e300 }], /has at 1e\+300, which is no time/],
    'no hash': [[header(1), { ...file('f'), sha256: '../../x' }], /gives "f" no SHA-256/],
    'another version': [[{ ...header(0), v: 2 }], /is of version 2, not 1/],
    'a proxy page': [['<html>'], /is no manifest of outputs: "<html>"/],
  };
  for (const [name, [lines, want]] of Object.entries(refused))
    it(`is refused for ${name}`, () => assert.throws(() => readManifest(text(...lines)), want));
});

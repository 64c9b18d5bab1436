import assert from 'node:assert/strict';
import { filesNotGiven } from '../../domain/modules/set-up.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { objectOfFile, withFiles } from '../../domain/local-files.js';
import { formatProblems } from '../../domain/problem.js';

const JOB = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand: {run: x}\n';

function accepted(text: string, set: readonly string[] = [], bundle?: string) {
  const parsed = parseJobFile(JOB + text, { file: 'train.yaml', env: {}, set, overrides: { bundle } });
  assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
  return parsed;
}

const specOf = (text: string, set?: readonly string[], bundle?: string): JobSpec => accepted(text, set, bundle).spec;

describe('the bundle of a job file', () => {
  it('comes behind the environment, wherever a list of modules does not name it', () => {
    const sections = 'venv: {name: a}\nscript: {run: y}\nbundle: .\n';
    const listed = (list: string): readonly string[] => specOf(`${sections}setup: {modules: [${list}]}\n`).modules;
    assert.deepEqual(specOf(sections).modules, ['venv', 'bundle', 'script', 'command']);
    assert.deepEqual(listed('script, venv, command'), ['script', 'venv', 'bundle', 'command']);
    assert.deepEqual(listed('bundle, venv, command'), ['bundle', 'venv', 'command']);
    assert.deepEqual(listed('script, command'), ['bundle', 'script', 'command']);
    assert.deepEqual(specOf('bundle: false\n').modules, ['command']);
  });

  it('is a folder, or says what stays behind and what installs it; --set changes one key of either', () => {
    const bundleOf = (text: string, ...set: readonly string[]) => specOf(`bundle: ${text}\n`, set).bundle;
    assert.deepEqual(bundleOf('src'), { dir: 'src' });
    assert.deepEqual(bundleOf('{dir: ., exclude: [data], gitignore: false, install: pip install .}'), {
      dir: '.',
      exclude: ['data'],
      withIgnored: true,
      install: 'pip install .',
    });
    assert.deepEqual(bundleOf('src', 'bundle.install=make'), { dir: 'src', install: 'make' });
    assert.deepEqual(bundleOf('false', 'bundle.dir=src'), { dir: 'src' });
    assert.equal(bundleOf('{dir: ., install: make}', 'bundle=false'), undefined);
  });

  it('--bundle takes the place of its folder, and is one where the file has none', () => {
    assert.deepEqual(specOf('bundle: {dir: ., install: make}\n', ['bundle.dir=b'], '/c').bundle, {
      dir: '/c',
      install: 'make',
    });
    const none = specOf('setup: {modules: [command]}\n', [], '/c');
    assert.deepEqual([none.modules, none.bundle], [['bundle', 'command'], { dir: '/c' }]);
  });

  it('a change of an open job goes into the short form too', () => {
    const { raw, spec } = accepted('bundle: src\nkeep: always\n');
    const set = [
      { path: ['bundle', 'dir'], value: '/c' },
      { path: ['keep', 'for'], value: '2h' },
    ];
    const edited = checkEdit({ id: 'a-1', job: raw, spec }, { set });
    assert.ok(edited.ok);
    assert.deepEqual([edited.spec.bundle, edited.spec.keep], [{ dir: '/c' }, { when: 'always', seconds: 7200 }]);
  });

  it('its archive is wanted by the name of its folder, and stored as what it is', () => {
    const spec = specOf('bundle: src\nfiles: [data]\n');
    const missing = (...names: readonly string[]): readonly string[] =>
      filesNotGiven(spec, Object.fromEntries(names.map((name) => [name, '']))).map(({ path }) => path);
    assert.deepEqual(missing(), ['data', 'src']);
    assert.deepEqual(missing('src', 'tar:data'), ['src']);
    assert.deepEqual(missing('bundle:src', 'data'), []);
    assert.equal(objectOfFile('bundle:src', 'abc'), 'bundles/abc.tar.gz');
    assert.equal(objectOfFile('tar:data', 'abc'), 'files/abc');
  });

  it('what was a folder and is a file in the changed job stands once among its files', () => {
    const before = { data: '1', 'tar:more': '2', 'bundle:src': '3' };
    assert.deepEqual(withFiles(before, { 'tar:data': '4', more: '5' }), {
      'bundle:src': '3',
      'tar:data': '4',
      more: '5',
    });
    assert.deepEqual(withFiles(before, { 'bundle:src': '6' }), { ...before, 'bundle:src': '6' });
  });
});

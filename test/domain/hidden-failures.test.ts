import assert from 'node:assert/strict';
import { hiddenFailures } from '../../domain/job-file/hidden-failures.js';

const CD = /^line \d+: if this cd fails/;
const LOST = /^line \d+: if this fails, the command goes on/;
const EARLY = /^line \d+: its reader may end first/;
const LAST = /^line \d+: the exit code of this pipe is that of its last program alone/;

describe('a command whose exit code hides a failure', () => {
  const told: Readonly<Record<string, readonly RegExp[]>> = {
    'cd none; python3 t.py; echo finished': [CD, LOST],
    'cd none\npython3 t.py': [CD],
    '(true); pushd x ; python3 t.py': [CD],
    'cd "$JOBCTL_BUNDLE_DIR"; python3 t.py': [CD],
    'make; python3 t.py': [LOST],
    'cd x && make; python3 t.py': [CD],
    'python3 t.py\necho finished\ndate': [LOST],
    'A=1 python3 t.py; echo finished': [LOST],
    'python3 t.py --out=$(date +%s); ls': [LOST],
    "python3 - <<'X'\nimport sys; sys.exit(1)\nX\necho finished": [LOST],
    'echo "set -e"; make; python3 t.py': [LOST],
    'python3 t.py | head -n 100': [EARLY],
    'python3 t.py 2>&1 | grep -m 1 loss': [EARLY],
    'export X=1\npython3 t.py | grep --quiet loss': [EARLY],
  };
  for (const [text, want] of Object.entries(told))
    it(`${JSON.stringify(text)} is told`, () => {
      const got = hiddenFailures(text, false);
      assert.ok(got.length === want.length && want.every((one, at) => one.test(got[at] ?? '')), got.join('\n'));
    });

  const fine: readonly string[] = [
    'python3 t.py',
    'set -e\ncd none; make; python3 t.py; echo finished',
    'set -euxo pipefail; cd none; make; python3 t.py',
    'set -o errexit\nmake; python3 t.py',
    'trap "exit 1" ERR; make; python3 t.py',
    'cd x && python3 t.py && echo finished',
    'cd x || exit 1; python3 t.py',
    'export A=1; B=2; ulimit -n 4096; python3 t.py',
    'pip install x\npython3 t.py',
    'nvidia-smi -l & python3 t.py',
    'for i in 1 2; do cd x; make; done',
    'case $A in a) make; x ;; *) y; z ;; esac; python3 t.py',
    'if a; then b; c; fi; f() { a; b; }; python3 t.py',
    'cat > f <<EOF\ncd none; make; x\nEOF\npython3 t.py',
    'bash -c "cd none; make; x"',
    "echo 'it is; cd'; python3 t.py",
    '# cd none; make; x\npython3 t.py # a; b',
    'X=$(make; cd none; y)\npython3 t.py | tee log',
    'python3 t.py | grep loss | tee log',
    'a || b | tee log',
  ];
  for (const text of fine)
    it(`${JSON.stringify(text)} is not told`, () => assert.deepEqual(hiddenFailures(text, false), []));

  it('is told of each pipe at the end in a plain shell', () => {
    assert.match(hiddenFailures('cd x || exit\npython3 t.py | tee log', true).join(), LAST);
    assert.match(hiddenFailures('a | b', true).join(), LAST);
    assert.deepEqual(hiddenFailures('set -e; python3 t.py || true', true), []);
    assert.deepEqual(hiddenFailures('set -o pipefail; python3 t.py | tee log', true), []);
  });
});

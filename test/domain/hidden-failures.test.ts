import assert from 'node:assert/strict';
import { hiddenFailures, type Script } from '../../domain/job-file/hidden-failures.js';

const COMMAND: Script = { sort: 'command', pipes: 'all' };
const PLAIN: Script = { sort: 'command', pipes: 'last' };

const CD = /^line \d+: if this cd fails/;
const LOST = /^line \d+: if this fails, the [\w-]+ goes on/;
const EARLY = /^line \d+: its reader may end first/;
const WAIT = /^line \d+: wait without operands is always 0/;
const BACKGROUND = /^line \d+: this runs in the background/;
const DETACHED = /^line \d+: this returns at once with 0/;
const OR = /^line \d+: if this fails, what is behind \|\| ends with 0/;
const IF = /^line \d+: if this program fails, this if ends with 0/;
const TRAP = /^line \d+: this trap ends each failure with exit 0/;
const TAKEN = /^line \d+: the exit code of what is in \$\(\.\.\) is lost/;
const TURN = /^line \d+: if this fails in a turn of the loop/;
const READ = /^line \d+: the exit code of this is read, but/;
const INNER = /^line \d+: the exit code of this pipe is .*\(bash -c/;
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
    'python3 a.py & python3 b.py & wait': [WAIT],
    'python3 a.py &\npython3 b.py &\nwait': [WAIT],
    'for r in 0 1; do RANK=$r python3 t.py & done\nwait': [WAIT],
    'for r in 0 1; do RANK=$r python3 t.py & done; wait; echo finished': [WAIT],
    'set -e\npython3 a.py &\nwait && echo finished': [WAIT],
    '(cd x && python3 a.py) & (cd y && python3 b.py) & wait': [WAIT],
    'go() { python3 a.py & }\ngo\nwait': [WAIT],
    'main() {\n  python3 a.py &\n  wait\n}\nmain "$@"': [WAIT],
    'bash -c "python3 a.py & wait"': [WAIT],
    'python3 t.py &': [BACKGROUND],
    'nohup python3 t.py > log 2>&1 &': [BACKGROUND],
    'setsid nohup python3 t.py > log 2>&1 < /dev/null &\necho started': [BACKGROUND],
    '( cd x && python3 t.py ) &': [BACKGROUND],
    'nohup python3 t.py & disown': [BACKGROUND],
    'for r in 0 1; do python3 t.py & done': [BACKGROUND],
    'setsid -f python3 t.py': [DETACHED],
    "tmux new -d -s t 'python3 t.py'": [DETACHED],
    "tmux new-session -d -s t\ntmux send-keys -t t 'python3 t.py' C-m": [DETACHED],
    'screen -dmS t python3 t.py': [DETACHED],
    'screen -d -m python3 t.py': [DETACHED],
    'docker run -d --rm --net=host img python t.py': [DETACHED],
    'sudo docker run --name x -v /a:/b -itd img python t.py': [DETACHED],
    'docker run --detach img': [DETACHED],
    "trap 'rm -f x; exit 0' EXIT; python3 t.py": [TRAP],
    'done_with() { rm -f x; exit 0; }\ntrap done_with EXIT\npython3 t.py': [TRAP],
    'export R=$(python3 t.py)': [TAKEN],
    'declare -r R="$(python3 t.py --x)"; echo $R': [TAKEN],
    'set -e\nexport R=$(./find.sh)\npython3 t.py': [TAKEN],
    'main() { local R=$(python3 t.py); echo $R; }; main': [TAKEN],
    'echo "loss $(python3 t.py)"': [TAKEN],
    "bash -c 'cd x && python3 a.py; true'": [LOST],
    "bash -c 'cd x; python3 a.py | tee log; true'": [LOST],
    'bash -lc "python3 a.py | tee log"': [INNER],
    'python3 t.py || true': [OR],
    'python3 t.py || :': [OR],
    'set -e; python3 t.py || echo failed': [OR],
    'cd x && python3 t.py || { echo failed; }': [OR],
    'my-program || true': [OR],
    'if ! python3 t.py; then echo failed; fi': [IF],
    'if python3 t.py; then echo fine; else echo failed; fi': [IF],
    'if python3 t.py\nthen touch done\nfi': [IF],
    'set -e\npip install x\nset +e\npython3 t.py; echo finished': [LOST],
    'python3 t.py\nexit 0': [LOST],
    'python3 t.py\ngsutil -m cp -r out gs://b/': [LOST],
    'python3 t.py\nrm -rf tmp || true': [LOST],
    '{ python3 t.py; echo finished; } > log 2>&1': [LOST],
    '{ python3 t.py; echo finished; } | tee log': [LOST],
    '(python3 t.py; echo finished) 2>&1 | tee -a log': [LOST],
    'if [ $JOBCTL_HOST_INDEX = 0 ]; then python3 t.py; echo done; fi': [LOST],
    'if a; then true; elif b; then true; else python3 t.py; date; fi': [LOST],
    'for s in 1 2 3; do python3 t.py --seed $s; echo $s; done': [LOST],
    'while read -r s; do\n  python3 t.py $s\n  echo "$s"\ndone < seeds': [LOST],
    'for s in 1 2 3; do python3 t.py --seed $s; done': [TURN],
    'case $MODE in train) python3 t.py; echo x;; *) true;; esac': [LOST],
    'python3 t.py; if [ $? -ne 0 ]; then echo failed; fi': [READ],
    'python3 t.py\nif [ $? -eq 0 ]; then\n  echo fine\nelse\n  echo failed\nfi': [READ],
    'python3 t.py; echo "exit code: $?"': [READ],
    'set +e; python3 t.py; rc=$?; echo $rc': [READ],
    'RC=0; python3 t.py || RC=$?; echo $RC': [READ],
    'set -e\npython3 t.py || rc=$?\nif [ $rc != 0 ]; then echo failed; fi': [READ],
    'python3 t.py > >(tee log); echo done': [LOST],
    'eval "python3 t.py; true"': [LOST],
    'sudo -E bash -c "python3 t.py; echo done"': [LOST],
    'docker run --rm img bash -c "python3 t.py | tee log"': [INNER],
  };
  for (const [text, want] of Object.entries(told))
    it(`${JSON.stringify(text)} is told`, () => {
      const got = hiddenFailures(text, COMMAND);
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
    'cd x &&\n  python3 t.py &&\n  echo finished',
    'python3 t.py |\n  tee log',
    'export A=1; B=2; ulimit -n 4096; python3 t.py',
    'pip install x\npython3 t.py',
    'nvidia-smi -l & python3 t.py',
    'for i in 1 2; do cd x; make; done',
    'case $A in a) make; x ;; *) y; z ;; esac; python3 t.py',
    'if a; then b; c; fi; f() { a; b; }; python3 t.py',
    'cat > f <<EOF\ncd none; make; x\nEOF\npython3 t.py',
    'bash -c "cd none; make; x"',
    // Ordinary endings of scripts.
    'python3 a.py & p=$!\npython3 b.py & q=$!\nwait $p && wait $q',
    'python3 a.py &\npython3 b.py &\nwait -n && wait -n',
    'for r in 0 1; do python3 t.py & done; for p in $(jobs -p); do wait $p || exit; done',
    'for r in 0 1; do python3 t.py & p+=($!); done\nfor q in "${p[@]}"; do wait "$q" || exit 1; done\nwait',
    'python3 t.py &\nwait $!',
    'nvidia-smi -l 5 > gpu.log & python3 t.py',
    'tensorboard --logdir out &\npython3 t.py',
    'tmux new -d -s mon htop\npython3 t.py',
    'docker run -d --name db redis\npython3 t.py',
    'docker run --rm img python t.py -d',
    'docker run -it --gpus all img tool -d x',
    'docker run -d --name t img\ndocker wait t | grep -qx 0 || exit 1',
    'nohup python3 t.py',
    'setsid python3 t.py',
    'python3 t.py > >(tee log)',
    'python3 t.py > >(tee log) 2> >(tee err >&2)',
    'python3 t.py < <(cat x)',
    "trap 'rm -f x' EXIT; python3 t.py",
    "trap 'rm -f x; exit' EXIT; python3 t.py",
    "trap 'exit 0' TERM; python3 t.py",
    "trap 'kill $(jobs -p)' EXIT\npython3 t.py",
    'export HOST=$(hostname) N=$(nproc)\npython3 t.py',
    'export IP=$(python3 find_ip.py)\ntorchrun --master_addr $IP t.py',
    'set -e\nexport S=$(python3 -c "import site; print(site.ENABLE_USER_SITE)")\npython3 t.py',
    'R=$(python3 t.py)',
    'set -e\nR=$(python3 t.py)\necho "$R"',
    'rm -f lock || true\npython3 t.py',
    'pip install x || true\npython3 t.py',
    'set -e\npython3 t.py\nrm -rf tmp || true',
    'pkill tensorboard || true',
    'python3 t.py || exit 1',
    'python3 t.py || { echo failed; exit 1; }',
    'timeout 1h python3 t.py || [ $? = 124 ]',
    'python3 t.py || python3 t.py --slow',
    'if ! python3 t.py; then echo failed; exit 1; fi',
    'if [ -f ckpt ]; then python3 t.py --resume; else python3 t.py; fi',
    'if ! python3 check.py; then python3 t.py; fi',
    'if python3 check.py; then python3 t.py; fi',
    'if ! command -v uv; then echo none; fi\npython3 t.py',
    'until python3 t.py; do sleep 5; done',
    'set +e\npython3 t.py\nrc=$?\ngsutil cp -r out gs://b\nexit $rc',
    'set +e; python3 t.py; rc=$?; echo $rc; exit $rc',
    'python3 t.py; exit $?',
    'set -e; set +e; python3 t.py',
    'python3 prepare.py\npython3 t.py',
    'python3 t.py && gsutil cp -r out gs://b',
    'main() { set -e; cd x; python3 t.py; }\nmain "$@"',
    "bash -c 'cd x && python3 t.py'",
    "bash -c 'set -o pipefail; python3 t.py | tee log'",
    "bash -o pipefail -c 'python3 t.py | tee log'",
    "bash -ec 'cd x; python3 t.py'",
    "ssh host 'python3 t.py &'",
    'cat > run.sh <<X\npython3 t.py &\nwait\nX\nbash run.sh',
    "f() {\n  cat <<X\nit's } here\nX\n  python3 t.py\n}\nf",
    'ray start --head\npython3 t.py',
    'python3 serve.py &\npid=$!\npython3 t.py\ncode=$?\nkill $pid\nwait\nexit $code',
    "echo 'it is; cd'; python3 t.py",
    '# cd none; make; x\npython3 t.py # a; b',
    'X=$(make; cd none; y)\npython3 t.py | tee log',
    'python3 t.py | grep loss | tee log',
    'a || b | tee log',
    '{ python3 t.py; } | tee log',
    '{ python3 a.py && echo done; } | { cat; }',
    'if [ $JOBCTL_HOST_INDEX = 0 ]; then python3 t.py && echo done; fi',
    'if [ $JOBCTL_HOST_INDEX = 0 ]; then echo first; python3 t.py; fi',
    'if a; then set -e; python3 t.py; echo done; fi',
    'set -e\nif [ $A = 0 ]; then python3 t.py; echo done; fi',
    'set -e\nfor s in 1 2; do python3 t.py $s; echo $s; done',
    'for s in 1 2 3; do python3 t.py --seed $s || exit; done',
    'for s in 1 2 3; do python3 t.py --seed $s || rc=1; done; exit $rc',
    'for s in 1 2 3; do set -e; python3 t.py $s; done',
    'while true; do python3 t.py; sleep 5; done',
    'while ! python3 t.py; do sleep 5; done',
    'for n in 1 2 3; do python3 t.py && break; done',
    'case $MODE in train) python3 t.py ;; *) exit 2 ;; esac',
    'case $MODE in\n  train)\n    echo x\n    python3 t.py\n    ;;\nesac',
    'python3 t.py; if [ $? -ne 0 ]; then echo failed; exit 1; fi',
    'python3 t.py; if [ $? -ne 0 ]; then python3 t.py --slow; fi',
    'python3 t.py; rc=$?; echo $rc; [ $rc = 0 ]',
    'python3 t.py; rc=$?; echo $rc; (exit $rc)',
    'RC=0; python3 t.py || RC=$?; echo $RC; exit $RC',
    'python3 t.py || RC=$?; if [ "$RC" = 3 ]; then exit 0; fi; exit $RC',
    "trap 'exit $rc' EXIT; python3 t.py; rc=$?; echo $rc",
    'python3 t.py; echo $?; python3 u.py',
    'eval "$CMD"',
    'eval "cd x && python3 t.py"',
    'sudo -E bash -c "python3 t.py"',
    'docker run --rm img bash -c "cd x && python3 t.py"',
    'docker run --rm img bash -ec "cd x; python3 t.py"',
  ];
  for (const text of fine)
    it(`${JSON.stringify(text)} is not told`, () => assert.deepEqual(hiddenFailures(text, COMMAND), []));

  it('is told of each pipe at the end in a plain shell', () => {
    assert.match(hiddenFailures('cd x || exit\npython3 t.py | tee log', PLAIN).join(), LAST);
    assert.match(hiddenFailures('a | b', PLAIN).join(), LAST);
    assert.deepEqual(hiddenFailures('set -e; python3 t.py || python3 t.py', PLAIN), []);
    assert.deepEqual(hiddenFailures('set -o pipefail; python3 t.py | tee log', PLAIN), []);
  });

  it('names the line, in a function too', () => {
    assert.match(hiddenFailures('A=1\nmain() {\n  python3 a.py &\n  wait\n}\nmain', COMMAND).join(), /^line 4: wait/);
    assert.match(hiddenFailures('cd x &&\n  bash -c "\npython3 a.py\ntrue"', COMMAND).join(), /^$/);
    assert.match(hiddenFailures('\nbash -c "\npython3 a.py\ntrue"', COMMAND).join(), /^line 3: if this fails/);
  });

  const elsewhere: readonly (readonly [Script['sort'], string, want?: RegExp])[] = [
    ['hook', 'python3 sum.py; echo done', /^line 1: if this fails, the hook goes on/],
    ['hook', 'cd out\npython3 sum.py', CD],
    ['hook', 'python3 sum.py &', /^line 1: this runs in the background, and is ended when the hook's shell has ended/],
    ['hook', 'tmux new -d -s up ./upload.sh', DETACHED],
    ['hook', './a.sh & ./b.sh & wait', WAIT],
    ['hook', 'python3 sum.py || true', /and the hook has succeeded/],
    ['hook', 'python3 sum.py | head -n 3', /or set command\.shell: plain$/],
    ['hook', 'gsutil -m cp -r out gs://b/'],
    ['hook', 'curl -fsS https://example.com/done || true'],
    ['set-up', 'pip install x; pip install y', /^line 1: if this fails, the set-up goes on/],
    ['set-up', 'cd src\nmake install', CD],
    ['set-up', 'pip install x\necho installed', LOST],
    ['set-up', 'python3 get.py || true', /and the set-up has succeeded/],
    ['set-up', './a.sh & ./b.sh & wait', WAIT],
    ['set-up', 'export R=$(python3 find.py)', TAKEN],
    ['set-up', 'pip list | head', /or begin the text with set \+o pipefail$/],
    ['set-up', 'set -e\npip install x\npip install y'],
    ['set-up', 'apt-get update\napt-get install -y x'],
    ['set-up', 'sudo sysctl -w vm.swappiness=1 || true'],
    ['set-up', 'nohup ./exporter --port 9100 > /dev/null 2>&1 &'],
    ['set-up', 'docker run -d --name db redis'],
    ['check', '[ -d a ]; [ -d b ]', /^line 1: if this fails, the check goes on/],
    ['check', 'test -d a\ntest -d b', LOST],
    ['check', 'command -v uv\n[[ -d .venv ]]', LOST],
    ['check', '[ -f a ] || echo missing', /and the check has succeeded/],
    ['check', 'if [ -f a ]; then echo there; else echo missing; fi', /and the check has succeeded/],
    ['check', 'pip list | tee log', /pipefail is off in a check/],
    ['check', 'pip list | grep -q torch'],
    ['check', 'V=$(python3 -V)\n[ "$V" = "Python 3.11.2" ]'],
    ['check', '[ -d a ] && [ -d b ]'],
    ['check', 'if [ -f a ]; then exit 0; fi\nexit 1'],
    ['check', 'pip show x'],
  ];
  for (const [sort, text, want] of elsewhere)
    it(`${JSON.stringify(text)} as a ${sort} is ${want === undefined ? 'not ' : ''}told`, () => {
      const told = hiddenFailures(text, { sort, pipes: sort === 'check' ? 'last' : 'all' });
      if (want === undefined) assert.deepEqual(told, []);
      else assert.ok(told.length === 1 && want.test(told[0] ?? ''), told.join('\n'));
    });

  it('with wait_for: all is told that the exit code of what runs in the background is not known', () => {
    const said = hiddenFailures('nohup python3 t.py &', { ...COMMAND, waitsForAll: true }).join();
    assert.match(said, /^line 1: command\.wait_for: all waits .* its exit code is not known/);
    assert.match(hiddenFailures('docker run -d img', { ...COMMAND, waitsForAll: true }).join(), DETACHED);
  });
});

import assert from 'node:assert/strict';
import {
  isMachineAtFault,
  SIGN_BYTES,
  signIn,
  type Suspect,
  suspectAfter,
  suspicion,
} from '../../../domain/recovery/broken-machine.js';
import { LastOutput } from '../../../activities/attempt/lost-tail.js';
import type { AttemptHost } from '../../../activities/attempt/attempt-hosts.js';

type Exited = Parameters<typeof suspicion>[0];
const exit = (code: number, more: Partial<Exited> = {}): Exited => ({
  kind: 'exited',
  code,
  at: { slice: 0, host: 1 },
  startedAt: 0,
  ...more,
});
const ECC = 'uncorrectable ECC error encountered';
const TPU = 'TPU initialization failed';

/** Ends of attempts one after the other, each on a machine: after which of them it is replaced. */
function replaced(ends: readonly (readonly [Exited, string])[]): readonly boolean[] {
  let last: Suspect | undefined;
  return ends.map(([end, machine]) => {
    const isAtFault = isMachineAtFault(end, machine, last);
    last = suspectAfter(end, { machine, isReplaced: isAtFault }, last);
    return isAtFault;
  });
}

describe('a machine on which a command fails', () => {
  it('is suspect by a fault of memory or instruction, or by what a broken accelerator prints', () => {
    for (const [code, name] of [
      [132, 'SIGILL'],
      [134, 'SIGABRT'],
      [135, 'SIGBUS'],
      [139, 'SIGSEGV'],
    ] as const) {
      assert.deepEqual(suspicion(exit(code)), { text: `ended by ${name}`, isProof: false });
      assert.deepEqual(suspicion(exit(1, { signal: name })), { text: `ended by ${name}`, isProof: false });
    }
    for (const [code, signal] of [[1], [2], [137, 'SIGKILL'], [143, 'SIGTERM'], [130, 'SIGINT']] as const)
      assert.equal(suspicion(exit(code, signal === undefined ? {} : { signal })), undefined, String(code));
    assert.deepEqual(suspicion(exit(1, { printed: ECC })), { text: `printed '${ECC}'`, isProof: true });
    assert.deepEqual(suspicion(exit(1, { printed: TPU })), { text: `printed '${TPU}'`, isProof: false });
    assert.equal(suspicion(exit(1, { printed: 'something of a later version' })), undefined);
    assert.equal(suspicion(exit(139, { isStopped: true })), undefined, 'an answer to a stop');
    assert.equal(suspicion(exit(0, { printed: ECC })), undefined);
  });

  it('is suspect by what a launcher prints of a fault, before it exits with 1 itself', () => {
    const reports = {
      torchrun: 'exitcode  : -11 (pid: 3304209)\n  traceback : Signal 11 (SIGSEGV) received by PID 3304209\n=====\n',
      "torchrun's log":
        'E1119 torch/distributed/elastic/api.py:882] failed (exitcode: -7) local_rank: 0 (pid: 28773)\n',
      subprocess: "subprocess.CalledProcessError: Command '['x']' died with <Signals.SIGBUS: 7>.\n",
      deepspeed: '[launch.py:325:sigkill_handler] cmd = [..] exits with return code = -6\n',
      faulthandler: 'Fatal Python error: Segmentation fault\n\nThread 0x7f (most recent call first):\n',
      bash: 'run.sh: line 3:  4242 Illegal instruction     (core dumped) python3 train.py\n',
      mpirun: 'mpirun noticed that process rank 1 exited on signal 11 (Segmentation fault).\n',
      absl: '*** SIGABRT received at time=1764 on cpu 3 ***\n',
      glog: '*** SIGSEGV (@0x18) received by PID 99 (TID 0x7f) from PID 24; stack trace: ***\n',
    };
    for (const [launcher, text] of Object.entries(reports)) {
      const printed = signIn(text);
      assert.ok(printed !== undefined, launcher);
      assert.deepEqual(suspicion(exit(1, { printed })), { text: `printed '${printed}'`, isProof: false });
    }
    for (const text of [
      'exitcode  : -9 (pid: 14750)\n  traceback : Signal 9 (SIGKILL) received by PID 14750\n',
      'exitcode  : 1 (pid: 1622990)\nfailed (exitcode: 1) local_rank: 0\nAborted!\n',
      'died with <Signals.SIGTERM: 15>. exits with return code = 1\n',
    ])
      assert.equal(signIn(text), undefined, text);
  });

  it('is replaced when the same one fails so twice in a row, and at once by proof', () => {
    assert.deepEqual(
      replaced([
        [exit(139), 'a'],
        [exit(139), 'a'],
      ]),
      [false, true],
    );
    assert.deepEqual(
      replaced([
        [exit(139), 'a'],
        [exit(134), 'a'],
      ]),
      [false, true],
    );
    assert.deepEqual(
      replaced([
        [exit(139), 'a'],
        [exit(139), 'b'],
        [exit(139), 'a'],
      ]),
      [false, false, false],
    );
    assert.deepEqual(
      replaced([
        [exit(139), 'a'],
        [exit(1), 'a'],
        [exit(139), 'a'],
      ]),
      [false, false, false],
    );
    assert.deepEqual(
      replaced([
        [exit(1, { printed: TPU }), 'a'],
        [exit(139), 'a'],
      ]),
      [false, true],
    );
    assert.deepEqual(replaced([[exit(1, { printed: ECC }), 'a']]), [true]);
  });

  it('is not to blame where the next one fails the same way: that is the program', () => {
    const ends = Array.from({ length: 8 }, (_, at) => [exit(139), at < 2 ? 'a' : 'b'] as const);
    assert.deepEqual(replaced(ends), [false, true, false, false, false, false, false, false]);
    assert.deepEqual(
      replaced([
        [exit(1, { printed: ECC }), 'a'],
        [exit(1, { printed: ECC }), 'b'],
      ]),
      [true, false],
    );
    const between = [
      [exit(139), 'a'],
      [exit(139), 'a'],
      [exit(1), 'b'],
      [exit(139), 'b'],
      [exit(139), 'b'],
    ] as const;
    assert.deepEqual(replaced(between), [false, true, false, false, true], 'an end of another kind begins anew');
  });
});

describe('what a host has printed last', () => {
  const host = {} as AttemptHost;
  const failed = {
    kind: 'failed',
    at: { slice: 0, host: 0 },
    code: 1,
    startedAt: 0,
    endedAt: 1,
    isStopped: false,
  } as const;
  const printed = (chunks: readonly string[], end: Parameters<LastOutput['with']>[1] = failed): unknown => {
    const output = new LastOutput();
    for (const chunk of chunks) output.heard(host, Buffer.from(chunk));
    const seen = output.with(host, end);
    return seen !== undefined && 'printed' in seen ? seen.printed : undefined;
  };

  it('is looked at across the borders of its pieces, and no further back than a traceback', () => {
    assert.equal(printed(['x'.repeat(99), `RuntimeError: CUDA error: uncorrectable E`, 'CC error encountered\n']), ECC);
    assert.equal(printed([`${TPU}: open(/dev/vfio/0)\n`, 'y'.repeat(SIGN_BYTES - 200)]), TPU);
    assert.equal(printed([`${TPU}\n`, 'y'.repeat(SIGN_BYTES)]), undefined);
    assert.equal(printed([`${TPU}\n`, ...Array.from({ length: SIGN_BYTES / 64 }, () => 'z'.repeat(64))]), undefined);
    assert.equal(printed(['all is well']), undefined);
    assert.equal(printed([]), undefined);
    assert.equal(signIn(`${TPU} .. ${ECC}`), ECC, 'the weightiest');
  });

  it('says nothing of a command that went well, or is not known to have ended', () => {
    assert.equal(printed([ECC], { ...failed, kind: 'done', code: 0 }), undefined);
    assert.equal(printed([ECC], { kind: 'run-lost', at: failed.at, message: 'rebooted' }), undefined);
    assert.equal(new LastOutput().with(host, undefined), undefined);
  });
});

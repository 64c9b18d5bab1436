import assert from 'node:assert/strict';
import { endOf, hasBegun, isUnrecorded } from '../../activities/attempt/ends.js';
import type { RunStatus } from '../../cloud/hosts/port.js';

const AT = { slice: 1, host: 2 };
const EXIT = { startedAt: 10, endedAt: 20, isStopped: false } as const;
const exited = (code: number, more: object = {}): RunStatus => ({
  ...{ kind: 'exited', code, outputBytes: 5, ...EXIT },
  ...more,
});
const status = (kind: string, more: object = {}): RunStatus => ({ kind, ...more }) as unknown as RunStatus;

describe("the end of a host's command", () => {
  const ends: Readonly<Record<string, readonly [RunStatus, object | undefined]>> = {
    'is not there while it starts': [status('starting'), undefined],
    'is not there while it runs': [status('running'), undefined],
    'is code 0': [exited(0), { kind: 'done', at: AT, code: 0, ...EXIT }],
    'is a failure for code 0 of a command that a signal ended': [
      exited(0, { signal: 'SIGKILL' }),
      { kind: 'failed', at: AT, code: 0, signal: 'SIGKILL', ...EXIT },
    ],
    'is its code, with all that the host knows of it': [
      exited(137, { signal: 'SIGKILL', host: 'up', killedForMemory: 3, isStopped: true }),
      {
        ...{ kind: 'failed', at: AT, code: 137, signal: 'SIGKILL', host: 'up', killedForMemory: 3 },
        ...EXIT,
        isStopped: true,
      },
    ],
  };
  for (const [name, [seen, want]] of Object.entries(ends)) it(name, () => assert.deepEqual(endOf(seen, AT), want));

  const losses: Readonly<Record<string, readonly [RunStatus, RegExp]>> = {
    'whose Ray ended, whatever code it has': [
      exited(0, { endedBy: 'ray' }),
      /^Ray did not start on the host, or ended/,
    ],
    'that heard of no worker for too long': [
      exited(0, { endedBy: 'unattended' }),
      /^no worker had spoken .* max_unattended/,
    ],
    'that was restarted': [
      status('lost', { isRestarted: true }),
      /^the command is gone .* \(the host was restarted\)$/,
    ],
    'that has no record of it': [status('lost'), /^the command has ended, and its host has no record of how/],
    'whose runner was killed': [status('orphaned'), /^the runner that held the command was killed$/],
    'that cannot start it, in its own words': [status('blocked', { message: 'busy' }), /^busy$/],
    'that knows nothing of it': [status('absent'), /^the host knows nothing of the command/],
  };
  for (const [name, [seen, message]] of Object.entries(losses))
    it(`is a lost run on a host ${name}`, () => {
      const end = endOf(seen, AT);
      assert.deepEqual([end?.kind, end?.kind === 'run-lost' && end.at], ['run-lost', AT]);
      assert.match(end?.kind === 'run-lost' ? end.message : '', message);
    });

  it('comes only of a command that has begun, and may be told by another witness where the host has no record', () => {
    const kinds = ['absent', 'starting', 'blocked', 'running', 'exited', 'lost', 'orphaned'];
    const of = (is: (seen: RunStatus) => boolean): readonly string[] => kinds.filter((kind) => is(status(kind)));
    assert.deepEqual(of(hasBegun), ['running', 'exited', 'lost', 'orphaned']);
    assert.deepEqual(of(isUnrecorded), ['absent', 'lost', 'orphaned']);
  });
});

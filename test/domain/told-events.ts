import type { EventKind, Told } from '../../domain/job-events/kinds.js';

type FactsOf<K extends EventKind> = Extract<Told, { kind: K }>['facts'];

const AT = Date.UTC(2026, 10, 22, 7, 14, 20, 700);
const MESSAGE = 'the node is PREEMPTED';
const ALICE = { by: 'alice', from: 'wks-12' };
const STOPPED = { kind: 'stopped', facts: { ...ALICE, isRelease: false } } as const;
const REFUSED = {
  kind: 'refused',
  facts: { slice: 0, zone: 'us-east5-a', provider: 'Cloud TPU', scope: 'zone', message: 'no more capacity' },
} as const;
const TARGET = { workflow: { id: 'w', signal: 's' } } as const;
const END = { attempts: 2, preemptions: 1 };

/** Each kind with its facts, and the sentence that stands in logs and stores since before there were kinds. */
const SAID: { readonly [K in EventKind]: readonly (readonly [facts: FactsOf<K>, text: string])[] } = {
  note: [[{ text: 'queued: waits for quota' }, 'queued: waits for quota']],
  submitted: [[{}, 'submitted']],
  accepted: [[{ quota: 'pool tpu, project vision' }, 'pool tpu, project vision']],
  queued: [
    [{ project: 'vision' }, 'waits for quota of project vision'],
    [{ isAgain: true }, 'waits for quota again, with its first submit time'],
  ],
  'awaiting-others': [[{ awaited: 'prep-7f3k to succeed' }, 'waits for prep-7f3k to succeed']],
  'priority-changed': [[{ priority: 1, before: 3 }, 'its priority is 1 from now on; it was 3']],

  'building-image': [
    [
      { image: 'ghcr.io/team/train', commit: '3f2a9c1d0b7e', namespace: 'ml' },
      'building image ghcr.io/team/train of commit 3f2a9c1d0b7e in namespace ml',
    ],
  ],
  'image-build-joined': [[{ workflow: 'build/1' }, 'its image is built by workflow build/1']],
  'image-progress': [
    [{ detail: 'waits for a node' }, 'waits for a node'],
    [{ isOver: true }, ''],
  ],
  'inputs-found': [
    [
      {
        found: [
          { name: 'data', job: 'prep-7f3k', files: 12, bytes: 3_100_000, jobs: 1 },
          { name: 'all', job: 'exp-7f3k', files: 3, bytes: 30, jobs: 3 },
        ],
      },
      'inputs: data: 12 files (3.1 MB) of prep-7f3k; all: 3 files (30 B) of exp-7f3k, from 3 members',
    ],
  ],
  'inputs-not-read': [
    [{ reason: '503' }, 'its inputs cannot be looked for: 503'],
    [{ isOver: true }, ''],
  ],
  'image-built': [[{ image: 'r/t@sha256:9c' }, 'its image is r/t@sha256:9c']],

  provisioning: [
    [{ slices: 1, accelerator: 'v5litepod-16', zones: ['us-east5-a'] }, '1 x v5litepod-16 in us-east5-a'],
    [
      {
        slices: 1,
        accelerator: 'v4-8',
        zones: ['a'],
        answers: 'b refused: full',
        next: { zone: 'b', at: Date.UTC(2026, 10, 22, 9, 10) },
      },
      '1 x v4-8 in a; b refused: full; if nothing comes before, b is asked at 2026-11-22 09:10:00 UTC',
    ],
    [
      { slices: 1, accelerator: 'v4-8', zones: ['a', 'b'], tier: { number: 2, pricing: 'spot' } },
      'v4-8 in a or b, whichever has it first, in tier 2 of its pool (spot)',
    ],
    [
      { slices: 2, accelerator: 'v4-8', zones: ['a', 'b'], tier: { number: 1 } },
      '2 x v4-8 in a or b, whichever has it first, in tier 1 of its pool',
    ],
  ],
  preempted: [
    [{ slice: 0, message: MESSAGE }, `slice 0 was preempted by the provider: ${MESSAGE}`],
    [
      { slice: 0, requested: 4, message: MESSAGE },
      `the request for 4 slices was preempted by the provider: ${MESSAGE}`,
    ],
  ],
  'slice-lost': [[{ slice: 2, message: MESSAGE }, `slice 2 was lost: ${MESSAGE}`]],
  'slice-failed': [[{ slice: 1, message: MESSAGE }, `slice 1 failed: ${MESSAGE}`]],
  'slice-late': [
    [
      { slice: 1, zone: 'us-east5-a', message: 'asking us-east5-a, after 30 min' },
      'slice 1 is not ready in us-east5-a: asking us-east5-a, after 30 min',
    ],
  ],
  refused: [[REFUSED.facts, 'Cloud TPU refused slice 0 in us-east5-a: no more capacity']],
  'run-duration-over': [
    [
      { endsAt: Date.UTC(2026, 10, 22, 9, 10) },
      'the run duration of its slices is over (tpu.run_duration): its provider may delete them from 2026-11-22 09:10:00 UTC on',
    ],
  ],
  backoff: [
    [
      { after: REFUSED, zone: 'us-east5-a', at: Date.UTC(2026, 10, 22, 9, 10) },
      'Cloud TPU refused slice 0 in us-east5-a: no more capacity; us-east5-a is asked again at 2026-11-22 09:10:00 UTC',
    ],
    [
      { after: REFUSED, zone: 'us-east5-a', isNoZoneLeft: true },
      'Cloud TPU refused slice 0 in us-east5-a: no more capacity; each zone of the job refused it last',
    ],
  ],
  'zone-asked': [[{ zone: 'b', beside: 'a' }, 'b is asked beside a: the first that has all slices is used']],
  'no-room-beside': [
    [{ zone: 'b', beside: 'a' }, 'b is not asked beside a: its pool has no room for a second request'],
  ],
  moved: [
    [{ from: 'a', to: 'b' }, 'all slices are ready in b: its requests in a are given up'],
    [{ from: 'a', to: 'b', turnOf: 'c' }, 'c has its turn: its requests in a are given up'],
    [
      { from: 'us-east5-a', to: 'b', after: REFUSED },
      'Cloud TPU refused slice 0 in us-east5-a: no more capacity: its requests in us-east5-a are given up',
    ],
  ],
  'zone-lost': [[{ zone: 'b', beside: 'a', message: 'no capacity' }, 'b is given up beside a: no capacity']],
  'zone-given-up': [
    [{ zone: 'b', readyIn: 'a' }, 'all slices are ready in a: b is given up'],
    [{ zone: 'b', reason: 'no room for two requests' }, 'no room for two requests: b is given up'],
  ],
  'put-aside-failed': [[{ machine: 'm1', reason: 'not found' }, 'machine m1 could not be put aside: not found']],

  'no-room': [
    [{ slice: 0, zone: 'b' }, 'its pool has no room for slice 0 in b yet'],
    [{ slice: 0, requested: 2, zone: 'b' }, 'its pool has no room for the request for 2 slices in b yet'],
  ],
  'preempted-by-quota': [[{ reason: 'vision wants 16' }, 'preempted by quota: vision wants 16']],
  'lease-returned': [[{ reason: 'no chips in 1 h' }, 'its lease goes back to the pool: no chips in 1 h']],
  'lease-taken': [[{ reason: 'resnet waits' }, 'its lease was taken: resnet waits']],
  'lease-lost': [[{ message: 'the lease does not stand' }, 'the lease does not stand']],

  stopped: [
    [{ ...ALICE, isRelease: false }, 'alice on wks-12 stopped it'],
    [{ ...ALICE, isRelease: true }, 'alice on wks-12 stopped it and gives its slices back'],
  ],
  requeued: [
    [{ by: 'bob' }, 'bob requeued it'],
    [{ by: 'bob', zone: 'us-east5-a' }, 'bob requeued it, us-east5-a first'],
  ],
  restarted: [
    [{ by: 'ann' }, 'ann restarted it'],
    [{ by: 'ann', replace: 'all' }, 'ann restarted it with other machines'],
    [{ by: 'ann', replace: [0, 3] }, 'ann restarted it with other machines for slice 0, slice 3'],
  ],
  'over-budget': [
    [{ maxCost: 20, usdPerHour: 3.9184 }, 'it has cost $20.00 (max_cost) by now, and goes on at about $3.92 an hour'],
    [{ maxCost: 0.004, usdPerHour: 0.5 }, 'it has cost $0.0040 (max_cost) by now, and goes on at about $0.50 an hour'],
  ],
  resumed: [[ALICE, 'alice on wks-12 resumed it']],
  edited: [[{ attempt: 3 }, 'from attempt 3 on it runs by the changed job file']],
  paused: [
    [
      { request: STOPPED, usdPerHour: 4.7, until: AT },
      'alice on wks-12 stopped it; its slices are kept, at about $4.70 an hour, until 2026-11-22 07:14:20 UTC (timeouts.stop)',
    ],
    [
      { request: STOPPED, isRehearsed: true, until: AT },
      'alice on wks-12 stopped it; its slices are kept, at a price that is not listed if they were real, until 2026-11-22 07:14:20 UTC (timeouts.stop)',
    ],
    [
      { request: STOPPED, isOwn: true, until: AT },
      'alice on wks-12 stopped it; its slices are kept, until 2026-11-22 07:14:20 UTC (timeouts.stop)',
    ],
    [
      { request: STOPPED, isRehearsed: true, isOwn: true, until: AT },
      'alice on wks-12 stopped it; its slices are kept, until 2026-11-22 07:14:20 UTC (timeouts.stop)',
    ],
  ],
  'pause-ended': [
    [{ limit: 'timeouts.stop' }, 'its slices are not kept any more: timeouts.stop is over'],
    [
      { because: { kind: 'slice-lost', facts: { slice: 0, message: MESSAGE } } },
      `its slices are not kept any more: slice 0 was lost: ${MESSAGE}`,
    ],
    [{}, 'its slices are not kept any more: somebody asked for it'],
  ],
  released: [
    [
      { request: STOPPED, job: 'train-7f3k' },
      'alice on wks-12 stopped it; it holds nothing until `jobctl resume train-7f3k`',
    ],
  ],

  'setting-up': [
    [{ modules: ['ssh', 'venv'], hosts: 4 }, 'modules ssh, venv on 4 hosts'],
    [{ modules: [], hosts: 1 }, 'no modules on 1 host'],
  ],
  'hosts-renumbered': [
    [{}, 'the provider lists hosts in another order than that of their workers: they are numbered by worker now'],
  ],
  restored: [[{ text: 'restored 12 files' }, 'restored 12 files']],
  'set-up-not-ended': [[{ reason: 'no answer' }, 'its set-up could not be ended at once: no answer']],
  'set-up-requested': [
    [{ ...ALICE, modules: ['venv'], isForced: false }, 'alice on wks-12 asked for the set-up of venv'],
    [
      { ...ALICE, modules: ['venv', 'data'], isForced: true },
      'alice on wks-12 asked for the set-up of venv, data, whatever is there',
    ],
  ],
  'set-up-awaited': [[{}, 'waits for the end of the set-up that was asked for']],
  'requested-set-up-done': [[{}, 'the set-up that was asked for is done on all hosts']],
  'requested-set-up-failed': [
    [{ reason: 'no worker' }, 'the set-up that was asked for failed: no worker'],
    [
      { module: 'venv', slice: 1, host: 2, message: 'pip finds no such package' },
      'the set-up that was asked for failed: venv on host 2 of slice 1: pip finds no such package',
    ],
  ],
  'requested-set-up-cut': [
    [{ by: 'worker' }, 'the set-up that was asked for ended with its worker; ask again'],
    [{ by: 'slices' }, 'the set-up that was asked for ended with its slices'],
  ],
  'module-failed': [[{ module: 'venv', host: 0, message: 'no pip' }, 'set-up of venv failed on host 0: no pip']],
  'host-bad': [[{ module: 'venv', host: 0, message: 'no disk' }, 'set-up of venv did not work on host 0: no disk']],
  'set-up-late': [[{ seconds: 600 }, 'its hosts are not set up after 10 min (timeouts.setup)']],
  'set-up-timed-out': [
    [{ seconds: 600, slices: 1 }, 'its hosts were not set up within 10 min (timeouts.setup)'],
    [
      {
        seconds: 600,
        slices: 2,
        unready: {
          hosts: 4,
          ready: 3,
          slowest: [{ slice: 1, host: 1, module: 'venv', step: 'requirements', forMs: 580_000, tries: 1 }],
        },
      },
      'its hosts were not set up within 10 min (timeouts.setup): host 1 of slice 1 was at venv, step requirements, for 9 min 40 s; 3 of 4 hosts were ready',
    ],
  ],

  running: [
    [{ attempt: 2, hosts: 4, zone: 'us-east5-a' }, 'attempt 2 on 4 hosts in us-east5-a'],
    [{ attempt: 1, hosts: 1, zone: 'us-east5-a' }, 'attempt 1 on 1 host in us-east5-a'],
    [{ attempt: 1, hosts: 2, zone: 'us-east5-a', isWorkspace: true }, 'workspace, attempt 1 on 2 hosts in us-east5-a'],
  ],
  'attempt-found': [[{ attempt: 3 }, 'the hosts run attempt 3 already; going on with it']],
  'worker-lost': [
    [{}, 'the worker that served the attempt is gone; another one goes on'],
    [{ timeout: 'HEARTBEAT' }, 'the worker that served the attempt is gone (HEARTBEAT); another one goes on'],
  ],
  'worker-error': [[{ reason: 'ECONNRESET' }, 'a worker reported: ECONNRESET; trying again']],
  'hosts-unreachable': [
    [
      { hosts: [{ host: 2 }], since: AT },
      'host 2 has not answered since 2026-11-22 07:14:20 UTC; a slice is kept until there is proof that a host is dead, or timeouts.unreachable is over',
    ],
    [
      {
        hosts: [
          { slice: 0, host: 2 },
          { slice: 1, host: 0 },
        ],
        others: 3,
        since: AT,
      },
      'host 2 of slice 0, host 0 of slice 1 and 3 more have not answered since 2026-11-22 07:14:20 UTC; a slice is kept until there is proof that a host is dead, or timeouts.unreachable is over',
    ],
    [{ isOver: true }, ''],
  ],
  'hosts-silent': [
    [{ what: 'host 1 printed nothing for 5 min' }, 'host 1 printed nothing for 5 min'],
    [{ isOver: true }, ''],
  ],
  'workspace-use': [
    [{ what: 'idle since 07:14' }, 'idle since 07:14'],
    [{ isOver: true }, ''],
  ],
  'given-back': [
    [{ by: 'idle', seconds: 3600 }, 'given back: idle for 1 h'],
    [
      { by: 'idle', seconds: 1800, last: { host: 1, slice: 2, what: 'login from 10.0.0.3', until: AT } },
      'given back: idle for 30 min; last use: login from 10.0.0.3 on host 1 of slice 2, until 2026-11-22 07:14:20 UTC',
    ],
    [{ by: 'run', seconds: 28_800 }, 'given back: its 8 h are over (timeouts.run)'],
  ],
  'accelerator-awaited': [
    [{ what: 'waits for the TPU' }, 'waits for the TPU'],
    [{ isOver: true }, ''],
  ],
  'store-trouble': [
    [{ what: 'its store takes nothing' }, 'its store takes nothing'],
    [{ isOver: true }, ''],
  ],
  exited: [
    [{ host: 0, code: 0, isStopped: true }, 'the command ended with code 0 on host 0 because it was told to end'],
    [
      { host: 1, slice: 2, code: 139, signal: 'SIGSEGV' },
      'the command exited with code 139 (SIGSEGV) on host 1 of slice 2',
    ],
    [
      { host: 1, code: 137, signal: 'SIGKILL' },
      'the command exited with code 137 (SIGKILL) on host 1 (often because memory ran out, of which there is no proof here)',
    ],
    [
      { host: 0, code: 137, isRestartCode: true },
      'the command exited with code 137 on host 0 (often because memory ran out, of which there is no proof here), which asks for another start (command.restart_on)',
    ],
    [
      { host: 0, code: 137, signal: 'SIGKILL', isStopped: true },
      'the command exited with code 137 (SIGKILL) on host 0',
    ],
    [
      { host: 0, code: 137, killedForMemory: 1 },
      'the command exited with code 137 on host 0, where the kernel killed a process for want of memory (the limit of its container)',
    ],
    [
      { host: 0, code: 75, killedForMemory: 2, isRestartCode: true },
      'the command exited with code 75 on host 0, where the kernel killed 2 processes for want of memory (the limit of its container), which asks for another start (command.restart_on)',
    ],
    [
      { host: 0, code: 1, machine: { sign: "it printed 'TPU is sick'" } },
      "the command exited with code 1 on host 0: it printed 'TPU is sick'; its slice is replaced",
    ],
    [
      {
        host: 0,
        code: 134,
        machine: { sign: 'it ended by SIGABRT, twice in a row on the same machine', putAside: 'm1' },
      },
      'the command exited with code 134 on host 0: it ended by SIGABRT, twice in a row on the same machine; machine m1 is put aside',
    ],
  ],
  'no-output': [
    [
      { seconds: 1800, last: { host: 2, what: 'output', at: AT } },
      "its command printed nothing for 30 min on any of its hosts (timeouts.no_output); the last output was host 2's, at 2026-11-22 07:14:20 UTC",
    ],
    [
      {
        seconds: 90,
        last: { host: 2, what: 'start', at: AT },
        first: { host: 1, at: AT, hasPrinted: false },
        stacks: 4,
      },
      'its command printed nothing for 90 s on any of its hosts (timeouts.no_output); host 1 was silent first, since its start, 2026-11-22 07:14:20 UTC; the last to begin was host 2, at 2026-11-22 07:14:20 UTC; where its processes stood is stored of 4 hosts (jobctl stacks)',
    ],
    [
      {
        seconds: 90,
        last: { host: 2, slice: 1, what: 'end', at: AT },
        first: { host: 1, slice: 0, at: AT, hasPrinted: true },
      },
      'its command printed nothing for 90 s on any of its hosts (timeouts.no_output); host 1 of slice 0 was silent first, since 2026-11-22 07:14:20 UTC; the last to end was host 2 of slice 1, at 2026-11-22 07:14:20 UTC',
    ],
  ],
  'run-late': [[{ seconds: 3600 }, 'its command has run for 1 h (timeouts.run)']],
  'run-timed-out': [[{ seconds: 3600 }, 'the command ran for 1 h, as long as timeouts.run allows']],
  'run-lost': [[{ host: 3, message: 'its runner is gone' }, 'host 3: its runner is gone']],
  'worker-failed': [[{ message: 'EACCES' }, 'EACCES']],
  'ended-before': [[{}, 'it has ended before, says the store; Temporal was set back to an earlier time']],
  interrupted: [[{ by: 'revoked' }, 'revoked']],
  'stacks-stored': [
    [
      { job: 'j', attempt: 2 },
      'where the processes of the silent command stand is stored: `jobctl stacks j --attempt 2` groups what `jobctl logs j --attempt 2 --module stacks` has',
    ],
  ],
  'stop-failed': [[{ reason: 'no route' }, 'the command could not be stopped on every host: no route']],
  'processes-left': [
    [
      { hosts: [{ place: 'host 1', count: 2, named: [{ pid: 4711, command: 'python3 a.py' }] }], otherHosts: 1 },
      "still ran when the command's shell had ended with code 0, and was ended: 2 processes on host 1: 4711 'python3 a.py' and 1 more; and on 1 other host (command.wait_for: all waits for it)",
    ],
  ],
  saved: [
    [
      { attempt: 2, files: 12, bytes: 3_400_000, hosts: 4, unmatched: ['*.ckpt'] },
      'outputs of attempt 2: 12 files (3.4 MB) of 4 hosts stored; nothing matched *.ckpt',
    ],
  ],
  'last-lines-late': [
    [
      { attempt: 2 },
      'the last lines and outputs of attempt 2 were not all stored in the time after its stop: its logs and outputs may lack what its hosts made at the end',
    ],
  ],
  'last-lines-lost': [[{ reason: 'gone' }, 'its logs may lack what its hosts printed at the end: gone']],
  'record-not-stored': [[{ attempt: 1, reason: '503' }, 'the record of attempt 1 could not be stored: 503']],

  finishing: [[{}, 'storing the outcome, letting the slices go']],
  'hook-started': [
    [{ result: 'failed', hook: 'failure', seconds: 300 }, 'failed; its hook failure runs, for 300 s at most'],
  ],
  'hook-ended': [
    [{ hook: 'finally', status: 'done' }, 'hook finally done'],
    [{ hook: 'finally', status: 'timed-out', message: 'after 300 s' }, 'hook finally timed out: after 300 s'],
  ],
  holding: [
    [
      { result: 'succeeded', when: 'always', until: AT, usdPerHour: 19.2 },
      'succeeded: the command ended with exit code 0; its slices are kept (keep: always), at about $19.20 an hour, until 2026-11-22 07:14:20 UTC',
    ],
    [
      { result: 'failed', message: 'no pip', when: 'failed', until: AT },
      'failed: no pip; its slices are kept (keep: failed), at a price that is not listed, until 2026-11-22 07:14:20 UTC',
    ],
  ],
  lending: [
    [
      { forSeconds: 120 },
      'the command ended with exit code 0; its slices stay for the next member of its group, for 2 min at most',
    ],
  ],
  lent: [[{ lodger: 'exp-7f3k-5' }, 'the command ended with exit code 0; exp-7f3k-5 runs on its slices']],
  lodged: [[{ landlord: 'exp-7f3k-3' }, 'it runs on the slices of exp-7f3k-3, which are set up']],
  'holding-ended': [
    [{ reason: 'another job waits for them' }, 'its slices go: another job waits for them'],
    [{ limit: 'the time of keep' }, 'its slices go: the time of keep is over'],
    [{ asker: { ...ALICE, verb: 'delete' } }, 'its slices go: alice on wks-12 (jobctl delete) asked for it'],
    [
      { because: { kind: 'lease-taken', facts: { reason: 'resnet waits' } } },
      'its slices go: its lease was taken: resnet waits',
    ],
  ],
  'outcome-not-stored': [
    [{ reason: '503', hasGivenUp: false }, 'its outcome is not stored yet, which is tried for 6 h: 503'],
    [{ reason: '503', hasGivenUp: true }, 'its outcome could not be stored: 503'],
    [{ isOver: true }, ''],
  ],
  notified: [
    [{ to: TARGET }, 'notify: workflow w (signal s) told'],
    [{ to: TARGET, events: 3 }, 'notify: workflow w (signal s) told of 3 events'],
  ],
  'not-notified': [
    [
      { to: TARGET, problem: 'could not be told: it is closed' },
      'notify: workflow w (signal s) could not be told: it is closed',
    ],
  ],
  'notices-left': [
    [
      {
        workflow: 'notices/train-7f3k',
        to: [{ webhook: 'https://example.org/x?token=1', secret: 'key' }, { mail: ['a@b.org'] }],
      },
      'notify: workflow notices/train-7f3k delivers what is left to webhook https://example.org; mail a@b.org',
    ],
  ],
  'notify-test': [[{ by: 'alice' }, 'alice tests who is told of jobs']],
  succeeded: [[END, 'the command ended with exit code 0']],
  failed: [[{ ...END, by: 'task', message: 'no pip', host: 0, slice: 0, exitCode: 1 }, 'no pip']],
  cancelled: [[{ ...END, by: 'user', message: 'cancelled while queued by alice' }, 'cancelled while queued by alice']],
};

export const TOLD: readonly (readonly [Told, string])[] = Object.entries(SAID).flatMap(([kind, rows]) =>
  rows.map(([facts, text]) => [{ kind, facts } as Told, text] as const),
);

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { parseState } from '../../cloud/hosts/runner-client.js';
import { USE } from '../../cloud/hosts/runner/use.js';

/** One process of a made-up /proc. */
interface Process {
  readonly parent?: number;
  readonly words?: readonly string[];
  readonly env?: readonly string[];
  readonly cgroup?: string;
  /** Hundredths of a second. */
  readonly spent?: number;
  readonly state?: string;
}

const RUNNER = '/home/bob/.jobctl/runner-0123456789ab.sh';
const alice = 'SSH_CONNECTION=10.0.0.3 50123 10.0.0.9 22';
const worker = 'SSH_CONNECTION=10.0.0.1 40000 10.0.0.9 22';
const ESTABLISHED = { [alice]: '0016 C3CB', [worker]: '0016 9C40' };

/** What every host of a workspace has: the worker's connection with its call, and the supervisor with the watcher below it. */
const OURS: Readonly<Record<number, Process>> = {
  1: { words: ['/sbin/init'] },
  20: { words: ['/bin/sh', RUNNER, 'follow', 'w-a1', '0'], env: [worker], parent: 19 },
  21: { words: ['tail', '-f', 'output'], env: [worker], parent: 20 },
  30: { words: ['sh', RUNNER, 'supervise', 'w-a1'], env: [worker] },
  31: { words: ['sh', RUNNER, 'guard', 'w-a1'], env: [worker], parent: 30 },
  32: { words: ['sleep', '60'], env: [worker], parent: 31 },
  33: { words: ['/bin/sh', RUNNER, 'use'], env: [worker, 'JOBCTL_RUN_DIR=/home/bob/.jobctl/runs/w-a1'], parent: 30 },
  34: { words: ['sleep', '30'], env: [worker, 'JOBCTL_RUN_DIR=/home/bob/.jobctl/runs/w-a1'], parent: 33 },
};

interface Host {
  readonly open?: readonly (keyof typeof ESTABLISHED)[];
  readonly isPod?: boolean;
  readonly isWhole?: boolean;
  /** A glance between two looks. */
  readonly isGlance?: boolean;
  /** Whether /proc/net/tcp can be read. */
  readonly hasTcp?: boolean;
}

/** Looks at these processes, and then, a minute later, at the others. @returns what each look saw */
function looks(host: Host, ...times: readonly Readonly<Record<number, Process>>[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'made-proc-'));
  try {
    return times.map((processes) => {
      const proc = join(folder, 'proc');
      rmSync(proc, { recursive: true, force: true });
      write(proc, { ...OURS, ...processes }, host);
      return lookAt(folder, host);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function write(proc: string, processes: Readonly<Record<number, Process>>, host: Host): void {
  mkdirSync(join(proc, 'net'), { recursive: true });
  const { open = [worker], hasTcp = true } = host;
  const lines = open.map((who, at) => {
    const [here, there] = ESTABLISHED[who]?.split(' ') ?? [];
    return `   ${at}: 0900000A:${here} 0300000A:${there} 01 00000000:00000000 00:00000000`;
  });
  if (hasTcp) writeFileSync(join(proc, 'net/tcp'), ['  sl  local_address rem_address   st', ...lines, ''].join('\n'));
  for (const [
    pid,
    { parent = 1, words = ['bash'], env = [], cgroup = '0::/', spent = 0, state = 'S' },
  ] of Object.entries(processes)) {
    const own = join(proc, pid);
    mkdirSync(own);
    const ofPid1 = pid === '1' ? 0 : parent;
    const fields = [state, ofPid1, 0, 0, 0, -1, 0, 0, 0, 0, 0, spent, 0, 0, 0, 20, 0, 1, 0, Number(pid) * 100, 0];
    writeFileSync(join(own, 'stat'), `${pid} (${words[0]?.slice(-12)} :) x) ${fields.join(' ')}\n`);
    writeFileSync(join(own, 'environ'), ['HOME=/home/bob', ...env, ''].join('\0'));
    writeFileSync(join(own, 'cmdline'), [...words, ''].join('\0'));
    writeFileSync(join(own, 'cgroup'), `${cgroup}\n`);
  }
}

function lookAt(folder: string, { isPod = false, isWhole = true, isGlance = false }: Host): string {
  const script = `set -u
    in_pod() { ${isPod ? 'true' : 'false'}; }
    ${USE}
    proc=${folder}/proc run=${folder} use_whole=${isWhole ? 'yes' : 'no'} in_use= unseen=
    if look_at_processes 60000 ${isGlance ? 'glance' : ''}; then echo "use: $in_use"; else echo "unseen: $unseen"; fi`;
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim();
}

const NOBODY = 'use:';

describe('whether anybody uses a host of a workspace', () => {
  it('is nobody with the worker’s connection, calls and supervisor alone', () =>
    assert.deepEqual(looks({}, {}, {}), [NOBODY, NOBODY]));

  it('is a login by SSH, as long as its connection is open; what it left running is none', () => {
    const shell = { 50: { words: ['-bash'], env: [alice] }, 51: { words: ['tmux'], env: [alice] } };
    assert.deepEqual(looks({ open: [worker, alice] }, shell), ['use: login from 10.0.0.3']);
    assert.deepEqual(looks({}, shell), [NOBODY]);
  });

  it('is a login at a glance too, which leaves no trace and knows no load', () => {
    const shell = { 50: { words: ['-bash'], env: [alice], spent: 900 } };
    assert.deepEqual(looks({ open: [worker, alice], isGlance: true }, {}, shell), [NOBODY, 'use: login from 10.0.0.3']);
    assert.deepEqual(looks({ isGlance: true }, { 50: { env: [alice] } }, shell), [NOBODY, NOBODY]);
  });

  it('is a login that was there between two looks, after which no other is looked for', () => {
    const glances = (login: number): string => {
      const script = `set -u
        seconds_of() { echo 0.01; }
        ${USE}
        seen=0; look_at_processes() { seen=$((seen + 1)); [ "$2" = glance ] && [ $seen = ${login} ] && in_use='login from x'; return 0; }
        every_ms=30000 glance_ms=2000 in_use=; rest_and_glance; echo "$seen $glanced"`;
      return spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout.trim();
    };
    assert.deepEqual([glances(0), glances(14), glances(2)], ['14', '14 login from x', '2 login from x']);
  });

  it('is neither the worker’s connection between two calls, nor its programs beside a call', () => {
    const { 20: _, 21: __, ...between } = OURS;
    assert.deepEqual(looks({}, between), [NOBODY]);
    assert.deepEqual(looks({}, { 25: { words: ['/bin/sh', '-s'], env: [worker] } }), [NOBODY]);
  });

  it('is a connection that forwards ports alone, which OpenSSH names by its user', () => {
    const user = userInfo().username;
    for (const name of ['sshd', 'sshd-session'])
      assert.deepEqual(looks({}, { 60: { words: [`${name}: ${user}`] } }), ['use: a forwarded connection'], name);
    assert.deepEqual(looks({}, { 60: { words: [`sshd: ${user}@notty`] } }), [NOBODY]);
    assert.deepEqual(looks({}, { 60: { words: [`sshd: ${user} [priv]`] } }), [NOBODY]);
  });

  it('is the load of people’s processes between two looks, not their age, and not ours', () => {
    const left = (spent: number): Record<number, Process> => ({ 70: { words: ['python3'], env: [alice], spent } });
    const load = 'use: load of 10 % of a core, most by process 70 (python3 :) x)';
    assert.deepEqual(looks({}, left(900_000), left(900_599), left(901_199)), [NOBODY, NOBODY, load]);
    const busy = (spent: number): Record<number, Process> => ({
      34: { ...OURS[34], spent },
      21: { ...OURS[21], spent },
    });
    assert.deepEqual(looks({}, busy(0), busy(6000)), [NOBODY, NOBODY]);
    assert.deepEqual(looks({}, {}, left(700)), [
      NOBODY,
      'use: load of 11 % of a core, most by process 70 (python3 :) x)',
    ]);
  });

  it('is the load of another user’s session and of containers on a machine of the job’s alone', () => {
    const of = (cgroup: string, spent: number): Record<number, Process> => ({
      80: { words: ['python3'], cgroup, spent },
    });
    for (const cgroup of ['0::/user.slice/user-1000.slice/session-4.scope', '0::/system.slice/docker-3f.scope']) {
      assert.match(looks({}, of(cgroup, 0), of(cgroup, 900))[1] ?? '', /^use: load of 15 %/, cgroup);
      assert.deepEqual(looks({ isWhole: false }, of(cgroup, 0), of(cgroup, 900)), [NOBODY, NOBODY]);
    }
    const daemon = '0::/system.slice/monitor.service';
    assert.deepEqual(looks({}, of(daemon, 0), of(daemon, 900)), [NOBODY, NOBODY]);
  });

  it('is a shell by exec in a pod, whose parent is outside, and any load there', () => {
    const call = {
      90: {
        words: ['/bin/sh', '-c', '/bin/sh -c "$1"', 'jobctl', `. "$HOME"${RUNNER.slice(9)} deliver w-a1`],
        parent: 0,
      },
      93: { words: ['bash', '--norc', '-c', 'scan', 'jobctl-outputs'], parent: 90 },
    };
    const pod = { isPod: true, hasTcp: false };
    assert.deepEqual(looks(pod, call), [NOBODY]);
    assert.deepEqual(looks(pod, { ...call, 91: { words: ['bash'], parent: 0 } }), ['use: a shell by exec']);
    assert.match(looks(pod, { 92: { spent: 0 } }, { 92: { spent: 900 } })[1] ?? '', /^use: load of 15 %/);
  });

  it('is not known where connections or processes cannot be read, and never nobody', () => {
    const unseen = 'unseen: its processes cannot be read in /proc';
    assert.deepEqual(looks({ hasTcp: false }, {}), [unseen]);
  });

  it('is unknown in the status once its watcher has stopped looking, or when its last look saw nothing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'use-file-'));
    const use = (line: string): string => {
      writeFileSync(join(folder, 'use'), `${line}\n`);
      const script = `set -u\nuptime_ms() { echo 1000000; }\n${USE}\nrun=${folder}; use_of`;
      const [idle = '', words = ''] = spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout.trim().split(' ');
      return `${idle} ${Buffer.from(words, 'base64').toString()}`;
    };
    try {
      assert.equal(use('990000 990000 400000 30000 login from 10.0.0.3'), '590000 login from 10.0.0.3');
      assert.equal(use('990000 900000 400000 30000 nvidia-smi hangs'), 'unknown nvidia-smi hangs');
      assert.match(use('800000 800000 400000 30000 its start'), /^unknown its watcher does not look any more/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is a field of the status, with words in base64 that cannot be more than a line', () => {
    const words = (text: string): string => Buffer.from(text).toString('base64');
    assert.deepEqual(parseState(`running 5 0 - - 61000 ${words('login from 10.0.0.3')}`), {
      ...{ kind: 'running', startedAt: 5, outputBytes: 0 },
      use: { kind: 'known', idleMs: 61_000, last: 'login from 10.0.0.3' },
    });
    const unknown = parseState(`running 5 0 - - unknown ${words('nvidia-smi\u001b[2J does not answer')}`);
    assert.deepEqual(unknown.kind === 'running' && unknown.use, {
      kind: 'unknown',
      why: String.raw`nvidia-smi\u001b[2J does not answer`,
    });
    for (const forged of ['-1', '1e9', '99999999999999999999', '', 'x'])
      assert.deepEqual(parseState(`running 5 0 - - ${forged} ${words('a')}`), {
        ...{ kind: 'running', startedAt: 5, outputBytes: 0 },
      });
  });
});

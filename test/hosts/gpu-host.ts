import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Declared, Inspection, MachineVerbs } from '../../cloud/hosts/machine-verbs.js';
import { until } from '../until.js';
import { startNamespace } from './namespace.js';
import { type HostSession, withHost } from './session.js';

/** A host with /dev/nvidia0 .. and an `nvidia-smi` that answers as the driver of one H100 did (2026-11-26). */
export interface GpuHost extends HostSession {
  readonly machine: MachineVerbs;
  inspect(declared: Declared): Promise<Inspection>;
  /** The lines of `--query-compute-apps=pid,process_name`, or a shell script of one's own. */
  computes(lines: string): void;
  answers(script: string): void;
  /** Another program of the host, in place of its own. */
  has(program: string, script: string): void;
  /** Starts bash inside with this script, and waits until it has made `~/NAME`. @returns its pid there */
  runs(name: string, script: string): Promise<number>;
}

const H100 = 'NVIDIA H100 80GB HBM3';

/** Whether every user can reach what is in this folder: a `TMPDIR` may be one user's own. */
const isOpen = (folder: string): boolean =>
  (statSync(folder).mode & 0o001) !== 0 && (folder === '/' || isOpen(dirname(folder)));

/** Shell line that puts a /dev with so many GPUs over a namespace's own. @param dev a path that is free */
export function mountGpus(dev: string, gpus: number): string {
  const kept = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
  const steps = [
    `mkdir ${dev} && mount -t tmpfs -o mode=755 none ${dev}`,
    ...kept.map((name) => `touch ${dev}/${name} && mount --bind /dev/${name} ${dev}/${name}`),
    `mkdir -m 1777 ${dev}/shm && ln -s /proc/self/fd ${dev}/fd`,
    ...Array.from({ length: gpus }, (_, index) => `touch ${dev}/nvidia${index}`),
    `mount --rbind ${dev} /dev`,
  ];
  return steps.join(' && ');
}

/** @param uid whom it lets in. Absent: root */
export async function withGpuHost(gpus: number, work: (host: GpuHost) => Promise<void>, uid?: number): Promise<void> {
  const folder = mkdtempSync(join(isOpen(tmpdir()) ? tmpdir() : '/tmp', 'gpu-host-'));
  chmodSync(folder, 0o755);
  const has = (program: string, script: string): void =>
    writeFileSync(join(folder, program), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  const answers = (script: string): void => has('nvidia-smi', script);
  const listed = Array.from({ length: gpus }, (_, index) => `GPU ${index}: ${H100} (UUID: GPU-${index})`).join('\n');
  const computes = (lines: string): void =>
    answers(
      `case "$*" in -L) echo '${listed}' ;; *query-compute-apps=pid,process_name*) printf '%s' '${lines}' ;; *) exit 2 ;; esac`,
    );
  computes('');
  const namespace = await startNamespace(mountGpus(join(folder, 'dev'), gpus), uid);
  const env = { PATH: `${folder}:${process.env['PATH']}` };
  const home = join(folder, 'home');
  mkdirSync(home);
  if (uid !== undefined && process.getuid?.() === 0) chownSync(home, uid, uid);
  const { enter } = namespace;
  try {
    await withHost(
      async (session) => {
        const runs: GpuHost['runs'] = async (name, script) => {
          const file = join(session.host.home, name);
          const [program = '', ...words] = enter;
          const text = `echo $BASHPID > ${file}.new; mv ${file}.new ${file}; ${script}`;
          spawn(program, [...words, 'bash', '-c', text], {
            stdio: 'ignore',
            env: { ...process.env, HOME: session.host.home },
          });
          await until(`${name} runs`, () => existsSync(file));
          return Number(session.read(name));
        };
        const { machine } = session.connection as unknown as { readonly machine: MachineVerbs };
        await work({
          ...session,
          computes,
          answers,
          has,
          runs,
          machine,
          inspect: (declared) => machine.inspect(declared),
        });
      },
      { enter, env, home },
    );
  } finally {
    namespace.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

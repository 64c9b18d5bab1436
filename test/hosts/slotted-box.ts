import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';
import { mountGpus } from './gpu-host.js';
import { startNamespace } from './namespace.js';
import { isAnswering, SSHD, sshdConfig } from './open-sshd.js';
import { type KeyPair, makeKeyPair } from './ssh-host.js';

/** One machine with NVIDIA GPUs and some login users, `gpu-0`, `gpu-1` ..: OpenSSH's server in namespaces of its own. */
export interface SlottedBox {
  readonly address: string;
  readonly hostKey: string;
  readonly homes: readonly string[];
  /** The answer of `nvidia-smi --query-compute-apps=gpu_uuid,..` from now on. */
  computes(lines: string): void;
  /** The GPUs that its driver lists from now on, in its order, of those that it had first: 0, 1 .. */
  lists(gpus: readonly number[]): void;
  /** Ends all that runs there, and boots it again with another boot id: what is below /dev and /proc is new, its disk stays. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}

const FIRST_UID = 5000;

/** @throws Error without root, which a second login user takes */
export async function startSlottedBox(key: KeyPair, users: number, gpus: number): Promise<SlottedBox> {
  if (process.getuid?.() !== 0) throw new Error('several login users on one machine need root');
  // Others than root reach no folder of a TMPDIR that is root's.
  const folder = mkdtempSync('/tmp/slotted-box-');
  chmodSync(folder, 0o755);
  const at = (name: string): string => join(folder, name);
  const ids = Array.from({ length: users }, (_, number) => number);
  const homes = ids.map((number) => at(`home-${number}`));
  for (const [number, home] of homes.entries()) {
    mkdirSync(home, 0o700);
    chownSync(home, FIRST_UID + number, FIRST_UID + number);
  }
  const lines = ids.map((n) => `gpu-${n}:x:${FIRST_UID + n}:${FIRST_UID + n}::${homes[n]}:/bin/bash\n`);
  writeFileSync(at('passwd'), readFileSync('/etc/passwd', 'utf8') + lines.join(''));
  // Its mode is that of the original before it has the content.
  copyFileSync('/etc/shadow', at('shadow'));
  writeFileSync(at('shadow'), readFileSync('/etc/shadow', 'utf8') + ids.map((n) => `gpu-${n}:*:::::::\n`).join(''));
  mkdirSync(at('bin'));
  writeFileSync(at('bin/systemctl'), '#!/bin/sh\necho running\n', { mode: 0o755 });
  let [listed, computing] = [Array.from({ length: gpus }, (_, index) => index) as readonly number[], ''];
  const answers = (): void => {
    // By a rename: a shell reads a script as it goes.
    writeFileSync(at('bin/nvidia-smi.new'), nvidiaSmi(listed, computing), { mode: 0o755 });
    renameSync(at('bin/nvidia-smi.new'), at('bin/nvidia-smi'));
  };
  answers();
  const [hostKey, port] = [makeKeyPair(), await freePort()];
  writeFileSync(at('host_key'), hostKey.private, { mode: 0o600 });
  writeFileSync(at('authorized_keys'), `${key.public}\n`);
  const settings = `SetEnv PATH=${at('bin')}:/usr/local/bin:/usr/bin:/bin`;
  writeFileSync(at('sshd_config'), sshdConfig(folder, '', { address: '127.0.0.1', port, settings }));
  mkdirSync('/run/sshd', { recursive: true });
  const logins = `mount --bind ${at('passwd')} /etc/passwd && mount --bind ${at('shadow')} /etc/shadow`;
  const boot = async (number: number) => {
    writeFileSync(at('boot_id'), `${randomUUID()}\n`);
    const id = `mount --bind ${at('boot_id')} /proc/sys/kernel/random/boot_id`;
    const namespace = await startNamespace(`${logins} && ${id} && ${mountGpus(at(`dev-${number}`), gpus)}`);
    const [program = '', ...words] = namespace.enter;
    const server = spawn(program, [...words, SSHD, '-D', '-e', '-f', at('sshd_config')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await until('sshd answers', () => {
      if (server.exitCode !== null) throw new Error(`sshd ended with code ${server.exitCode}`);
      return isAnswering('127.0.0.1', port);
    });
    return async (): Promise<void> => {
      namespace.kill();
      await until('sshd has ended', () => server.exitCode !== null || server.signalCode !== null);
    };
  };
  let boots = 0;
  let off = await boot(boots);
  return {
    address: `127.0.0.1:${port}`,
    hostKey: hostKey.public.split(' ').slice(0, 2).join(' '),
    homes,
    computes: (lines) => {
      computing = lines;
      answers();
    },
    lists: (indexes) => {
      listed = indexes;
      answers();
    },
    reboot: async () => {
      await off();
      off = await boot((boots += 1));
    },
    stop: async () => {
      await off();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** As the driver of one H100 answered (2026-11-26), for several of them. */
function nvidiaSmi(gpus: readonly number[], lines: string): string {
  const each = (line: (gpu: number, index: number) => string): string =>
    gpus.map((gpu, index) => `echo '${line(gpu, index)}'`).join('; ');
  return `#!/bin/sh
case "$*" in
  -L) ${each((gpu, index) => `GPU ${index}: NVIDIA H100 80GB HBM3 (UUID: GPU-${gpu}0ff)`)} ;;
  *query-gpu=index,uuid*) ${each((gpu, index) => `${index}, GPU-${gpu}0ff`)} ;;
  *query-gpu=uuid*) ${each((gpu) => `GPU-${gpu}0ff`)} ;;
  *query-compute-apps=gpu_uuid,pid,process_name*) printf '${lines}' ;;
  *query-compute-apps=*) printf '${lines}' | sed 's/^[^,]*, //' ;;
  *) exit 2 ;;
esac
`;
}

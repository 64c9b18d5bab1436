import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
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
  const computes = (lines: string): void =>
    writeFileSync(at('bin/nvidia-smi'), nvidiaSmi(gpus, lines), { mode: 0o755 });
  computes('');
  const [hostKey, port] = [makeKeyPair(), await freePort()];
  writeFileSync(at('host_key'), hostKey.private, { mode: 0o600 });
  writeFileSync(at('authorized_keys'), `${key.public}\n`);
  const settings = `SetEnv PATH=${at('bin')}:/usr/local/bin:/usr/bin:/bin`;
  writeFileSync(at('sshd_config'), sshdConfig(folder, '', { address: '127.0.0.1', port, settings }));
  mkdirSync('/run/sshd', { recursive: true });
  const logins = `mount --bind ${at('passwd')} /etc/passwd && mount --bind ${at('shadow')} /etc/shadow`;
  const namespace = await startNamespace(`${logins} && ${mountGpus(at('dev'), gpus)}`);
  const [program = '', ...words] = namespace.enter;
  const server = spawn(program, [...words, SSHD, '-D', '-e', '-f', at('sshd_config')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await until('sshd answers', () => {
    if (server.exitCode !== null) throw new Error(`sshd ended with code ${server.exitCode}`);
    return isAnswering('127.0.0.1', port);
  });
  return {
    address: `127.0.0.1:${port}`,
    hostKey: hostKey.public.split(' ').slice(0, 2).join(' '),
    homes,
    computes,
    stop: async () => {
      namespace.kill();
      await until('sshd has ended', () => server.exitCode !== null || server.signalCode !== null);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** As the driver of one H100 answered (2026-11-26), for several of them. */
function nvidiaSmi(gpus: number, lines: string): string {
  const each = (line: (index: number) => string): string =>
    Array.from({ length: gpus }, (_, index) => `echo '${line(index)}'`).join('; ');
  return `#!/bin/sh
case "$*" in
  -L) ${each((index) => `GPU ${index}: NVIDIA H100 80GB HBM3 (UUID: GPU-${index}0ff)`)} ;;
  *query-gpu=index,uuid*) ${each((index) => `${index}, GPU-${index}0ff`)} ;;
  *query-compute-apps=gpu_uuid,pid,process_name*) printf '${lines}' ;;
  *query-compute-apps=*) printf '${lines}' | sed 's/^[^,]*, //' ;;
  *) exit 2 ;;
esac
`;
}

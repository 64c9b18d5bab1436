import { spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';

type Part = 'kube-apiserver' | 'kubelet';

/** The kubelet is in the node's network namespace (kube-node's). */
const INSIDE: Record<Part, readonly string[]> = {
  'kube-apiserver': [],
  kubelet: ['nsenter', '--net=/run/netns/kube-node'],
};

/** SIGKILL, by its pid file, as kube-node left it. @returns starts it again with the same words */
export function killPart(part: Part): () => void {
  const folder = process.env['KUBE_NODE_DIR'] ?? '/var/tmp/kube-node';
  const pid = Number(readFileSync(`${folder}/${part}.pid`, 'utf8'));
  const [program = '', ...words] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  process.kill(pid, 'SIGKILL');
  return () => {
    const log = openSync(`${folder}/${part}.log`, 'a');
    // Not at the priority of this test, which may be the lowest: others use the cluster too.
    const started = spawn('chrt', ['--other', '0', ...INSIDE[part], program, ...words], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log, log],
    });
    started.unref();
    writeFileSync(`${folder}/${part}.pid`, `${started.pid}\n`);
  };
}

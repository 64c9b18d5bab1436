import { spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';

/** By its pid file, as kube-node left it. @returns starts it again with the same words */
export function killApiServer(): () => void {
  const folder = process.env['KUBE_NODE_DIR'] ?? '/var/tmp/kube-node';
  const pid = Number(readFileSync(`${folder}/kube-apiserver.pid`, 'utf8'));
  const [program = '', ...words] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  process.kill(pid, 'SIGKILL');
  return () => {
    const log = openSync(`${folder}/kube-apiserver.log`, 'a');
    // Not at the priority of this test, which may be the lowest: others use the server too.
    const started = spawn('chrt', ['--other', '0', program, ...words], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log, log],
    });
    started.unref();
    writeFileSync(`${folder}/kube-apiserver.pid`, `${started.pid}\n`);
  };
}

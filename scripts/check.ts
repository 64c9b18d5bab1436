import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** `npm run check`: runs every check, even if an earlier one failed, and prints one closing line. */
const CHECKS = ['lint', 'format', 'arrows', 'dead-code'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));

let failed = 0;
for (const check of CHECKS) {
  const startedAt = performance.now();
  const { code, output } = await runScript(`check:${check}`);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${check.padEnd(10)} ${seconds.padStart(5)} s`);
  if (code === 0) continue;
  failed++;
  console.log(`${output}\n  again alone: npm run check:${check}\n`);
}
console.log(`${CHECKS.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function runScript(name: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('npm', ['run', '--silent', name], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, output: output.trimEnd() }));
  });
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { RawAnswer, RawCall } from './raw-calls.js';

/** `nobody`: a login that owns nothing of ours. */
const OTHER = 65_534;
export const AS_OTHER = ['setpriv', '--reuid', String(OTHER), '--regid', String(OTHER), '--clear-groups', '--'];

/** For a `before` hook: only root can be somebody else. Pending, not green; .ci/run, which is root's, forbids pending tests. */
export function needsOtherLogin(hook: Mocha.Context): void {
  if (process.getuid?.() !== 0) hook.skip();
}

/** Runs a program as another login of this computer, with nothing of our environment. */
export function runAsOther(
  command: readonly string[],
  input = '',
): { readonly code: number | null; readonly stdout: string; readonly stderr: string } {
  const [program = '', ...args] = [...AS_OTHER, ...command];
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent' };
  const { status, stdout, stderr } = spawnSync(program, args, { input, env, encoding: 'utf8', cwd: '/' });
  return { code: status, stdout, stderr };
}

/** Makes the calls from a process of another login. The program is an argument: that login may not reach the folders of a test. */
export function callAsOther(calls: readonly RawCall[]): readonly RawAnswer[] {
  const program = asJavaScript(fileURLToPath(new URL('raw-calls.ts', import.meta.url)));
  const command = [process.execPath, '--input-type=module', '--eval', program, '--', '--calls-from-stdin'];
  const ran = runAsOther(command, JSON.stringify(calls));
  if (ran.code !== 0) throw new Error(`the other login's program ended with ${ran.code}: ${ran.stderr}`);
  return JSON.parse(ran.stdout) as readonly RawAnswer[];
}

function asJavaScript(file: string): string {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  return ts.transpileModule(readFileSync(file, 'utf8'), { compilerOptions }).outputText;
}

import { createInterface } from 'node:readline';
import { explainError } from '../../cli/terminal/explain-error.js';
import { runProgram } from '../../cli/program.js';

// The command line in one process, since starting one takes longer than what it does here. One line of JSON {args, credentials}
// in; one of {code, stdout, stderr} out. What a process trusts stands in its environment, and so do credentials as it is asked.
interface Asked {
  readonly args: string[];
  readonly credentials: Readonly<Record<string, string>>;
}

const out = { stdout: '', stderr: '' };
const print = process.stdout.write.bind(process.stdout);
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array) => {
    out[name] += String(text);
    return true;
  };
}

let named: readonly string[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { args, credentials } = JSON.parse(line) as Asked;
  for (const name of named) delete process.env[name];
  Object.assign(process.env, credentials);
  named = Object.keys(credentials);
  Object.assign(out, { stdout: '', stderr: '' });
  const code = await runProgram(args).catch((error: unknown) => {
    const { text, exitCode } = explainError(error, false);
    out.stderr += `${text}\n`;
    return exitCode;
  });
  print(`${JSON.stringify({ code, ...out })}\n`);
}

import { createInterface } from 'node:readline';
import { explainError } from '../../cli/terminal/explain-error.js';
import { runProgram } from '../../cli/program.js';

// The command line in one process, since starting one takes longer than what it does here. One line of JSON, the arguments,
// in; one of {code, stdout, stderr} out. What a process trusts and whose credentials it finds stand in its environment.
const out = { stdout: '', stderr: '' };
const print = process.stdout.write.bind(process.stdout);
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array) => {
    out[name] += String(text);
    return true;
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const args = JSON.parse(line) as string[];
  Object.assign(out, { stdout: '', stderr: '' });
  const code = await runProgram(args).catch((error: unknown) => {
    const { text, exitCode } = explainError(error, false);
    out.stderr += `${text}\n`;
    return exitCode;
  });
  print(`${JSON.stringify({ code, ...out })}\n`);
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Cost of one process from its start to its end. */
export interface ProcessCost {
  readonly wallMs: number;
  /** Peak resident memory of the process, or of one of its children if that is more. */
  readonly peakMegabytes: number;
}

/** Runs argv and prints wall seconds, peak kilobytes and exit code. Node.js cannot read a child's peak memory. */
const WRAPPER = `
import json, os, sys, time
began = time.perf_counter()
pid = os.fork()
if pid == 0:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([time.perf_counter() - began, usage.ru_maxrss, os.waitstatus_to_exitcode(status)]))
`;

/** @throws Error if the command cannot be started, or its exit code is not 0 */
export async function processCost(command: readonly string[], env: NodeJS.ProcessEnv): Promise<ProcessCost> {
  const { stdout } = await promisify(execFile)('python3', ['-c', WRAPPER, ...command], { env });
  const [seconds, kilobytes, code] = JSON.parse(stdout) as [number, number, number];
  if (code !== 0) throw new Error(`${command.join(' ')}: exit code ${code}`);
  return { wallMs: seconds * 1_000, peakMegabytes: kilobytes / 1_024 };
}

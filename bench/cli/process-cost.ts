import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** One process from its start to its end. */
export interface ProcessCost {
  readonly wallMs: number;
  /** The most resident memory that it, or one of its children, had. */
  readonly peakMegabytes: number;
}

/** Starts argv, throws its output away, and prints wall seconds, peak kilobytes and exit code: Node.js cannot ask for the second. */
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

/** @throws Error if it cannot be started, or ends with another code than 0 */
export async function processCost(command: readonly string[], env: NodeJS.ProcessEnv): Promise<ProcessCost> {
  const { stdout } = await promisify(execFile)('python3', ['-c', WRAPPER, ...command], { env });
  const [seconds, kilobytes, code] = JSON.parse(stdout) as [number, number, number];
  if (code !== 0) throw new Error(`${command.join(' ')}: exit code ${code}`);
  return { wallMs: seconds * 1_000, peakMegabytes: kilobytes / 1_024 };
}

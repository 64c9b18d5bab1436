import { spawn } from 'node:child_process';

/** Columns, text of a question, keys, a command: runs it on a terminal of its own, and types the keys once the question is there. */
const TERMINAL = `
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[4], sys.argv[4:])
question, keys, shown = sys.argv[2].encode(), sys.argv[3].encode(), b''
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        break
    if not chunk:
        break
    shown += chunk
    if keys and question in shown:
        os.write(terminal, keys)
        keys = b''
sys.stdout.buffer.write(shown)
sys.stdout.flush()
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
`;

export interface TerminalOptions {
  readonly columns: number;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Typed when `question` is on the screen. */
  readonly keys?: string;
  readonly question?: string;
}

/** Runs a command on a terminal. `text` is all that it wrote, escape sequences too; of a signal the code is 128 and its number. */
export async function onTerminal(
  command: readonly string[],
  { columns, env, cwd, keys = '', question = '[y/N]' }: TerminalOptions,
): Promise<{ code: number | null; text: string }> {
  const child = spawn('python3', ['-c', TERMINAL, String(columns), question, keys, ...command], {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, text: text.replaceAll('\r\n', '\n').trimEnd() };
}

import { randomBytes } from 'node:crypto';
import { shellQuote } from '../../domain/shell-quote.js';

/** A command as it is executed in a pod. */
interface PodCommand {
  readonly argv: readonly string[];
  /** Printed on stderr behind the command's own output, before its exit code and a newline. */
  readonly endMark: Buffer;
}

interface PodCommandOptions {
  /** Bytes of stdin, where that is known. Absent: stdin ends when the stream does. */
  readonly stdinBytes?: number;
}

/**
 * An exec that loses its connection goes on in the pod, and once its pipes are full it blocks for ever, with every lock that it
 * holds (seen with containerd 1.6). So stdin stays open beyond the bytes of the command's: its end is then the connection's, and
 * the process group is told to end. A stream without a known length has no such sign; its command hears of the end itself.
 *
 * The end is marked. A process that the command leaves behind may hold its output open, and an exec ends only with that. And an
 * API server calls an exec whose kubelet was killed a success, with the output cut wherever it was (seen with 1.34).
 *
 * `heard`: the agent counts for how long nobody has spoken to it (agent.ts).
 */
export function podCommand(command: string, { stdinBytes }: PodCommandOptions): PodCommand {
  const mark = `jobctl-end-${randomBytes(12).toString('hex')} `;
  const told = `printf '%s%s\\n' ${shellQuote(mark)} $code >&2; `;
  const script = stdinBytes === undefined ? streamed(told) : watched(stdinBytes, told);
  return { argv: ['/bin/sh', '-c', HEARD + script, 'jobctl', command], endMark: Buffer.from(mark) };
}

const HEARD = '[ ! -d "$HOME/.jobctl" ] || { echo $$ > "$HOME/.jobctl/heard"; } 2> /dev/null; ';

const streamed = (told: string): string => `/bin/sh -c "$1"; code=$?; ${told}exit $code`;

/**
 * The left side says who it is, passes the command's bytes on, and then waits for the end of stdin. The right side tells it to end;
 * with a trap, since a shell prints which of its processes a signal has ended.
 */
function watched(bytes: number, told: string): string {
  const pass = bytes === 0 ? '' : `head -c ${bytes}; `;
  const left = `trap 'kill $!; exit 0' TERM; echo $$; ${pass}exec 3<&0 >&-; cat <&3 > /dev/null & wait $!; kill -s TERM -- "-$0"`;
  const right = `read -r left; /bin/sh -c "$1"; code=$?; ${told}kill $left; exit $code`;
  return `/bin/sh -c ${shellQuote(left)} $$ 2> /dev/null | { ${right}; }`;
}

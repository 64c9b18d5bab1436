import { randomBytes } from 'node:crypto';
import { shellQuote } from '../../domain/shell-quote.js';

/** A command in the form in which it is executed in a pod. */
interface PodCommand {
  readonly argv: readonly string[];
  /** Printed on stderr after the command's own output, before its exit code and a newline. */
  readonly endMark: Buffer;
}

interface PodCommandOptions {
  /** Number of bytes on stdin, if known. Absent: stdin ends when the stream does. */
  readonly stdinBytes?: number;
}

/**
 * An exec that loses its connection continues in the pod, and once its pipes are full it blocks for ever, with every lock that it
 * holds (seen with containerd 1.6). So stdin stays open after the command's bytes: its end then shows the end of the connection,
 * and the process group is told to end. A stream of unknown length gives no such sign; its command notices the end itself.
 *
 * The end is marked, for two reasons. A process that the command leaves behind may hold its output open, and an exec ends only
 * with that. And if the kubelet of an exec was killed, an API server reports success with the output cut anywhere (seen with
 * 1.34).
 *
 * `heard`: the agent measures the time since the last command (agent.ts).
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
 * The left side prints its id, passes the command's bytes on, and then waits for the end of stdin. The right side tells it to
 * end. The left side has a trap for that, since a shell prints which of its processes a signal has ended.
 */
function watched(bytes: number, told: string): string {
  const pass = bytes === 0 ? '' : `head -c ${bytes}; `;
  const left = `trap 'kill $!; exit 0' TERM; echo $$; ${pass}exec 3<&0 >&-; cat <&3 > /dev/null & wait $!; kill -s TERM -- "-$0"`;
  const right = `read -r left; /bin/sh -c "$1"; code=$?; ${told}kill $left; exit $code`;
  return `/bin/sh -c ${shellQuote(left)} $$ 2> /dev/null | { ${right}; }`;
}

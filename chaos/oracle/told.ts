import type { Told } from './evidence.js';

/** Of GONE, which the listener says: behind all that the process said itself. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER;
const KINDS: ReadonlySet<string> = new Set(['BEGIN', 'HOST', 'TWO', 'LINE', 'TERM', 'END']);

/**
 * One line of a command's own account: `us-since-1970 job attempt slice host process number kind text`, by tabs. Undefined for
 * anything else, such as half a line on a full disk.
 */
export function parseTold(line: string): Told | undefined {
  const [at, job, attempt, slice, host, process, number, kind, ...text] = line.split('\t');
  if (job === undefined || process === undefined || kind === undefined || !KINDS.has(kind) || text.length === 0)
    return undefined;
  const told = {
    at: Math.floor(Number(at) / 1_000),
    job,
    attempt: Number(attempt),
    slice: Number(slice),
    host: Number(host),
    process,
    number: Number(number),
    kind: kind as Told['kind'],
    text: text.join('\t'),
  };
  return [told.at, told.attempt, told.slice, told.host, told.number].every(Number.isInteger) ? told : undefined;
}

/** The process whose last word this was is gone, without an END. */
export const goneAfter = (last: Told, at: number): Told => ({
  ...last,
  at,
  number: LAST_NUMBER,
  kind: 'GONE',
  text: '',
});

/**
 * The opening of a chaos command, in bash: `tell KIND TEXT` to the listener and into `~/chaos-told`, the host's own record; `say LINE`
 * tells and then prints. Told before it is printed, so what is stored can never be more. A host whose disk is full tells the
 * listener alone. `rest SECONDS` waits; `TERM` from the listener is a SIGTERM to this process, and to no other. Its host it knows
 * from the kernel, and that it is alone there by a lock which the kernel takes back with the process: jobctl knows of neither.
 */
export const TELLING = (port: number): string => `exec 9<>/dev/tcp/127.0.0.1/${port} || exit 97
told=0
tell() {
  local line
  told=$((told + 1))
  printf -v line '%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s\\t%s' "\${EPOCHREALTIME/[^0-9]/}" "$JOBCTL_JOB_ID" "$JOBCTL_ATTEMPT" "$JOBCTL_SLICE_INDEX" "$JOBCTL_HOST_INDEX" "$chaos_process" "$told" "$1" "$2"
  printf '%s\\n' "$line" >&9
  printf '%s\\n' "$line" 2>/dev/null >>~/chaos-told || :
}
say() { tell LINE "$1"; printf '%s\\n' "$1"; }
rest() {
  local order=
  read -rt "$1" -u 9 order
  case $? in 0) [ "$order" = TERM ] && kill -TERM $BASHPID ;; 1) read -rt "$1" -u 8 ;; esac
}
chaos_process=$JOBCTL_NODE_NAME.$JOBCTL_HOST_INDEX.$BASHPID.$SRANDOM
exec 8<> <(:)
tell BEGIN "$JOBCTL_NODE_NAME"
tell HOST "$(< /proc/sys/kernel/hostname)"
if { exec 7>>~/chaos-lock; } 2>/dev/null; then
  flock -n 7 || tell TWO "$(cat ~/chaos-holder 2>/dev/null)"
  printf '%s\\n' "$chaos_process" 2>/dev/null >~/chaos-holder || :
fi
`;

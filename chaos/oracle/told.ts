import type { Told } from './evidence.js';

/** Number of GONE: after all reports of the process, because it comes from the listener. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER;
const KINDS: ReadonlySet<string> = new Set(['BEGIN', 'HOST', 'TWO', 'LINE', 'TERM', 'END']);

/**
 * Parses a report: `us-since-1970 job attempt slice host process number kind text`, separated by tabs. Undefined for anything
 * else, such as half a line from a full disk.
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

/** GONE for the process whose last report this was, without an END. */
export const goneAfter = (last: Told, at: number): Told => ({
  ...last,
  at,
  number: LAST_NUMBER,
  kind: 'GONE',
  text: '',
});

/** A place for one command at a time, in bash: the name that HOST reports, and the redirection that opens its lock. */
interface Place {
  readonly name: string;
  readonly lock: string;
}
const HOST: Place = { name: '$(< /proc/sys/kernel/hostname)', lock: '>>~/chaos-lock' };
/** The card itself, whatever its index is now: test/hosts/slotted-box.ts gives card 3 the UUID `GPU-30ff`. */
const CARD = `$(sed 's/^GPU-\\(.*\\)0ff$/\\1/' <<< "$CUDA_VISIBLE_DEVICES")`;
/** A GPU of a slot, whose device file all users of its machine can open. */
export const GPU: Place = { name: `gpu-${CARD}`, lock: `< "/dev/nvidia${CARD}"` };

/**
 * The opening of a chaos command, in bash. `tell KIND TEXT` reports to the listener and into `~/chaos-told` on the host, or to
 * the listener alone if the disk is full. `say LINE` reports a line and then prints it, so that no log can hold more than was
 * reported. `rest SECONDS` waits; TERM from the listener becomes a SIGTERM to this process alone. The place is
 * the host, by its kernel's name. A lock that the kernel releases with the process shows whether another command is there. jobctl
 * knows of neither.
 */
export const TELLING = (
  port: number,
  { name, lock }: Place = HOST,
): string => `exec 9<>/dev/tcp/127.0.0.1/${port} || exit 97
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
tell HOST "${name}"
if { exec 7${lock}; } 2>/dev/null; then
  flock -n 7 || tell TWO "$(cat ~/chaos-holder 2>/dev/null)"
  printf '%s\\n' "$chaos_process" 2>/dev/null >~/chaos-holder || :
fi
`;

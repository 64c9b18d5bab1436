import { shellQuote } from '../../../domain/shell-quote.js';
import { JOBS_FOLDER } from '../port.js';

/** Folder below the login user's home for jobctl's files on a machine that outlives its slices (docs/adr/0070). */
const MACHINE_FOLDER = '.jobctl/machine';
/** The first line of this file is the id of the claim. */
const CLAIM_FILE = 'claim';
/** Contains an empty file for each claim that is being given back or has been. */
const ENDED_FOLDER = 'ended';

/** Exit code of a command that was not started. */
export const NOT_HELD = 97;

const FENCE = `cd=$HOME/${MACHINE_FOLDER}
[ ! -e "$cd/${ENDED_FOLDER}/$0" ] && read -r held < "$cd/${CLAIM_FILE}" && [ "$held" = "$0" ] || exit ${NOT_HELD}
exec "\${SHELL:-sh}" -c "$1"`;

/**
 * Wraps a command for the login user's shell so that it starts only while this claim holds the machine. Commands that a cut-off
 * worker still sends have no effect.
 */
export const whileHeld = (claim: string, command: string): string =>
  `sh -c ${shellQuote(FENCE)} ${shellQuote(claim)} ${shellQuote(command)}`;

/**
 * The verbs of a machine that outlives its slices (docs/adr/0070). Its claim names the slice that holds it: a file made by a hard
 * link, so that it appears as a whole and only once. A claim that was given back is marked as ended, so that the same claim is
 * refused if it comes late.
 */
export const MACHINE = `
held_by() { holder=; [ -f "$claim" ] && read -r holder < "$claim"; [ -n "$holder" ]; }
open_machine() {
  case $1 in '' | .* | *[!A-Za-z0-9._-]*) die "claim '$1': use letters, digits, '.', '_' and '-'" ;; esac
  id=$1
  machine=$HOME/${MACHINE_FOLDER}
  claim=$machine/${CLAIM_FILE}
  ended=$machine/${ENDED_FOLDER}
  mkdir -p -m 700 "$machine" && mkdir -p "$ended" || die "cannot make $machine"
}

# claim ID BYTES JOB: stdin is the claim, whose first line is ID. The same again is the same claim.
verb_claim() {
  open_machine "$1"
  jobs=$HOME/${JOBS_FOLDER}
  mkdir -p "$jobs" && find "$ended" -type f -mtime +30 -delete 2>/dev/null
  find "$jobs" -type f -mtime +365 ! -name "$3" -delete 2>/dev/null
  new=$machine/new.$$
  # Of a host that lost its power behind the link, it is the claim that stands, by its other name: to write there would change it.
  rm -f "$new"
  take "$2" "$new" || { rm -f "$new"; die 'the claim did not come whole'; }
  sync "$new" 2>/dev/null
  said=taken
  if [ -e "$ended/$id" ]; then said=ended
  elif ln "$new" "$claim" 2>/dev/null; then
    said=claimed
    # Who gives it back marks it before it looks: one of the two sees the other.
    [ ! -e "$ended/$id" ] || { rm -f "$claim"; said=ended; }
    sync "$machine" 2>/dev/null
  elif cmp -s "$new" "$claim"; then said=claimed
  fi
  rm -f "$new"
  # Before anything of the job is laid down here; a machine that lost its power behind the link has it at the repetition.
  [ "$said" != claimed ] || [ -e "$jobs/$3" ] || : > "$jobs/$3"
  say "$said"
  [ $said != taken ] || cat "$claim"
}

# holder ID: the claim as it is, and whether ID is given back.
verb_holder() {
  open_machine "$1"
  if [ -e "$ended/$id" ]; then say ended; else say open; fi
  [ ! -f "$claim" ] || cat "$claim"
}

# vacate ID GRACE_MS: nothing of ID begins any more, and what runs is ended, a line for each of the first; then the claim goes.
verb_vacate() {
  open_machine "$1"
  : > "$ended/$id" && sync "$ended" 2>/dev/null
  [ -e "$ended/$id" ] || die "cannot write in $ended"
  held_by && [ "$holder" = "$id" ] || { say vacated; return; }
  clear_runs "$2"
  # What passed the fence before the mark, and began after the look.
  sleep 0.3
  clear_runs 0
  end_leaked
  # Another worker may have done the same, and another claim may have come since.
  exec 9> "$machine/lock"
  flock 9
  held_by && [ "$holder" = "$id" ] && rm -f "$claim"
  sync "$machine" 2>/dev/null
  say vacated
}

# leave ID GRACE_MS: as vacate, and takes away what the runner has laid down: the machine is somebody's, and was lent. What is left is
# the mark that ID is over, for a claim that comes late. The home itself, and another claim's machine, stay as they are.
verb_leave() {
  verb_vacate "$1" "$2"
  ! held_by || return 0
  for each in runs epochs modules outputs inputs files tools ending starts.log machine/jobs; do rm -rf "\${base:?}/$each"; done
  rm -rf "$base"/runner-*.sh "$base"/smi.* "$base"/kernel.* "$base"/stacks.* "$machine/lock" "$machine"/new.*
  say left
}

# What the login user runs on the accelerators since the claim, and no run knows any more: it dropped its environment, its session and
# its parents. Where root logs in nothing is ended: a service or an administrator runs as root too.
end_leaked() {
  [ "$(id -u)" != 0 ] && claimed_at=$(date -r "$claim" +%s%3N 2>/dev/null) || return 0
  own_gpus=
  set -- $(devices_of TPU) $(devices_of NVIDIA)
  [ ! -e /dev/kfd ] || set -- "$@" /dev/kfd
  [ $# -gt 0 ] && look_who "$@" && [ -n "$busy" ] || return 0
  claim_age=$(($(now_ms) - claimed_at)) leaked=
  for pid in $(printf '%s\\n' "$users" | grep -o '^[0-9]*' | sort -u); do
    [ "$(stat -c %u "/proc/$pid" 2>/dev/null)" = "$(id -u)" ] && has_open "$pid" "$@" || continue
    age=$(($(uptime_ms) - $(start_time "$pid") * 1000 / $(getconf CLK_TCK)))
    [ $age -gt $claim_age ] || leaked="$leaked $pid"
  done
  [ -n "$leaked" ] || return 0
  name_ended $leaked
  kill -TERM $leaked 2>/dev/null
  for look in 1 2 3 4 5 6 7 8 9 10; do kill -0 $leaked 2>/dev/null || return 0; sleep 0.2; done
  kill -KILL $leaked 2>/dev/null
}
# has_open PID FILE..: the driver's number may be of another PID namespace, and another's here.
has_open() {
  held=$(readlink "/proc/$1/fd/"* 2>/dev/null)
  shift
  for file in "$@"; do printf '%s\\n' "$held" | grep -qxF "$file" && return; done
  return 1
}

# name_ended PID..: a line for each of the first, as others may read it, before it is ended.
name_ended() {
  [ $# -gt 0 ] || return 0
  user=$(id -un 2> /dev/null) || user=$(id -u)
  pids=$*
  list_left | tail -n +2 | shown_left | while read -r pid line; do say "ended: $pid $user $line"; done
}

clear_runs() {
  (verb_modules_stop) > /dev/null
  for each in "$base"/runs/*/; do
    [ -d "$each" ] || continue
    each=\${each%/}
    run_id=\${each##*/}
    name_ended $(members "JOBCTL_RUN_DIR=$each" | sort -n)
    (verb_stop "$run_id" "$1" '{"v":1,"cause":"cancel","reason":"the machine is given back","graceSeconds":'$(($1 / 1000))'}') > /dev/null || exit 70
    # Its outputs are stored, or went with the machine as they do with a VM.
    rm -rf "$each" "$base/outputs/\${run_id%-a*}" "$base/inputs/\${run_id%-a*}"
  done
}

# inspect MAKER COUNT MINIMUM_KB GPUS: a line for each thing that is wrong, who else uses its accelerators, what is odd, and each GPU's
# name and uuid. MAKER '-': it has no accelerator. COUNT 'any': however many it has. GPUS: the only ones that may be used ('0,1', or
# their uuids); '': all. stdin: the operator's check.
verb_inspect() {
  own_gpus=$(printf '%s' "$4" | tr , ' ')
  free=$(df -Pk "$HOME" | awk 'NR == 2 { print $4 }')
  [ "\${free:-0}" -ge "$3" ] || say "problem: \${free:-0} KiB are free in $HOME, and $3 are needed"
  case $1 in
    -) for maker in $MAKERS; do
        set -- $(devices_of $maker)
        [ $# -eq 0 ] || say "warning: it has $# $maker devices ($*), and the pool file says none: a job without accelerators may use them"
      done ;;
    *) inspect_devices "$1" "$2" ;;
  esac
  check=$(cat)
  [ -n "$check" ] || { say inspected; return; }
  answer=$(printf '%s\\n' "$check" | timeout 60 sh -s 2>&1)
  code=$?
  [ $code -eq 0 ] || say "problem: its check ended with code $code: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300)"
  say inspected
}

MAKERS='TPU NVIDIA AMD'
# Where their device files are.
globs_of() {
  case $1 in
    TPU) echo '/dev/accel[0-9]* /dev/vfio/[0-9]*' ;;
    NVIDIA) echo '/dev/nvidia[0-9]*' ;;
    AMD) echo '/dev/dri/renderD*' ;;
  esac
}
# Those files. A render node may also be another maker's graphics.
devices_of() {
  for file in $(globs_of "$1"); do
    [ -e "$file" ] || continue
    [ "$1" != AMD ] || [ "$(cat "/sys/class/drm/\${file##*/}/device/vendor" 2>/dev/null || echo 0x1002)" = 0x1002 ] || continue
    echo "$file"
  done
}

# inspect_devices MAKER COUNT
inspect_devices() {
  maker=$1 wanted=$2
  set -- $(devices_of "$maker")
  [ "$wanted" != any ] || [ $# -gt 0 ] || return 0
  [ "$wanted" = any ] || [ $# -eq "$wanted" ] || { say "problem: it has $# $maker devices ($(globs_of "$maker")), and the pool file says $wanted"; return; }
  [ "$maker" != NVIDIA ] || inspect_nvidia "$wanted" || return
  [ "$maker" != AMD ] || set -- /dev/kfd
  if ! look_who "$@"; then say "problem: it cannot be seen who uses its accelerators: $unseen"
  elif [ -n "$busy" ]; then say "busy: accelerator devices are in use by process $busy"
  fi
  [ -z "$unseen" ] || [ -n "$busy" ] || say "warning: who uses its accelerators is seen in part: $unseen"
}

inspect_nvidia() {
  find_smi || { say 'problem: nvidia-smi is not there: install the NVIDIA driver'; return 1; }
  ask_smi -L || { say "problem: nvidia-smi -L $answer"; return 1; }
  seen=$(printf '%s\\n' "$answer" | grep -c '^GPU ')
  printf '%s\\n' "$answer" | sed -n 's/^GPU [0-9]*: .*(UUID: *\\([^ )]*\\)).*$/\\1/p' | while read -r uuid; do say "uuid: $uuid"; done
  ! printf '%s\\n' "$answer" | grep -q '^ *MIG ' || say 'warning: MIG is on: jobs get whole GPUs, and a CUDA program sees one MIG device alone: sudo nvidia-smi -mig 0'
  [ "$seen" -eq "$1" ] || { say "problem: nvidia-smi -L lists $seen GPUs, and the pool file says $1"; return 1; }
  printf '%s\\n' "$answer" | sed -n 's/^GPU [0-9]*: \\(.*\\) (UUID.*$/\\1/p' | sort -u | while read -r name; do say "gpu: $name"; done
}
`;

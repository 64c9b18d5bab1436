import { OUTPUTS_PROGRAM } from './outputs-program.js';

/**
 * Stores the files that a command leaves on its host (docs/adr/0059). `keep` is one process beside the supervisor, which stores
 * them periodically, on a notice, and once more when the command has ended; `outputs` reports its state. The exit record never
 * waits for it. If a host stores through its worker (docs/adr/0129), the worker's call `deliver` is that process.
 */
export const OUTPUTS = `
outputs_program() { cat << 'JOBCTL_END'
${OUTPUTS_PROGRAM}
JOBCTL_END
}

# Into outputs_as who stores: nothing of a run without outputs.
who_stores() {
  outputs_as=
  [ ! -f "$run/plan" ] || . "$run/plan"
  [ -z "$outputs_as" ] || mkdir -p "$run/outputs"
}

# keep ID: one process for each run; a second one ends at once.
verb_keep() {
  open_run "$1"
  who_stores
  case $outputs_as in '' | worker) return 0 ;; esac
  exec 7>> "$run/outputs/lock"
  flock -n 7 || return 0
  keep_outputs
}

# deliver ID: the same, for as long as this call lasts. Of two callers the later one is the worker that lives.
verb_deliver() {
  open_run "$1"
  attend
  printf '\\001jobctl-follow\\n'
  who_stores
  [ "$outputs_as" = worker ] && [ ! -f "$run/outputs/settled" ] || { echo settled; return; }
  exec 7>> "$run/outputs/lock"
  until flock -n 7; do
    [ ! -f "$run/outputs/pid" ] || { read -r keeper < "$run/outputs/pid" && kill -KILL "$keeper" 2> /dev/null; }
    sleep 0.1
  done
  rm -f "$run/outputs/pid"
  keep_outputs
}

keep_outputs() {
  export run id outputs_object outputs_manifest outputs_as outputs_every outputs_place outputs_dir outputs_base outputs_patterns outputs_whole
  # A system that shuts down sends SIGTERM to all: what is being stored then is what is wanted most.
  trap '' TERM HUP
  exec bash --norc -c "$(outputs_program)" jobctl-outputs
}

# outputs ID: of a command that has ended; what is not stored yet is stored from now on, whoever has died meanwhile.
verb_outputs() {
  open_run "$1"
  attend
  who_stores
  [ -n "$outputs_as" ] || { say 'outputs {"state":"none"}'; return; }
  : > "$run/outputs/end"
  wake_keeper || [ "$outputs_as" = worker ] || [ -f "$run/outputs/settled" ] || setsid -f sh "$0" keep "$id" < /dev/null > /dev/null 2>&1
  told='{"state":"storing"}'
  [ ! -s "$run/outputs/state" ] || read -r told < "$run/outputs/state"
  say "outputs $told"
}

# Has it store now. Fails where there is none: its lock is free.
wake_keeper() {
  [ -f "$run/outputs/pid" ] && ! flock -n "$run/outputs/lock" true && read -r keeper < "$run/outputs/pid" || return 1
  : > "$run/outputs/wake"
  kill -USR1 "$keeper" 2> /dev/null
}

# Before the command. In a container its user may be anybody.
make_output_dir() {
  [ -n "$outputs_dir" ] || return 0
  mkdir -p "$outputs_dir" || return 1
  [ -z "$container" ] || chmod 777 "$outputs_dir"
  export JOBCTL_OUTPUT_DIR="$outputs_dir"
}
`;

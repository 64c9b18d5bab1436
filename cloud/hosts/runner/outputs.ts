import { OUTPUTS_PROGRAM } from './outputs-program.js';

/**
 * What a command leaves on its host (docs/adr/0059): `keep` is one process beside the supervisor, which stores it every so often, on a
 * notice, and once more when the command has ended; `outputs` says how far it is. The exit record never waits for it.
 */
export const OUTPUTS = `
outputs_program() { cat << 'JOBCTL_END'
${OUTPUTS_PROGRAM}
JOBCTL_END
}

# keep ID: one process for each run; a second one ends at once.
verb_keep() {
  open_run "$1"
  outputs_manifest=
  [ ! -f "$run/plan" ] || . "$run/plan"
  [ -n "$outputs_manifest" ] && mkdir -p "$run/outputs" || return 0
  exec 7>> "$run/outputs/lock"
  flock -n 7 || return 0
  export run id outputs_object outputs_manifest outputs_as outputs_every outputs_place outputs_dir outputs_base outputs_patterns outputs_whole
  # A system that shuts down sends SIGTERM to all: what is being stored then is what is wanted most.
  trap '' TERM HUP
  exec bash --norc -c "$(outputs_program)" jobctl-outputs
}

# outputs ID: of a command that has ended; what is not stored yet is stored from now on, whoever has died meanwhile.
verb_outputs() {
  open_run "$1"
  attend
  outputs_manifest=
  [ ! -f "$run/plan" ] || . "$run/plan"
  [ -n "$outputs_manifest" ] || { say 'outputs {"state":"none"}'; return; }
  mkdir -p "$run/outputs" && : > "$run/outputs/end"
  wake_keeper || [ -f "$run/outputs/settled" ] || setsid -f sh "$0" keep "$id" < /dev/null > /dev/null 2>&1
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

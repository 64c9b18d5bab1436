import { VM_TOKEN } from '../../../domain/modules/host-scripts.js';
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

/**
 * Objects that a host writes directly into the store, independently of the worker's connection. During a run it repeats its sign
 * of life (docs/adr/0046). The number in it counts the signs that the store took, so from 2 on the host has shown that it may
 * also replace the object. At the end of a run it writes its exit record once (docs/adr/0058). A host that cannot (no curl, no
 * right, no route to the store) writes neither, and nothing else changes.
 */
export const HOST_OBJECTS = `${VM_TOKEN}
# sign ID SUPERVISOR: begins a while after the start, since most commands that fail do so at once.
verb_sign() {
  open_run "$1"
  sign_url=
  . "$run/plan"
  [ -n "$sign_url" ] && command -v curl > /dev/null || return 0
  signs=0
  sleep "$sign_after"
  while kill -0 "$2" 2>/dev/null && [ ! -f "$run/exit" ]; do
    put_object "$sign_url" "$sign_as" '{"v":1,"run":"'"$id"'","signs":'$((signs + 1))'}' && signs=$((signs + 1))
    sleep "$sign_every"
  done
}

# publish STATE: the exit record, for workers that never reach this host again. Beside the supervisor, whose lock others wait for. All
# that it says comes from variables: a disk that has become full, read-only or empty meanwhile must not make it a record of nothing,
# which no later one could replace.
publish() {
  case $1 in 'exited '[0-9]*) ;; *) return 0 ;; esac
  [ -n "\${exit_url:-}" ] && command -v curl > /dev/null || return 0
  pause=1
  until put_object "$exit_url" "$exit_as" '{"v":1,"run":"'"$id"'","state":"'"$1"'","proof":"'"\${exit_proof:-}"'"}'; do
    [ $pause -le 64 ] || return 0
    sleep $pause
    pause=$((pause * 2))
  done
}

# URL AS BODY. URL and token go to curl on its stdin: neither is in a command line that others on the host may read.
# 412: it is there already, of an earlier try whose answer was lost.
put_object() {
  config="url = \\"$1\\""
  if [ "$2" = service-account ]; then
    token=$(vm_token)
    [ -n "$token" ] || return 1
    config="$config
header = \\"Authorization: Bearer $token\\""
  fi
  said=$(printf '%s\\n' "$config" | curl --config - --silent --globoff --connect-timeout 5 --max-time 30 --output /dev/null \\
    --write-out '%{http_code}' --header 'Content-Type: application/json' --data-binary "$3") || return 1
  case $said in 2?? | 412) return 0 ;; *) return 1 ;; esac
}
`;

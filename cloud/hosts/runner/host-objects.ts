import { VM_TOKEN } from '../../../domain/modules/host-scripts.js';

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

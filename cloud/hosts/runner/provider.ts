/**
 * The differences in a pod, whose first process is jobctl's agent (cloud/machines/kubernetes/pod-template.ts): the agent is told
 * when the pod ends, and the container's memory has a limit, whose kills the kernel counts.
 */
const POD = `
in_pod() { [ -f /jobctl/agent ]; }
pod_condition() { [ -f "$base/ending" ] && echo stopping || echo up; }

# How many processes of this container the kernel has killed for want of memory, by cgroup v2 or v1; nothing where it cannot say.
memory_kills() {
  in_pod || return 0
  for events in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$events" ] || continue
    while read -r word count; do [ "$word" != oom_kill ] || { echo "$count"; return; }; done < "$events"
  done
}

# Since the command began; '-' for none.
kills_since() {
  before= now=$(memory_kills)
  [ ! -f "$run/memory-kills" ] || read -r before < "$run/memory-kills"
  [ -n "$before" ] && [ -n "$now" ] && [ "$now" -gt "$before" ] && echo $((now - before)) || echo -
}

# terminating ID SECONDS: the agent was told to end. As before a preemption: notice, hook, SIGTERM.
verb_terminating() {
  open_run "$1"
  [ -f "$run/begun" ] && [ ! -f "$run/exit" ] || return 0
  # The agent sends SIGTERM to all in the end.
  trap '' TERM
  # One of a stop stays.
  [ -f "$run/stop" ] ||
    put_line "$run/notice" '{"v":1,"cause":"preemption","reason":"the pod is ended: its first process was told to end","graceSeconds":'"$2"'}'
  { true > "$run/told"; } 2> /dev/null
  wake_keeper
  save_first preemption "$(($2 * 1000))"
  tell_to_end "$mark"
}
`;

/**
 * The provider's facts about a host, from its metadata server and its system. They are read when a command ends, for its exit
 * record (docs/adr/0040), and watched while it runs, for its notice (docs/adr/0041). Google's metadata server answers
 * `instance/?recursive=true` with everything that is needed here, and delays the answer until something changes
 * (`wait_for_change`).
 */
export const PROVIDER = `
# By bash, which every command needs: an image may have neither curl nor python. HTTP/1.0 ends with the answer.
ASK_METADATA='place=\${GCE_METADATA_HOST:-169.254.169.254}
case $place in *:*) port=\${place##*:} place=\${place%:*} ;; *) port=80 ;; esac
exec 3<> "/dev/tcp/$place/$port" || exit 1
printf "GET /computeMetadata/v1/instance/?recursive=true&alt=json%s HTTP/1.0\\\\r\\\\nHost: %s\\\\r\\\\nMetadata-Flavor: Google\\\\r\\\\n\\\\r\\\\n" "$1" "$place" >&3
exec cat <&3'

# SECONDS [PARAMETERS]: into 'preempted', 'maintenance' and 'etag'. Fails where no metadata server of Google's answers in time.
ask_metadata() {
  answer=$(timeout --foreground -k 1 "$1" bash -c "$ASK_METADATA" jobctl "\${2:-}" 2>/dev/null | tr -d '\\r') || return 1
  case $answer in 'HTTP/1.'?' 200'*[Mm]etadata-[Ff]lavor:' Google'*) ;; *) return 1 ;; esac
  case $answer in
    *'"preempted":"TRUE"'*) preempted=TRUE ;;
    *'"preempted":"FALSE"'*) preempted=FALSE ;;
    *) return 1 ;;
  esac
  case $answer in *'"maintenanceEvent":"NONE"'* | *'"maintenanceEvent":""'*) maintenance= ;; *'"maintenanceEvent":"'*)
    maintenance=\${answer##*'"maintenanceEvent":"'} maintenance=\${maintenance%%\\"*} ;;
  *) maintenance= ;; esac
  etag=$(printf '%s\\n' "$answer" | sed -n '1,/^$/s/^[Ee][Tt][Aa][Gg]: *//p')
}

# systemd says 'stopping' from before it ends its first process.
system_is() {
  case $(timeout --foreground -k 1 2 systemctl is-system-running 2>/dev/null) in
    stopping) echo stopping ;;
    initializing | starting | running | degraded | maintenance) echo up ;;
    *) echo unknown ;;
  esac
}

# How this host is now: up, stopping, preempted, or '-' where it cannot say. Where the watch heard of no metadata server there is
# none to ask, and its system's word is enough.
host_condition() {
  # A pod's agent is told of its end; a pod has no system, and no metadata server that would say so (docs/adr/0066).
  if in_pod; then pod_condition; return; fi
  preempted=unknown found=
  [ ! -f "$run/metadata" ] || read -r found < "$run/metadata"
  # The watch has heard it already. It is never taken back, and a host that shuts down may not answer in time.
  [ "$found" != preempted ] || { echo preempted; return; }
  [ "$found" = none ] || ask_metadata 2
  # After the other: what is no more than a moment old must not hide what came since.
  system=$(system_is)
  if [ "$preempted" = TRUE ]; then echo preempted
  elif [ "$system" = stopping ]; then echo stopping
  elif [ "$system" = up ] && { [ "$preempted" = FALSE ] || [ "$found" = none ]; }; then echo up
  else echo -
  fi
}

# SOURCE JSON: what $JOBCTL_WARNING_FILE points to, while the metadata server (host) or the API (api) warns. Empty: this source
# warns no more, and the other may still.
put_warning() {
  if [ -n "$2" ]; then put_line "$run/warning.$1" "$2"; else rm -f "$run/warning.$1"; fi
  for source in api host; do
    [ ! -f "$run/warning.$source" ] || { put_line "$run/warning" "$(cat "$run/warning.$source")"; return; }
  done
  rm -f "$run/warning"
}

# watch ID SUPERVISOR: waits for the provider's word while the run lasts. One request waits at the metadata server all the time.
verb_watch() {
  open_run "$1"
  # A system that shuts down ends the wait too. What it is then told of first may be this.
  trap hurried=yes TERM
  etag= heard= seen= failures=0 hurried=no limit=5
  while kill -0 "$2" 2>/dev/null && [ ! -f "$run/exit" ]; do
    wait_for="&wait_for_change=true&timeout_sec=60&last_etag=$etag"
    [ -n "$etag" ] && [ $hurried = no ] || wait_for=
    if ask_metadata $limit "$wait_for"; then
      [ $limit = 90 ] || echo here > "$run/metadata"
      failures=0 limit=90
      # Nothing new: its time was over, or it does not know how to wait.
      [ "$etag" != "$heard" ] || [ $hurried = yes ] || sleep 1
      heard=$etag
      [ "$preempted" != TRUE ] || { tell_preemption; return; }
      if [ "$maintenance" != "$seen" ]; then
        seen=$maintenance
        if [ -z "$seen" ]; then put_warning host ''
        else put_warning host '{"v":1,"cause":"maintenance","reason":"the provider announces maintenance of this host ('"$seen"')"}'
        fi
      fi
    elif [ $hurried = no ]; then
      failures=$((failures + 1)) etag=
      if [ $limit = 5 ]; then
        echo none > "$run/metadata"
        # No machine of Google's: nobody will say anything.
        [ $failures -lt 3 ] || return 0
      fi
      sleep 10
    fi
    [ $hurried = no ] || [ -n "\${again:-}" ] || { again=yes; continue; }
    [ $hurried = no ] || return 0
  done
}

# Where the system shuts down already every process has had its SIGTERM.
tell_preemption() {
  # The same reaches whatever this starts: the notice would not be placed.
  trap '' TERM
  echo preempted > "$run/metadata"
  # One of a stop stays.
  [ -f "$run/stop" ] ||
    put_line "$run/notice" '{"v":1,"cause":"preemption","reason":"the provider takes this host back (instance/preempted)","graceSeconds":30}'
  { true > "$run/told"; } 2> /dev/null
  wake_keeper
  save_first preemption 30000
  [ "$(system_is)" != stopping ] || return 0
  if [ -f "$run/container" ]; then
    read -r container < "$run/container"
    find_docker
    $as_docker docker exec "$container" bash -c "$TERM_INSIDE" jobctl "$id" > /dev/null 2>&1
  fi
  tell_to_end "$mark"
}

${POD}
# warn ID [JSON]: what the API says beside the metadata server; nothing = no more. No signal: it may clear.
verb_warn() {
  open_run "$1"
  attend
  [ ! -f "$run/begun" ] || [ -f "$run/exit" ] || put_warning api "\${2:-}"
  say_state
}
`;

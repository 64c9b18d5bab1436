/**
 * Conditions for the start of a command: no process of an earlier attempt runs, no other process has the accelerators, no lock
 * file of an ended libtpu is left, and 100,000 open files are allowed. Globs, lock files and the wait come from the run's plan.
 */
export const BEFORE_COMMAND = `
# Fails when accelerators are busy for longer than the plan waits, and leaves who in 'blocked'. Who waits says so in 'waiting', unless
# it is over in a moment: a process that was just ended still holds its device. A GPU of the claim that is missing may come yet, after
# a boot; else it is in 'gone' and the command is not begun.
await_devices() {
  rm -f "$run/blocked" "$run/gone"
  gone=
  set --
  for file in $devices; do [ -e "$file" ] && set -- "$@" "$file"; done
  [ "$#$claimed_gpus" != 0 ] && [ "$device_wait_ms" -gt 0 ] || return 0
  since=$(now_ms)
  until find_gone; [ -z "$gone" ] && look_who "$@" && [ -z "$busy" ]; do
    waits=\${busy:-$unseen}
    [ -z "$gone" ] || waits="GPU $gone is gone: $unseen"
    why=\${busy:+"are in use by process $busy"}
    : "\${why:=cannot be looked at: $unseen}"
    [ ! -f "$run/stop" ] || break
    if [ $(($(now_ms) - since)) -ge "$device_wait_ms" ]; then
      [ -n "$gone" ] || blocked "accelerator devices ($*) $why"
      break
    fi
    [ $(($(now_ms) - since)) -lt 2000 ] || put_line "$run/waiting" "$waits"
    sleep 0.5
  done
  rm -f "$run/waiting"
  [ ! -f "$run/stop" ] && [ ! -f "$run/blocked" ]
}

blocked() { put_line "$run/blocked" "$*"; }

# libtpu refuses to start beside this file where it may not open it. Locked by nobody, open nowhere: nobody's any more.
clear_lock_files() {
  for file in $lock_files; do
    [ -f "$file" ] || continue
    find_root
    grep -qs ":$(stat -c %i "$file") " /proc/locks || [ -n "$(holders "$file")" ] || $as_root rm -f "$file"
  done
}

# Before job $1 begins with epoch $2: whatever an earlier attempt of it left running on this host would run beside it.
end_earlier() {
  {
    cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -aF "JOBCTL_RUN_DIR=$base/runs/$1-a"
    limited_runs "$1"
  } | sort -u | while read -r other; do
    is_earlier "\${other#"JOBCTL_RUN_DIR=$base/runs/$1-a"}" "$2" && end_members "$other" 2000
  done
  for file in "$base/runs/$1-a"*/container; do
    attempt=\${file#"$base/runs/$1-a"}
    [ -f "$file" ] && is_earlier "\${attempt%/container}" "$2" || continue
    find_docker
    $as_docker docker rm -f "$(cat "$file")" > /dev/null 2>&1 && rm -f "$file"
  done
}
# The environment marks of the runs of job $1 whose limit some process has.
limited_runs() {
  limits=$(grep -hs "$LIMIT" /proc/[0-9]*/limits | awk '{ print substr($4, 2) }' | sort -u)
  [ -n "$limits" ] || return 0
  for each in "$base/runs/$1-a"*/; do
    each=JOBCTL_RUN_DIR=\${each%/}
    ! printf '%s\\n' "$limits" | grep -qx "$(limit_of "$each")" || echo "$each"
  done
}
is_earlier() { case $1 in '' | *[!0-9]*) return 1 ;; esac; [ "$1" -lt "$2" ]; }

raise_open_files() {
  [ "$(ulimit -S -n)" != unlimited ] && [ "$(ulimit -S -n)" -lt 100000 ] || return 0
  hard=$(ulimit -H -n)
  if [ "$hard" = unlimited ] || [ "$hard" -ge 100000 ]; then ulimit -S -n 100000; return; fi
  (ulimit -n 100000) 2>/dev/null && ulimit -n 100000 && return
  ulimit -S -n "$hard"
  [ "$hard" -ge 10000 ] ||
    echo "jobctl: a process can open $hard files on this host, not 100000"
}
`;

/**
 * Ends a run by the host's own clock: after its \`limit_ms\`, or if no worker has asked about it for its \`unattended_ms\`
 * (docs/adr/0049). The clock counts since the boot: it cannot be set, and no run survives a boot.
 */
export const GUARD = `
# A worker speaks of this run. In place, which a full disk allows too.
attend() { [ ! -f "$run/attended" ] || printf '%-20s\\n' "$(uptime_ms)" 1<> "$run/attended"; }

seconds_of() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# guard ID. Also of a run whose supervisor is gone.
verb_guard() {
  open_run "$1"
  while [ ! -f "$run/begun" ] || [ ! -f "$run/clock" ]; do
    held || return 0
    sleep 0.5
  done
  . "$run/plan"
  [ "$limit_ms" -gt 0 ] || [ "$unattended_ms" -gt 0 ] || return 0
  read -r clock_then begun_up < "$run/clock"
  while [ ! -f "$run/exit" ] && { held || lives; }; do
    heard_up=$begun_up
    read -r heard_up < "$run/attended"
    left=60000
    [ "$limit_ms" -eq 0 ] || until_ms "$((begun_up + limit_ms))" limit
    [ "$unattended_ms" -eq 0 ] || until_ms "$((heard_up + unattended_ms))" unattended
    sleep "$(seconds_of "$left")"
  done
}

# until_ms UPTIME WHY: no longer than until then is waited; it is over: the run is ended.
until_ms() {
  rest=$(($1 - $(uptime_ms)))
  [ "$rest" -gt 0 ] || { end_run "$2"; exit 0; }
  [ "$rest" -ge "$left" ] || left=$rest
}

end_run() {
  put_line "$run/ended-by" "$1"
  case $1 in unattended)
    put_line "$run/notice" '{"v":1,"cause":"unattended","reason":"no worker has spoken with this host for '$((unattended_ms / 1000))' s (max_unattended)","graceSeconds":'$((grace_ms / 1000))'}'
    save_first unattended "$hook_ms" ;;
  esac
  [ ! -f "$run/container" ] || stop_container "$grace_ms"
  end_members "$mark" "$grace_ms"
}
`;

/**
 * The hook \`preemption\` of a job (docs/adr/0048), which saves state before the command is told to end. It runs once per run,
 * started by the first that learns of the preemption: the watch, a stop for the pool, the supervisor, the guard. All others wait
 * for its end. A system that shuts down sends SIGTERM to every process. The processes that wait continue, and the hook ignores
 * the signal.
 */
export const SAVE_HOOK = `
# save_first CAUSE MOST_MS
save_first() {
  [ -s "$run/hook" ] && [ -f "$run/begun" ] && [ ! -f "$run/exit" ] || return 0
  (
    trap : TERM
    exec 7>> "$run/hook.lock"
    until flock 7; do sleep 0.1; done
    mkdir "$run/hooked" 2> /dev/null || exit 0
    . "$run/plan"
    [ "$hook_ms" -lt "$2" ] || hook_ms=$2
    began=$(uptime_ms)
    hook_says "begins (cause: $1), with $hook_ms ms"
    (trap '' TERM; run_hook "$1"; put_line "$run/hooked/code" $?) 7>&- < /dev/null >> "$run/output" 2>&1 &
    until [ -f "$run/hooked/code" ] || [ "$(($(uptime_ms) - began))" -ge "$hook_ms" ]; do sleep 0.1; done
    end_hook
    hook_says "$how after $(($(uptime_ms) - began)) ms"
  )
}

hook_says() { echo "jobctl: hook preemption $1" >> "$run/output"; }

# Into 'how'. All of its processes are killed where its time is over.
end_hook() {
  if [ -f "$run/hooked/code" ]; then read -r code < "$run/hooked/code" && how="ended with code $code"; return; fi
  how="was killed by its timeout,"
  while pids=$(members "JOBCTL_HOOK_RUN=$run"); [ -n "$pids" ]; do kill -KILL $pids 2> /dev/null; sleep 0.05; done
}

run_hook() {
  if [ -f "$run/container" ]; then
    read -r container < "$run/container"
    find_docker
    JOBCTL_HOOK_RUN=$run setsid -w $as_docker docker exec -e JOBCTL_HOOK=preemption -e "JOBCTL_HOOK_CAUSE=$1" "$container" bash -c '. "$0"' "$run/hook"
  else
    cd "$HOME" || cd /
    JOBCTL_OUTPUT_DIR=\${outputs_dir:-} JOBCTL_RUN_DIR=$run JOBCTL_RUN_ID=$id JOBCTL_NOTICE_FILE=$run/notice JOBCTL_WARNING_FILE=$run/warning \\
      JOBCTL_HOOK=preemption JOBCTL_HOOK_CAUSE=$1 JOBCTL_HOOK_RUN=$run setsid -w \\
      bash --norc -c "$TAKE_LIMIT" "$(limit_of "$mark")" bash --norc -c "$LOGIN_FILES$HOOK" "$run/hook"
  fi
}
HOOK='. "$JOBCTL_RUN_DIR/hook.env"; . "$0"'

# The end of a hook that is under way. It has a timeout of its own.
await_hook() { [ ! -f "$run/hook.lock" ] || until flock "$run/hook.lock" true; do sleep 0.1; done; }
`;

/**
 * The hook \`preemption\` of a job (docs/adr/0048), which saves state before the command is told to end. It runs once per run,
 * started by the first that learns of the preemption: the watch, a stop for the pool, the supervisor, the guard. All others wait
 * for its end. A system that shuts down sends SIGTERM to every process: these processes continue, and the hook ignores it.
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
      JOBCTL_HOOK=preemption JOBCTL_HOOK_CAUSE=$1 JOBCTL_HOOK_RUN=$run setsid -w bash --norc -c "$LOGIN_FILES$HOOK" "$run/hook"
  fi
}
HOOK='. "$JOBCTL_RUN_DIR/hook.env"; . "$0"'

# The end of a hook that is under way. It has a timeout of its own.
await_hook() { [ ! -f "$run/hook.lock" ] || until flock "$run/hook.lock" true; do sleep 0.1; done; }
`;

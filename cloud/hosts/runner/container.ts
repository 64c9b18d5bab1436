/**
 * Handles processes that still run when the command's shell has ended with code 0 (docs/adr/0122): it waits for them, or ends
 * them and names them in the output and in the exit record. `$run/left` holds their number, then a line `PID COMMAND LINE` for
 * each of the first.
 */

/** Time for leftover processes to end by themselves. Python's resource trackers end within a second of their program. */
const PATIENCE_SECONDS = 5;
/** Limits that fit into the reserved place of the exit record. */
const MOST_NAMED = 3;
const MOST_BYTES = 160;

export const LEFT_BEHIND = `
# Nobody has told the command to end.
ended_alone() { [ "$code" = 0 ] && [ "$terminated" = no ] && [ ! -f "$run/stop" ] && [ ! -f "$run/ended-by" ]; }

# Into 'pids', the oldest first. The shell's session too, where a process without our mark may be: so soon after the shell
# its number cannot be another session's.
find_left() { pids=$(session=$begun_pid; members "$mark" | sort -n); [ -n "$pids" ]; }

await_left() {
  # The hook's processes bear our mark.
  await_hook
  begun_pid=
  read -r begun_boot begun_pid begun_start supervisor started 2> /dev/null < "$run/begun"
  patient=$(($(uptime_ms) + ${PATIENCE_SECONDS}000)) told=no
  while ended_alone && find_left; do
    if [ "$(uptime_ms)" -lt "$patient" ]; then sleep 0.1
    elif [ "$wait_for" = all ]; then
      [ $told = yes ] || left_says "the command's shell has ended with code 0; waiting for what it has started, whose exit codes are not known (command.wait_for: all):" "$(list_left | shown_left)"
      told=yes
      sleep 1
    else
      list_left > "$run/left"
      # In a shell of its own: it is all that may end a session by its number.
      (session=$begun_pid; end_members "$mark" "$grace_ms")
      return 0
    fi
  done
}

list_left() {
  set -- $pids
  echo $#
  for pid; do
    line=$(head -c 1000 "/proc/$pid/cmdline" | tr '\\0\\n' '  ')
    # One that has ended meanwhile takes nobody's place.
    [ -n "$line" ] || read -r line < "/proc/$pid/comm" || continue
    printf '%s %s\\n' "$pid" "$line"
  done 2> /dev/null | head -n ${MOST_NAMED}
}

# As others may read it: a command line may hold what its writer took from a secret.
shown_left() {
  head -c 10000 | head -n ${MOST_NAMED + 1} | LC_ALL=C tr -d '\\000-\\011\\013-\\037\\177' |
    sed -e 's/\\(token\\|key\\|secret\\|passw[a-z]*\\|credentials*\\)\\([= ]\\)[^ ]*/\\1\\2***/Ig' \\
      -e 's/\\(hf_\\|gh[pousr]_\\|github_pat_\\|sk-\\|AKIA\\)[A-Za-z0-9_-]\\{10,\\}/\\1***/g' | LC_ALL=C cut -c1-${MOST_BYTES} | sed 's/ *$//'
}

# left_says WORDS LIST: into the output.
left_says() {
  {
    echo "jobctl: $1"
    printf '%s\\n' "$2" | sed -e 1d -e 's/^/jobctl:   /'
    many=$(printf '%s\\n' "$2" | head -n 1)
    [ "$many" -le ${MOST_NAMED} ] || echo "jobctl:   and $((many - ${MOST_NAMED})) more"
  } >> "$run/output" 2> /dev/null
}

# What was ended of the run, in base64 into 'left', '-' for nothing.
tell_left() {
  left=-
  [ -s "$run/left" ] || return 0
  seen=$(shown_left < "$run/left")
  left_says "the command's shell has ended with code 0, and what it had started still ran and was ended (command.wait_for: all waits for it):" "$seen"
  left=$(printf '%s\\n' "$seen" | base64 -w 0)
}
`;

/**
 * The same inside a container, run by its first process, in bash without any other program: `$1` is the run's folder, `$2` all or
 * shell, `$3` the grace in ms, `code` the shell's exit code. Processes that `docker exec` has started have no parent here. A
 * container without its own PID namespace has no such first process (docs/adr/0122).
 */
const LEFT_IN_CONTAINER = [
  'ours() { local at=$1; while [ "${up[$at]:-0}" -gt 1 ]; do at=${up[$at]}; done; [ "${up[$at]:-0}" = 1 ]; }',
  'find_left() { local each stat fields; local -A up=(); pids=(); for each in /proc/[0-9]*; do stat=(); mapfile -d "" -t stat < $each/stat; fields=(${stat##*) }); ' +
    'case ${fields:-Z} in Z | X) ;; *) up[${each#/proc/}]=${fields[1]} ;; esac; done; ' +
    'for each in "${!up[@]}"; do ! ours $each || pids+=($each); done; [ ${#pids[@]} -gt 0 ]; }',
  'list_left() { echo ${#pids[@]}; local pid line words named=0; for pid in "${pids[@]}"; do words=(); mapfile -d "" -t words < /proc/$pid/cmdline; ' +
    `[ \${#words[@]} -gt 0 ] || continue; [ $((named += 1)) -le ${MOST_NAMED} ] || break; ` +
    'line="$pid ${words[*]}"; line=${line//$\'\\n\'/ }; printf "%s\\n" "${line:0:1000}"; done; }',
  'waiting() { [ ! -f "$run/stop" ] && [ ! -f "$run/ended-by" ] && find_left; }',
  'run=$1; exec 4<> <(:); nap() { read -rt 0.2 -u 4; }',
  `if [ $code = 0 ]; then patient=$((SECONDS + ${PATIENCE_SECONDS}))`,
  'while waiting && [ $SECONDS -le $patient ]; do nap; done',
  `if [ "$2" = all ]; then ! waiting || echo "jobctl: the command's shell has ended with code 0; waiting for what it has started (processes: \${#pids[@]}), whose exit codes are not known (command.wait_for: all)"; while waiting; do nap; done`,
  'elif waiting; then list_left > "$run/left"; kill -TERM "${pids[@]}"; limit=$((SECONDS + ($3 + 999) / 1000)); while find_left && [ $SECONDS -lt $limit ]; do nap; done; fi; fi',
].join('; ');

/** Sets `as_docker`: empty for `docker`, or sudo if the login user is not in docker's group yet. */
export const FIND_DOCKER = `
find_docker() {
  as_docker=
  timeout 20 docker ps -q > /dev/null 2>&1 || ! sudo -n timeout 20 docker ps -q > /dev/null 2>&1 || as_docker='sudo -n'
}
`;

/**
 * Runs a command in a container: created, marked as begun, then started, so that a start is never repeated. Its output goes from
 * inside to the run's output, and its exit code is read by the container's name: neither needs a living docker client.
 */
export const CONTAINER = `${FIND_DOCKER}
# Into 'container_is' docker's word for its state, 'gone' or 'unknown' (no daemon, or one that hangs), and its exit code
# into 'container_code'.
look_at_container() {
  if seen=$($as_docker timeout 20 docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$container" 2>&1); then
    container_is=\${seen%% *} container_code=\${seen##* }
  else
    case $seen in *'No such'*) container_is=gone ;; *) container_is=unknown ;; esac
  fi
}

container_lives() {
  look_at_container
  case $container_is in running | paused | restarting | unknown) ;; *) return 1 ;; esac
}

# A container of this name that has not begun was never started.
create_container() {
  find_docker
  printf '%s\\n' "$container" > "$run/container"
  : > "$run/left"
  : >> "$run/metrics"
  chmod 666 "$run/output" "$run/left" "$run/metrics" && chmod 644 "$run/script" "$run/hook"
  $as_docker docker rm -f "$container" > /dev/null 2>&1
  with_container create_with 8>&- 9>&- 2> "$run/created"
  created=$?
  rm -f "$run/env" "$run/env.list"
  cat "$run/created"
  [ $created -eq 0 ] || rm -f "$run/container"
  [ $created -eq 0 ] || ! grep -qiE 'cannot connect to the docker daemon|permission denied .*docker' "$run/created" || {
    blocked "docker does not answer: $(tr '\\n' ' ' < "$run/created")"
    exit 75
  }
  return $created
}

# The environment by file; what such a file cannot hold (newlines) by the client's own. Never in the words of a process.
create_with() {
  $as_docker sh -c '. "$0" && exec docker create "$@"' "$run/env" --env-file "$run/env.list" "$@" > /dev/null
}

# The lock is held until it has started, so that nobody takes a created one for one that will never be.
start_container() {
  $as_docker docker start "$container" 9>&- > /dev/null || exit 125
  exec 9>&-
  # What an image's entry point prints before the command.
  exec $as_docker docker logs -f "$container"
}

# The exit code into 'code', which was the starter's, whatever became of the clients. Fails where there is none.
await_container() {
  read -r container < "$run/container"
  find_docker
  while container_lives; do $as_docker docker wait "$container" > /dev/null 2>&1 || sleep 1; done
  case $container_is in
    exited | dead) code=$container_code ;;
    created) [ "$container_code" = 0 ] || code=$container_code; [ "$code" -gt 0 ] && [ "$code" -le 128 ] ;;
    *) return 1 ;;
  esac
}

# Whose exit record is on the disk, or which never began.
remove_container() { $as_docker docker rm -f "$container" > /dev/null 2>&1 && rm -f "$run/container"; }

# SIGTERM to every process inside, up to $1 ms of grace, SIGKILL. Where it has no processes of its own (--pid=host), by mark.
stop_container() {
  read -r container < "$run/container"
  find_docker
  if container_lives; then
    [ "$container_is" != unknown ] || die "stop of $id: docker does not answer: $seen"
    [ "$container_is" != paused ] || $as_docker docker unpause "$container" > /dev/null 2>&1
    limit=$(($(now_ms) + $1))
    if $as_docker docker exec "$container" bash -c "$TERM_INSIDE" jobctl "$id" > /dev/null 2>&1; then
      while [ "$(now_ms)" -lt "$limit" ] && container_lives; do sleep 0.1; done
    else
      end_members "$mark" "$1"
      $as_docker docker stop -t $((($1 + 999) / 1000)) "$container" > /dev/null 2>&1
    fi
    $as_docker docker kill "$container" > /dev/null 2>&1
    limit=$(($(now_ms) + 20000))
    while container_lives; do
      [ "$(now_ms)" -lt "$limit" ] || die "stop of $id: container $container cannot be killed: $seen"
      sleep 0.2
    done
  fi
}

# Signals what the first process inside can be shown to be ours to signal: with --pid=host the first one is the host's own.
TERM_INSIDE='mapfile -d "" -t words < /proc/1/environ || exit 3
for word in "\${words[@]}"; do [ "$word" != "JOBCTL_RUN_ID=$1" ] || { kill -TERM -1; exit 0; }; done
exit 3'
`;

/**
 * The container's own first process; `$1` is the run's folder. It stays the first process and the command is its child, because a
 * first process ignores signals that it does not handle. Without its own PID namespace (--pid=host) it becomes the command, and
 * it does not look for leftover processes: a process with its mark may be the one that started it. `$2` and `$3`: see
 * LEFT_IN_CONTAINER. One line, because `docker ps` shows it.
 */
export const CONTAINER_ENTRY = [
  'exec >> "$1/output" 2>&1 || exit 126',
  'soft=$(ulimit -S -n)',
  '[ "$soft" = unlimited ] || [ "$soft" -ge 100000 ] || ulimit -S -n 100000 2> /dev/null || ulimit -S -n "$(ulimit -H -n)"',
  `[ $$ = 1 ] || exec bash -c '. "$0"' "$1/script"`,
  'exec 3>&2 2> /dev/null',
  `bash -c '. "$0"' "$1/script" 2>&3 3>&-`,
  'code=$?',
  LEFT_IN_CONTAINER,
  'exit $code',
].join('; ');

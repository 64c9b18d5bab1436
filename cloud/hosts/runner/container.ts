import { LEFT_IN_CONTAINER } from './left-behind.js';

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
  chmod 666 "$run/output" "$run/left" && chmod 644 "$run/script" "$run/hook"
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

# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by docker: run, create and start. The options are read into the container's folder, then run-container.sh has it.

# Options without effect here: the things that they limit or open do not exist. (The sentence of docker says so.)
FLAGS='--privileged --read-only --oom-kill-disable --no-healthcheck --quiet -q --publish-all -P --init'
WITH_VALUE='--net --network --shm-size --ulimit --cap-add --cap-drop --security-opt --device --ipc --pid --uts --log-driver
--log-opt --memory -m --memory-swap --memory-reservation --cpus --cpuset-cpus --cpu-shares --user -u --group-add --platform
--userns --cgroupns --publish -p --expose --add-host --dns --stop-signal --sysctl --annotation --pids-limit --hostname -h'

container_create() { detach=1; read_options "$@"; put "$id" state created; echo "$id"; }

container_run() {
  detach='' interactive='' terminal='' remove=''
  read_options "$@"
  [ -n "$detach" ] || { [ -z "$terminal" ] || [ -z "$interactive" ] || [ -t 0 ] || { remove_container "$id"; echo 'the input device is not a TTY' >&2; exit 1; }; }
  # The process that sees the end removes the container: the monitor if it is detached, else the client.
  if [ -n "$remove" ]; then if [ -n "$detach" ]; then : >"$containers/$id/remove-detached"; else : >"$containers/$id/remove"; fi; fi
  launch
  if [ -n "$detach" ]; then echo "$id"; else attach; fi
}

container_start() {
  case ${1:-} in -a | --attach | -i | -ai) not_known "option $1 of start" ;; esac
  for word in "$@"; do
    id=$(find_container "$word") || { refused "No such container: $word"; exit 1; }
    is_running "$id" || { detach=1 interactive='' terminal=''; launch; }
    echo "$word"
  done
}

# Options in all of docker's forms: --name value, --name=value, -e value, -evalue, -dit.
read_options() {
  id=$(sha "$$ $(date +%s%N)") name='' entrypoint='' has_entrypoint='' pull=missing
  mkdir -p "$containers/$id" && : >"$containers/$id/env" && : >"$containers/$id/volumes" && : >"$containers/$id/labels"
  while [ $# -gt 0 ]; do
    case $1 in
      --*=*) read_option "${1%%=*}" "${1#*=}" ;;
      --rm | -d | --detach | -i | --interactive | -t | --tty) read_flag "$1" ;;
      -[ditq][ditq]*) for letter in $(printf '%s' "${1#-}" | sed 's/./& /g'); do read_flag "-$letter"; done ;;
      -[evwuplmh]?*) read_option "${1%"${1#-?}"}" "${1#-?}" ;;
      --) shift; break ;;
      -*)
        case " $(echo $FLAGS) " in *" $1 "*) shift; continue ;; esac
        [ $# -ge 2 ] || { remove_container "$id"; echo "docker: flag needs an argument: ${1#--}" >&2; exit 125; }
        read_option "$1" "$2"; shift ;;
      *) break ;;
    esac
    shift
  done
  [ $# -gt 0 ] || { remove_container "$id"; echo "docker: 'docker run' requires at least 1 argument" >&2; exit 125; }
  prepare "$@"
}

read_flag() {
  case $1 in
    --rm) remove=1 ;; -d | --detach) detach=1 ;; -i | --interactive) interactive=1 ;; -t | --tty) terminal=1 ;; -q) ;;
  esac
}

read_option() { # NAME VALUE
  case $1 in
    --name) name=$2 ;;
    -v | --volume) printf '%s\n' "$2" >>"$containers/$id/volumes" ;;
    --mount) printf '%s\n' "$(bind_of_mount "$2")" >>"$containers/$id/volumes" ;;
    -e | --env) add_variable "$2" ;;
    --env-file) [ -r "$2" ] || fail "open $2: no such file or directory"
      grep -vE '^[[:space:]]*(#|$)' "$2" | while IFS= read -r line; do add_variable "$line"; done ;;
    -w | --workdir) put "$id" workdir "$2" ;;
    --entrypoint) entrypoint=$2 has_entrypoint=1 ;;
    -l | --label) printf '%s\n' "$2" >>"$containers/$id/labels" ;;
    --cidfile) printf '%s' "$id" >"$2" ;;
    --pull) pull=$2 ;;
    --stop-timeout) put "$id" stop-timeout "$2" ;;
    --rm | --detach | --interactive | --tty | --init | --privileged | --sig-proxy) [ "$2" = false ] || read_flag "$1" ;;
    --gpus) fail 'could not select device driver "" with capabilities: [[gpu]].' ;;
    --restart) case $2 in no | '') ;; *) forget "option --restart=$2" ;; esac ;;
    *) case " $(echo $WITH_VALUE) " in *" $1 "*) ;; *) forget "option $1" ;; esac ;;
  esac
}
forget() { remove_container "$id"; not_known "$1"; }
fail() { remove_container "$id"; daemon_error "$1"; }

# NAME without a value means the caller's value, or no variable if the caller has none: docker's rule.
add_variable() {
  case $1 in
    *=*) printf '%s\n' "$1" ;;
    *) ! printenv -- "$1" >/dev/null || printf '%s=%s\n' "$1" "$(printenv -- "$1")" ;;
  esac >>"$containers/$id/env"
}

# type=bind,source=A,target=B[,readonly] as A:B[:ro]
bind_of_mount() {
  from='' to='' mode=''
  for part in $(printf '%s' "$1" | tr , ' '); do
    case $part in
      type=bind) ;; type=*) forget "--mount $part" ;;
      source=* | src=*) from=${part#*=} ;; target=* | destination=* | dst=*) to=${part#*=} ;;
      readonly | ro | readonly=true) mode=:ro ;; *) forget "--mount .. $part" ;;
    esac
  done
  [ -e "$from" ] || fail "invalid mount config for type \"bind\": bind source path does not exist: $from"
  printf '%s:%s%s\n' "$from" "$to" "$mode"
}

prepare() { # IMAGE COMMAND..
  image=$(full_name "$1") || { remove_container "$id"; echo "docker: $image" >&2; exit 125; }
  shift
  if [ -n "$name" ]; then
    printf '%s\n' "$name" | grep -qE '^[a-zA-Z0-9][a-zA-Z0-9_.-]+$' || fail "Invalid container name ($name), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed"
    other=$(find_container "$name") && [ "$(get "$other" name)" = "$name" ] && fail "Conflict. The container name \"/$name\" is already in use by container \"$other\". You have to remove (or rename) that container to be able to reuse that name."
  else name=rehearsal_$(printf '%.8s' "$id"); fi
  if ! has_image "$image" || [ "$pull" = always ]; then
    [ "$pull" != never ] || fail "No such image: $image"
    has_image "$image" || echo "Unable to find image '$image' locally" >&2
    ( . "$here/lib/docker-images.sh"; docker_pull "$image" >/dev/null )
  fi
  check_volumes
  [ -z "$entrypoint" ] || set -- "$entrypoint" "$@"
  # An image's own command is in its files, which are not fetched.
  [ $# -gt 0 ] || forget "an image's own command (give it one: docker run .. $image COMMAND)"
  : >"$containers/$id/argv"
  for word in "$@"; do printf '%s\0' "$word" >>"$containers/$id/argv"; done
  put "$id" name "$name"; put "$id" image "$image"; put "$id" created "$(date +%s)"; put "$id" command "$*"
}

check_volumes() {
  while IFS= read -r volume; do
    case $volume in
      /*:/* | .*:/*) ;;
      *:/*) forget "a named volume ($volume)" ;;
      /*) forget "an anonymous volume ($volume)" ;;
      *) fail "invalid volume specification: '$volume'" ;;
    esac
    # The daemon creates a missing folder, as root.
    case ${volume%%:*} in /*) from=${volume%%:*} ;; *) from=$PWD/${volume%%:*} ;; esac
    [ -e "$from" ] || mkdir -p "$from" || fail "error while creating mount source path '$from'"
  done <"$containers/$id/volumes"
}

# Starts the monitor, which outlives this client as a container does, and waits until its command runs or has failed to start.
launch() {
  rm -f "$containers/$id/started" "$containers/$id/exit" "$containers/$id/refusal" "$containers/$id/killed" "$containers/$id/known"
  exec 3<&0
  if [ -n "$terminal" ] && [ -t 1 ] && [ -z "$detach" ]; then
    sh "$here/lib/run-container.sh" "$here" "$containers/$id" terminal <&3
    finish "$(get "$id" exit)"
  fi
  if [ -n "$interactive" ] && [ -z "$detach" ]; then
    setsid sh "$here/lib/run-container.sh" "$here" "$containers/$id" <&3 >"$containers/$id/log.out" 2>"$containers/$id/log.err" &
  else
    setsid sh "$here/lib/run-container.sh" "$here" "$containers/$id" </dev/null >"$containers/$id/log.out" 2>"$containers/$id/log.err" 3<&- &
  fi
  monitor=$!
  while [ ! -e "$containers/$id/started" ] && [ ! -e "$containers/$id/refusal" ] && kill -0 "$monitor" 2>/dev/null; do sleep 0.02; done
  [ -e "$containers/$id/refusal" ] || return 0
  wait "$monitor"
  finish "$(get "$id" exit)"
}

# finish CODE: the end of `docker run`, with the daemon's words if the command could not be started.
finish() {
  if text=$(get "$id" refusal); then
    echo "docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: $text: unknown" >&2
    echo 'docker: stand-in of the rehearsal: what only the image has is not on this VM' >&2
  fi
  [ ! -e "$containers/$id/remove" ] && [ ! -e "$containers/$id/remove-detached" ] || remove_container "$id"
  exit "${1:-125}"
}

# The client in the foreground: passes the output on, and its own signals to the container.
attach() {
  tail -c +1 -s 0.1 -f --pid="$monitor" "$containers/$id/log.out" & tail_out=$!
  tail -c +1 -s 0.1 -f --pid="$monitor" "$containers/$id/log.err" >&2 & tail_err=$!
  for signal in HUP INT QUIT TERM USR1 USR2; do
    # shellcheck disable=SC2064
    trap "kill -s $signal \"\$(get $id pid)\" 2>/dev/null" "$signal"
  done
  # wait returns early for each signal that was passed on.
  while kill -0 "$monitor" 2>/dev/null; do wait "$monitor"; done
  wait "$tail_out" "$tail_err" 2>/dev/null
  finish "$(get "$id" exit)"
}

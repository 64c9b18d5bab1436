# shellcheck shell=sh disable=SC2154
# Sourced by docker: how containers end and are taken away.

# signal SIGNAL ID: to the container's first process.
signal() {
  pid=$(get "$2" pid) || return 1
  # unshare(1) reports a SIGKILL of its child as exit code 1.
  case $1 in KILL | SIGKILL | 9) put "$2" killed 1 ;; esac
  kill -s "${1#SIG}" "$pid" 2>/dev/null
}
is_gone_within() { # SECONDS ID
  tries=$(($1 * 20))
  while is_running "$2"; do
    [ "$tries" -gt 0 ] || return 1
    tries=$((tries - 1))
    sleep 0.05
  done
}
# The monitor writes the exit code, a moment after the process is gone.
settle() { tries=100; while [ -d "$containers/$1" ] && [ "$(get "$1" state)" = running ] && [ "$tries" -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done; }

for_each() { # FUNCTION WORD..: docker's way, all of them, the code 1 if one was not there
  function=$1 code=0
  shift
  [ $# -gt 0 ] || { echo "docker: 'docker ${function#*_}' requires at least 1 argument" >&2; exit 1; }
  for word in "$@"; do
    if id=$(find_container "$word"); then "$function" "$id" "$word" || code=1
    else refused "No such container: $word"; [ "$function$force" = one_rmforce ] || code=1; fi
  done
  return "$code"
}

force='' grace='' sent=KILL
container_stop() {
  while :; do
    case ${1:-} in
      -t | --time | --timeout) grace=$2; shift 2 ;;
      --time=* | --timeout=*) grace=${1#*=}; shift ;;
      -t?*) grace=${1#-t}; shift ;;
      -*) not_known "option $1 of stop" ;;
      *) break ;;
    esac
  done
  for_each one_stop "$@"
}
one_stop() {
  if is_running "$1"; then
    signal TERM "$1"
    is_gone_within "${grace:-$(get "$1" stop-timeout || echo 10)}" "$1" || signal KILL "$1"
    settle "$1"
  fi
  echo "$2"
}
container_restart() { container_stop "$@" >/dev/null && . "$here/lib/docker-run.sh" && container_start "$@"; }

container_kill() {
  case ${1:-} in
    -s | --signal) sent=$2; shift 2 ;;
    --signal=*) sent=${1#*=}; shift ;;
    -*) not_known "option $1 of kill" ;;
  esac
  for_each one_kill "$@"
}
one_kill() {
  is_running "$1" || { refused "cannot kill container: $2: container $1 is not running"; return 1; }
  signal "$sent" "$1"
  [ "$sent" != KILL ] && [ "$sent" != SIGKILL ] && [ "$sent" != 9 ] || settle "$1"
  echo "$2"
}

container_rm() {
  while :; do
    case ${1:-} in
      -f | --force | -fv | -vf) force=force; shift ;;
      -v | --volumes) shift ;;
      -*) not_known "option $1 of rm" ;;
      *) break ;;
    esac
  done
  for_each one_rm "$@"
}
one_rm() {
  if is_running "$1"; then
    [ -n "$force" ] || { refused "cannot remove container \"/$(get "$1" name)\": container is running: stop the container before removing or force remove"; return 1; }
    signal KILL "$1"
    settle "$1"
  fi
  remove_container "$1"
  echo "$2"
}

container_wait() { for_each one_wait "$@"; }
one_wait() { while is_running "$1"; do sleep 0.05; done; settle "$1"; get "$1" exit; }

prune() { # VERB OPTION..
  verb=$1 all='' sure=''
  shift
  for word in "$@"; do
    case $word in
      -f | --force) sure=1 ;; -a | --all) all=1 ;; -af | -fa) all=1 sure=1 ;; --volumes) ;;
      *) not_known "option $word of $verb" ;;
    esac
  done
  if [ -z "$sure" ]; then
    printf 'Are you sure you want to continue? [y/N] '
    read -r answer && case $answer in [Yy]*) ;; *) exit 0 ;; esac || exit 0
  fi
  [ "$verb" = 'image prune' ] || for folder in "$containers"/*/; do
    [ ! -d "$folder" ] || is_running "$(basename "$folder")" || remove_container "$(basename "$folder")"
  done
  # Without --all only images without a name are removed, and here every image has one.
  [ -z "$all" ] || [ "$verb" = prune ] || rm -f "$images"/*
  echo 'Total reclaimed space: 0B'
}

# shellcheck shell=sh disable=SC2154
# Sourced by docker: a further process in a container that runs.

container_exec() {
  detach='' interactive='' workdir='' extra=''
  while [ $# -gt 0 ]; do
    case $1 in
      -d | --detach) detach=1 ;;
      -i | --interactive) interactive=1 ;;
      -t | --tty) [ -t 0 ] || { echo 'the input device is not a TTY' >&2; exit 1; } ;;
      -it | -ti) interactive=1; [ -t 0 ] || { echo 'the input device is not a TTY' >&2; exit 1; } ;;
      -e | --env) extra="$extra$2
"; shift ;;
      --env=*) extra="$extra${1#*=}
" ;;
      -w | --workdir) workdir=$2; shift ;;
      --workdir=*) workdir=${1#*=} ;;
      -u | --user) shift ;;
      --user=* | --privileged) ;;
      -*) not_known "option $1 of exec" ;;
      *) break ;;
    esac
    shift
  done
  [ $# -ge 2 ] || { echo "docker: 'docker exec' requires at least 2 arguments" >&2; exit 1; }
  id=$(find_container "$1") || { refused "No such container: $1"; exit 1; }
  is_running "$id" || { refused "container $id is not running"; exit 1; }
  shift
  folder=$containers/$id/exec.$$ # as the container's own, with an argv and an environment of this call's
  mkdir "$folder" && cp "$containers/$id/env" "$folder/env" && printf '%s' "$extra" >"$folder/exec-env" && : >"$folder/argv"
  for word in "$@"; do printf '%s\0' "$word" >>"$folder/argv"; done
  pid=$(get "$id" pid) workdir=${workdir:-$(get "$id" workdir)}
  if nsenter --target "$pid" --mount --pid true 2>/dev/null; then enter="nsenter --target $pid --mount --pid"; else enter=''; fi
  # shellcheck disable=SC2016
  set -- sh -c 'cd "$1" || exit 127; shift; exec sh "$@"' sh "${workdir:-/}" "$here/lib/container-exec.sh" "$here" "$folder" "$folder/argv"
  # shellcheck disable=SC2086
  if [ -n "$detach" ]; then setsid $enter "$@" </dev/null >/dev/null 2>&1 & exit 0; fi
  [ -n "$interactive" ] || exec </dev/null
  # shellcheck disable=SC2086
  $enter "$@"
  code=$?
  rm -rf "$folder"
  exit "$code"
}

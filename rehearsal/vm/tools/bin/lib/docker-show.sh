# shellcheck shell=sh disable=SC2154
# Sourced by docker: ps, inspect and logs.

age() { seconds=$(($(date +%s) - $1)); if [ "$seconds" -lt 120 ]; then echo "$seconds seconds"; else echo "$((seconds / 60)) minutes"; fi; }
status_of() {
  case $(container_state "$1") in
    running) echo "Up $(age "$(get "$1" started-at)")" ;;
    created) echo Created ;;
    *) echo "Exited ($(get "$1" exit)) $(age "$(get "$1" started-at || get "$1" created)") ago" ;;
  esac
}

# filled TEMPLATE ID: Go's templates for the few fields that scripts ask for.
filled() {
  line=$1
  for pair in ".ID|$(printf '%.12s' "$2")" ".Names|$(get "$2" name)" ".Name|/$(get "$2" name)" ".Image|$(get "$2" image)" ".Status|$(status_of "$2")" \
    ".State.Running|$(is_running "$2" && echo true || echo false)" ".State.Status|$(container_state "$2")" ".State.ExitCode|$(get "$2" exit || echo 0)" \
    ".State.Pid|$(is_running "$2" && get "$2" pid || echo 0)" ".State|$(container_state "$2")" ".Id|$2" ".Config.Image|$(get "$2" image)" ".Command|\"$(get "$2" command)\""; do
    # A command of several lines is shown in one, as docker quotes it.
    key=${pair%%|*} text=$(printf '%s' "${pair#*|}" | sed -e ':all' -e '$!{N' -e 'b all' -e '}' -e 's/[&\\#]/\\&/g' -e 's/\n/\\\\n/g')
    line=$(printf '%s\n' "$line" | sed "s#{{ *$(printf '%s' "$key" | sed 's/\./\\./g') *}}#$text#g")
  done
  case $line in *'{{'*) not_known "the template $1" ;; esac
  printf '%s\n' "$line" | sed 's/\\t/\t/g'
}

passes() { # ID FILTER..
  id_asked=$1
  shift
  for filter in "$@"; do
    text=${filter#*=}
    case $filter in
      name=*) get "$id_asked" name | grep -qE -- "${text#/}" || return 1 ;;
      status=*) [ "$(container_state "$id_asked")" = "$text" ] || return 1 ;;
      label=*) grep -qxF -- "$text" "$containers/$id_asked/labels" || grep -q -- "^$text=" "$containers/$id_asked/labels" || return 1 ;;
      ancestor=*) [ "$(get "$id_asked" image)" = "$(full_name "$text")" ] || return 1 ;;
      id=*) case $id_asked in "$text"*) ;; *) return 1 ;; esac ;;
      *) not_known "the filter $filter" ;;
    esac
  done
}

container_list() {
  all='' quiet='' whole='' format='' filters=''
  while [ $# -gt 0 ]; do
    case $1 in
      -a | --all) all=1 ;; -q | --quiet) quiet=1 ;; -aq | -qa) all=1 quiet=1 ;; --no-trunc) whole=1 ;;
      -f | --filter) filters="$filters $2"; shift ;; --filter=*) filters="$filters ${1#*=}" ;;
      --format) format=$2; shift ;; --format=*) format=${1#*=} ;;
      *) not_known "option $1 of ps" ;;
    esac
    shift
  done
  format=${format#table }
  [ -n "$quiet$format" ] || printf '%-12s   %-24s %-22s %-22s %s\n' 'CONTAINER ID' IMAGE COMMAND STATUS NAMES
  case $filters in *status=*) all=1 ;; esac
  for folder in "$containers"/*/; do
    [ -f "$folder/name" ] || continue
    id=$(basename "$folder")
    [ -n "$all" ] || is_running "$id" || continue
    # shellcheck disable=SC2086
    passes "$id" $filters || continue
    short=$(printf '%.12s' "$id")
    if [ -n "$quiet" ]; then if [ -n "$whole" ]; then echo "$id"; else echo "$short"; fi
    elif [ -n "$format" ]; then filled "$format" "$id"
    else printf '%-12s   %-24s %-22s %-22s %s\n' "$short" "$(get "$id" image)" "\"$(get "$id" command | cut -c1-18)\"" "$(status_of "$id")" "$(get "$id" name)"; fi
  done
}

inspect() {
  format='' code=0
  while [ $# -gt 0 ]; do
    case $1 in -f | --format) format=$2; shift ;; --format=*) format=${1#*=} ;; --type) shift ;; --type=*) ;; -*) not_known "option $1 of inspect" ;; *) break ;; esac
    shift
  done
  for word in "$@"; do
    if ! id=$(find_container "$word"); then
      . "$here/lib/docker-images.sh"
      if name=$(full_name "$word") && has_image "$name"; then docker_image_inspect ${format:+-f "$format"} "$word"; continue; fi
      [ -n "$format" ] || echo '[]'
      echo "Error: No such object: $word" >&2
      code=1
    elif [ -n "$format" ]; then filled "$format" "$id"
    else filled '[{"Id": "{{.Id}}", "Name": "{{.Name}}", "State": {"Status": "{{.State.Status}}", "Running": {{.State.Running}}, "Pid": {{.State.Pid}}, "ExitCode": {{.State.ExitCode}}}, "Config": {"Image": "{{.Config.Image}}"}}]' "$id"; fi
  done
  return "$code"
}

# Output and errors are kept apart, so their relative order is lost.
container_logs() {
  follow='' lines=+1
  while [ $# -gt 0 ]; do
    case $1 in
      -f | --follow) follow=1 ;;
      -n | --tail) lines=$2; shift ;;
      --tail=*) lines=${1#*=} ;;
      -*) not_known "option $1 of logs" ;;
      *) break ;;
    esac
    shift
  done
  [ "$lines" != all ] || lines=+1
  id=$(find_container "${1:-}") || { refused "No such container: ${1:-}"; exit 1; }
  if [ -z "$follow" ] || ! is_running "$id"; then
    tail -n "$lines" "$containers/$id/log.out"
    tail -n "$lines" "$containers/$id/log.err" >&2
    return 0
  fi
  pid=$(get "$id" pid)
  tail -n "$lines" -s 0.1 -f --pid="$pid" "$containers/$id/log.err" >&2 &
  tail -n "$lines" -s 0.1 -f --pid="$pid" "$containers/$id/log.out"
  wait
}

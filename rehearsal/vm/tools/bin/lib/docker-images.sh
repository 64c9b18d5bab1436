# shellcheck shell=sh disable=SC2154
# Sourced by docker: verbs of images, and of the missing daemon.

docker_pull() {
  quiet=''
  while [ $# -gt 0 ]; do
    case $1 in
      -q | --quiet) quiet=1 ;;
      --platform) shift ;;
      --platform=*) ;;
      -*) not_known "option $1 of pull" ;;
      *) break ;;
    esac
    shift
  done
  [ $# -eq 1 ] || { printf 'docker: '\''docker pull'\'' requires 1 argument\n' >&2; exit 1; }
  name=$(full_name "$1") || { echo "$name" >&2; exit 1; }
  [ -n "$quiet" ] || printf '%s: Pulling from %s\n' "${name##*[:@]}" "${name%[:@]*}"
  record_image "$name"
  echo "docker: stand-in of the rehearsal: $name is recorded, not fetched; nobody asked whether it exists" >&2
  printf '%s\n' "$name"
}

docker_images() {
  quiet='' format='' reference=''
  while [ $# -gt 0 ]; do
    case $1 in
      -q | --quiet) quiet=1 ;;
      -a | --all | --no-trunc | --digests) ;;
      --format) format=$2; shift ;;
      --format=*) format=${1#*=} ;;
      -*) not_known "option $1 of images" ;;
      *) reference=$1 ;;
    esac
    shift
  done
  [ -n "$quiet$format" ] || printf '%-50s %-12s %-14s %s\n' REPOSITORY TAG 'IMAGE ID' SIZE
  for file in "$images"/*; do
    [ -f "$file" ] || continue
    name=$(basename "$file" | tr % /) id=$(cut -c1-12 "$file")
    case $reference in '' | "$name" | "${name%:*}") ;; *) continue ;; esac
    if [ -n "$quiet" ]; then echo "$id"
    elif [ -n "$format" ]; then
      line=$(printf '%s\n' "$format" | sed "s|{{ *\.Repository *}}|${name%[:@]*}|g; s|{{ *\.Tag *}}|${name##*[:@]}|g; s|{{ *\.ID *}}|$id|g")
      case $line in *'{{'*) not_known "the template $format" ;; esac
      printf '%s\n' "$line"
    else printf '%-50s %-12s %-14s %s\n' "${name%[:@]*}" "${name##*[:@]}" "$id" 0B; fi
  done
}

docker_image_inspect() {
  format=''
  while [ $# -gt 0 ]; do
    case $1 in -f | --format) format=$2; shift ;; --format=*) format=${1#*=} ;; -*) not_known "option $1 of image inspect" ;; *) break ;; esac
    shift
  done
  code=0
  for word in "$@"; do
    name=$(full_name "$word") && has_image "$name" || { [ -n "$format" ] || echo '[]'; echo "Error response from daemon: No such image: $word" >&2; code=1; continue; }
    id=sha256:$(cat "$(image_file "$name")")
    case $format in
      '') printf '[\n    {\n        "Id": "%s",\n        "RepoTags": ["%s"],\n        "RepoDigests": [],\n        "Comment": "recorded by a stand-in of the rehearsal"\n    }\n]\n' "$id" "$name" ;;
      '{{.Id}}' | '{{.ID}}') echo "$id" ;;
      '{{.RepoTags}}') echo "[$name]" ;;
      *) not_known "the template $format" ;;
    esac
  done
  return "$code"
}

docker_rmi() {
  code=0
  for word in "$@"; do
    case $word in -f | --force | --no-prune) continue ;; -*) not_known "option $word of rmi" ;; esac
    name=$(full_name "$word") && has_image "$name" || { refused "No such image: ${name:-$word}"; code=1; continue; }
    rm -f "$(image_file "$name")"
    echo "Untagged: $name"
  done
  return "$code"
}

docker_tag() {
  [ $# -eq 2 ] || { echo "docker: 'docker tag' requires 2 arguments" >&2; exit 1; }
  from=$(full_name "$1") && has_image "$from" || { refused "No such image: ${from:-$1}"; return 1; }
  to=$(full_name "$2") || { echo "Error parsing reference: \"$2\" is not a valid repository/tag: $to" >&2; return 1; }
  cp "$(image_file "$from")" "$(image_file "$to")"
}

docker_login() {
  from_stdin='' password=''
  while [ $# -gt 0 ]; do
    case $1 in
      -u | --username) shift ;;
      -p | --password) password=$2; shift ;;
      -u?* | --username=*) ;;
      --password=* | -p?*) password=1 ;;
      --password-stdin) from_stdin=1 ;;
      -*) not_known "option $1 of login" ;;
    esac
    shift
  done
  [ -z "$from_stdin" ] || password=$(cat)
  [ -n "$password" ] || { echo 'Error: Cannot perform an interactive login from a non TTY device' >&2; return 1; }
  echo 'docker: stand-in of the rehearsal: no registry was asked' >&2
  echo 'Login Succeeded'
}
docker_logout() { echo "Removing login credentials for ${1:-https://index.docker.io/v1/}"; }

docker_version() {
  case ${1:-}${2:+ $2} in
    '') printf 'Client:\n Version:           %s\n\nServer: (a stand-in of the rehearsal)\n Engine:\n  Version:          %s\n' "$DOCKER_VERSION" "$DOCKER_VERSION" ;;
    '-f {{.Server.Version}}' | '--format {{.Server.Version}}' | '-f {{.Client.Version}}' | '--format {{.Client.Version}}') echo "$DOCKER_VERSION" ;;
    *) not_known "version $*" ;;
  esac
}
docker_info() {
  [ $# -eq 0 ] || not_known "info $*"
  running=0
  for folder in "$containers"/*/; do [ ! -d "$folder" ] || ! is_running "$(basename "$folder")" || running=$((running + 1)); done
  printf 'Server: (a stand-in of the rehearsal)\n Containers: %s\n  Running: %s\n Images: %s\n Server Version: %s\n' \
    "$(ls "$containers" | wc -l)" "$running" "$(ls "$images" | wc -l)" "$DOCKER_VERSION"
}

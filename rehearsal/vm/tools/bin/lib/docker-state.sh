# shellcheck shell=sh disable=SC2154,SC2034
# Sourced by docker: images and containers as files.
#   $state/docker/images/NAME (with % for /)       the image's id
#   $state/docker/containers/ID/                   name image command created state pid ticks exit labels log.out log.err ..
DOCKER_VERSION=24.0.5
images=$state/docker/images
containers=$state/docker/containers
mkdir -p "$images" "$containers"

# Reports an error with the daemon's text. 125 is docker's own failure at `run`.
daemon_error() { printf '%s: Error response from daemon: %s\n' "docker" "$1" >&2; printf "\nRun 'docker run --help' for more information\n" >&2; exit 125; }
refused() { printf 'Error response from daemon: %s\n' "$1" >&2; }

sha() { printf '%s' "$1" | sha256sum | cut -c1-64; }

# full_name REFERENCE: prints it with its tag; if it is invalid, exits CODE with docker's text.
full_name() {
  path='[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*'
  if ! printf '%s\n' "$1" | grep -qE "^([A-Za-z0-9.-]+(:[0-9]+)?/)?$path(/$path)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?\$"; then
    case $1 in *[A-Z]*:* | *[A-Z]*) echo "invalid reference format: repository name (${1%%:*}) must be lowercase" ;; *) echo 'invalid reference format' ;; esac
    return 1
  fi
  case ${1##*/} in *:* | *@*) printf '%s\n' "$1" ;; *) printf '%s:latest\n' "$1" ;; esac
}
image_file() { printf '%s/%s\n' "$images" "$(printf '%s' "$1" | tr / %)"; }
has_image() { [ -f "$(image_file "$1")" ]; }
record_image() { sha "$1" >"$(image_file "$1")"; }

get() { cat "$containers/$1/$2" 2>/dev/null; }
put() { printf '%s\n' "$3" >"$containers/$1/$2"; }

# A pid is the container's only with its start time: a new boot of the VM uses the same numbers again.
ticks_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
is_running() {
  pid=$(get "$1" pid) && [ "$(get "$1" state)" = running ] && [ "$(ticks_of "$pid")" = "$(get "$1" ticks)" ] && [ -n "$(ticks_of "$pid")" ]
}
container_state() {
  if is_running "$1"; then echo running; return; fi
  # The container and its monitor died with the VM: this is what the daemon says after a reboot.
  [ "$(get "$1" state)" != running ] || { put "$1" state exited; [ -s "$containers/$1/exit" ] || put "$1" exit 255; }
  get "$1" state
}

# find_container WORD: prints the id of the container with this name, or with an id that begins so.
find_container() {
  for folder in "$containers"/*/; do
    id=$(basename "$folder")
    [ "$(get "$id" name)" != "${1#/}" ] || { echo "$id"; return 0; }
  done
  for folder in "$containers/$1"*/; do [ ! -d "$folder" ] || { basename "$folder"; return 0; }; done
  return 1
}

remove_container() { rm -rf "${containers:?}/$1"; }

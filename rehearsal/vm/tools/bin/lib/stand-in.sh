# shellcheck shell=sh
# Sourced by every stand-in: the folder of its state, the services that it calls, and the sentence that announces it.
# A stand-in does the visible part of a tool. Its sentence comes once per VM and tool, on stderr: never on stdout.
set -u
tool=${0##*/}
here=$(CDPATH='' cd -- "${0%/*}" && pwd -P) || exit 127

# 127 is "command not found": a script that checks exit codes never takes it for the tool's own answer.
not_known() {
  printf '%s: %s is not known to this stand-in of the rehearsal (README of @jobctl/cloud-tpu-rehearsal)\n' "$tool" "$*" >&2
  exit 127
}

if [ -n "${REHEARSAL_TOOLS_STATE:-}" ]; then state=$REHEARSAL_TOOLS_STATE
elif [ "$here" = /opt/rehearsal/bin ]; then state=/var/lib/rehearsal
elif [ -n "${REHEARSAL_VM:-}" ]; then state=$REHEARSAL_VM/disk/var/lib/rehearsal
else
  # In a VM without a separate root and with a cleaned environment, any write now would change this computer.
  printf '%s: stand-in of the rehearsal: its environment is gone (REHEARSAL_VM), so it does nothing\n' "$tool" >&2
  exit 127
fi
[ -d "$state/said" ] || (umask 0 && mkdir -p "$state/said") || exit 127

# The login's environment is stored for programs that clean theirs (sudo -i, cron, containers).
if [ -n "${REHEARSAL_STORE_URL:-}" ]; then
  known=$(cat "$state/known" 2>/dev/null) now="$REHEARSAL_STORE_URL ${REHEARSAL_REST_URL:-}"
  if [ "$known" != "$now" ] && [ "${known% *} " != "$now" ]; then
    for name in STORE_URL REST_URL PROJECT ZONE NODE; do
      eval "printf '%s\n' \"export REHEARSAL_$name='\${REHEARSAL_$name:-}'\""
    done >"$state/place.$$" && mv "$state/place.$$" "$state/place"
    printf '%s\n' "$now" >"$state/known"
  fi
fi
if [ -z "${REHEARSAL_STORE_URL:-}" ] || [ -z "${REHEARSAL_REST_URL:-}" ]; then
  [ ! -f "$state/place" ] || . "$state/place"
fi

# say_once SENTENCE: noclobber decides which of several callers at once is the first.
say_once() {
  (set -C && printf '%s\n' "$*" >"$state/said/$tool") 2>/dev/null || return 0
  printf '%s: stand-in of the rehearsal: %s\n' "$tool" "$*" >&2
}

# on_path NAME [not-ours]: prints the file that PATH gives; `command -v` does not if the shell has a builtin of that name.
on_path() {
  case $1 in */*) [ -x "$1" ] && [ ! -d "$1" ] && printf '%s\n' "$1"; return ;; esac
  rest=$PATH:
  while [ -n "$rest" ]; do
    folder=${rest%%:*}
    rest=${rest#*:}
    [ -f "$folder/$1" ] && [ -x "$folder/$1" ] || continue
    [ "${2:-}" = not-ours ] && [ -e "$folder/lib/stand-in.sh" ] && continue
    printf '%s\n' "$folder/$1"
    return 0
  done
  return 1
}

# real_tool NAME: prints the path of the tool itself, if this computer has it.
real_tool() { on_path "$1" not-ours; }

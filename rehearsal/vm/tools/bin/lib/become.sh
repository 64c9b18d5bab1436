# shellcheck shell=sh disable=SC2154
# Sourced by sudo, after its options: runs the command with the environment that sudoers of Ubuntu gives it.
# Takes from sudo: entry (of passwd) login shell preserve keep background folder set_home; becomes the command.

# own_user NAME: its line of passwd in a VM without a separate root. There, root's home would be this computer's /root.
own_user() {
  [ -n "${REHEARSAL_VM:-}" ] || return 1
  [ "$1" = root ] || [ -d "$REHEARSAL_VM/disk/home/$1" ] || return 1
  printf '%s:x:0:0::%s:/bin/bash\n' "$1" "$REHEARSAL_VM/disk/home/$1"
}

# own_profile HOME: a login shell resets PATH, and would find the computer's own tools.
own_profile() {
  grep -qs -F "$here:" "$1/.profile" && return
  mkdir -p "$1" && printf '# Written by the rehearsal cloud.\nPATH="%s:$PATH"\n' "$(own_folders)" >>"$1/.profile"
}
own_folders() { if [ "$here" = /opt/rehearsal/bin ]; then echo "$here:/run/rehearsal/bin"; else echo "$here"; fi; }

entry_field() { printf '%s\n' "$entry" | cut -d: -f"$1"; }

# env_reset keeps these variables of the caller (sudoers(5)), and ours: without them the tools would not know their VM.
KEPT='TERM|DISPLAY|LANG|LANGUAGE|LC_[A-Z]*|COLORTERM|XAUTHORITY|TZ|REHEARSAL_[A-Z_]*'
# On a TPU VM a clean environment still reaches Cloud Storage and the metadata server by their names: these stand for that.
KEPT="$KEPT|STORAGE_EMULATOR_HOST|TENSORSTORE_GCS_HTTP_URL|GCE_METADATA_[A-Z]*"

# The secure_path of Ubuntu, after the VM's own; a Python that lies elsewhere is found as on this computer.
secure_path() {
  path=$(own_folders):/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
  python=$(command -v python3) || python=''
  case ":$path:" in *":${python%/*}:"*) ;; *) [ -z "$python" ] || path=$path:${python%/*} ;; esac
  printf '%s\n' "$path"
}

# unset_all_but PATTERN of names. env(1) divides by NUL, since values may hold newlines.
unset_all_but() {
  for name in $(env -0 | tr '\n\0' ' \n' | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | grep -vxE "$1"); do
    unset "$name"
  done
}

become() {
  caller=${USER:-$(id -un)} home=$(entry_field 6) user_shell=$(entry_field 7) user=$(entry_field 1)
  uid=$(id -u) gid=$(id -g) path=$(secure_path)
  # VAR=value before the command is set for it, also when the environment is cleaned.
  extra=''
  while [ $# -gt 0 ]; do
    case $1 in
      [A-Za-z_]*=*) ;;
      *) break ;;
    esac
    printf '%s\n' "${1%%=*}" | grep -qxE '[A-Za-z_][A-Za-z0-9_]*' || break
    extra="$extra|${1%%=*}"
    # shellcheck disable=SC2163
    export "$1"
    shift
  done
  if [ $# -eq 0 ] && [ -z "$login$shell" ]; then usage; fi
  if [ -n "$folder" ]; then cd "$folder" || exit 1; fi
  [ -n "$preserve" ] || unset_all_but "$KEPT$extra|$(printf '%s' "$keep" | tr , '|')"
  export PATH="$path" USER="$user" LOGNAME="$user" SUDO_USER="$caller" SUDO_UID="$uid" SUDO_GID="$gid" MAIL="/var/mail/$user"
  export SUDO_COMMAND="$*" SHELL="${user_shell:-/bin/sh}"
  [ -n "$preserve" ] && [ -z "$login$set_home" ] || export HOME="${home:-/}"
  own_profile "$HOME"
  if [ -n "$login$shell" ]; then
    if [ -n "$login" ]; then cd "$HOME" 2>/dev/null || cd /; flag=-l; else flag=''; fi
    if [ $# -gt 0 ]; then set -- -c "$(quoted "$@")"; fi
    # shellcheck disable=SC2086
    set -- "$SHELL" $flag "$@"
  fi
  on_path "$1" >/dev/null || { echo "sudo: $1: command not found" >&2; exit 1; }
  [ -z "$background" ] || { setsid "$@" & exit 0; }
  exec "$@"
}

# Like sudo for -i and -s: every character except letters, digits, _, - and $ gets a backslash.
quoted() {
  line=''
  for word in "$@"; do
    line="$line $(printf '%s' "$word" | sed 's/[^A-Za-z0-9_$-]/\\&/g')"
  done
  printf '%s\n' "${line# }"
}

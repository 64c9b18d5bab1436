# shellcheck shell=sh disable=SC2154
# Sourced by apt-get, dpkg and their neighbours: which packages are recorded, and what this computer has of them.
# $state/packages/NAME holds the version that was asked for, or nothing.

LOCK_TIMEOUT_CODE=100

# Letters, digits and +-. in small (Debian policy 5.6.1); :arch, =version and /release may follow.
is_package_name() { printf '%s\n' "$1" | grep -qE '^[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[^ ]+|/[^ ]+)?$'; }
bare_name() { printf '%s\n' "$1" | sed 's/[:=/].*//'; }

is_recorded() { [ -f "$state/packages/$1" ]; }
on_computer() {
  dpkg_query=$(real_tool dpkg-query) || return 1
  [ "$("$dpkg_query" -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | cut -c1-2)" = ii ]
}
is_installed() { is_recorded "$1" || on_computer "$1"; }

# Whether a recorded package exists here: on this computer, or as a command of its name.
has_effect() { on_computer "$1" || on_path "$1" >/dev/null; }

read_lists() {
  printf 'Reading package lists...\nBuilding dependency tree...\nReading state information...\n'
}

# `unattended-upgrades` of a fresh VM: the file holds the second at which it releases the lock. Written to rehearse a fresh VM.
is_locked() { [ -f "$state/dpkg-lock-until" ] && [ "$(date +%s)" -lt "$(cat "$state/dpkg-lock-until")" ]; }

check_lock() {
  waited=0
  while is_locked && { [ "${lock_timeout:-0}" -lt 0 ] || [ "$waited" -lt "${lock_timeout:-0}" ]; }; do
    [ "$waited" -gt 0 ] || echo 'Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1337 (unattended-upgr)...' >&2
    sleep 1
    waited=$((waited + 1))
  done
  is_locked || return 0
  echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1337 (unattended-upgr)' >&2
  echo 'N: Be aware that removing the lock file is not a solution and may break your system.' >&2
  echo 'E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?' >&2
  exit "$LOCK_TIMEOUT_CODE"
}

check_names() {
  missing=''
  for name in $names; do
    case $name in
      ./* | /*) [ -f "$name" ] || { echo "E: Unsupported file $name given on commandline" >&2; missing=1; }; continue ;;
      -* | *[-+]) is_installed "$(bare_name "${name%[-+]}")" && continue ;;
    esac
    is_package_name "$name" && continue
    echo "E: Unable to locate package $name" >&2
    missing=1
  done
  [ -z "$missing" ] || exit 100
}

install_packages() {
  set -f
  check_lock
  read_lists
  check_names
  new=''
  for name in $names; do
    case $name in ./* | /*) bare=$(basename "$name" .deb | sed 's/_.*//') ;; *) bare=$(bare_name "$name") ;; esac
    if is_installed "$bare"; then echo "$bare is already the newest version."; else new="$new $bare"; fi
  done
  if [ -n "$new" ] && [ -z "$simulate" ]; then
    confirm
    mkdir -p "$state/packages"
    printf 'The following NEW packages will be installed:\n %s\n' "$new"
    for bare in $new; do
      : >"$state/packages/$bare"
      has_effect "$bare" || echo "$tool: stand-in of the rehearsal: $bare is recorded, but this computer has nothing of it" >&2
    done
  fi
  echo "0 upgraded, $(echo $new | wc -w) newly installed, 0 to remove and 0 not upgraded."
}

# Without -y and a terminal apt reads an end of file as no.
confirm() {
  [ -z "$yes" ] || return 0
  printf 'Do you want to continue? [Y/n] '
  read -r answer && case $answer in '' | [Yy]*) return 0 ;; esac
  echo 'Abort.'
  exit 1
}

remove_packages() {
  set -f
  check_lock
  read_lists
  removed=0
  for name in $names; do
    is_package_name "$name" || { echo "E: Unable to locate package $name" >&2; exit 100; }
    if is_recorded "$name"; then rm -f "$state/packages/$name"; removed=$((removed + 1));
    elif on_computer "$name"; then not_known "the removal of $name, which is this computer's,"
    else echo "Package '$name' is not installed, so not removed"; fi
  done
  echo "0 upgraded, 0 newly installed, $removed to remove and 0 not upgraded."
}

list_packages() {
  echo 'Listing...'
  for file in "$state"/packages/*; do [ ! -f "$file" ] || echo "${file##*/}/now stand-in amd64 [installed,local]"; done
}

/**
 * Conditions for the start of a command: no process of an earlier attempt runs, no other process has the accelerators, no lock
 * file of an ended libtpu is left, and 100,000 open files are allowed. Globs, lock files and the wait come from the run's plan.
 */
export const BEFORE_COMMAND = `
# Fails when accelerators are busy for longer than the plan waits, and leaves who in 'blocked'. Who waits says so in 'waiting', unless
# it is over in a moment: a process that was just ended still holds its device.
await_devices() {
  rm -f "$run/blocked"
  set --
  for file in $devices; do [ -e "$file" ] && set -- "$@" "$file"; done
  [ $# -gt 0 ] && [ "$device_wait_ms" -gt 0 ] || return 0
  since=$(now_ms)
  until look_who "$@" && [ -z "$busy" ]; do
    why=\${busy:+"are in use by process $busy"}
    : "\${why:=cannot be looked at: $unseen}"
    [ ! -f "$run/stop" ] || break
    [ $(($(now_ms) - since)) -lt "$device_wait_ms" ] || { blocked "accelerator devices ($*) $why"; break; }
    [ $(($(now_ms) - since)) -lt 2000 ] || put_line "$run/waiting" "\${busy:-$unseen}"
    sleep 0.5
  done
  rm -f "$run/waiting"
  [ ! -f "$run/stop" ] && [ ! -f "$run/blocked" ]
}

blocked() { put_line "$run/blocked" "$*"; }

# libtpu refuses to start beside this file where it may not open it. Locked by nobody, open nowhere: nobody's any more.
clear_lock_files() {
  for file in $lock_files; do
    [ -f "$file" ] || continue
    find_root
    grep -qs ":$(stat -c %i "$file") " /proc/locks || [ -n "$(holders "$file")" ] || $as_root rm -f "$file"
  done
}

# Before job $1 begins with epoch $2: whatever an earlier attempt of it left running on this host would run beside it.
end_earlier() {
  cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -aF "JOBCTL_RUN_DIR=$base/runs/$1-a" | sort -u | while read -r other; do
    is_earlier "\${other#"JOBCTL_RUN_DIR=$base/runs/$1-a"}" "$2" && end_members "$other" 2000
  done
  for file in "$base/runs/$1-a"*/container; do
    attempt=\${file#"$base/runs/$1-a"}
    [ -f "$file" ] && is_earlier "\${attempt%/container}" "$2" || continue
    find_docker
    $as_docker docker rm -f "$(cat "$file")" > /dev/null 2>&1 && rm -f "$file"
  done
}
is_earlier() { case $1 in '' | *[!0-9]*) return 1 ;; esac; [ "$1" -lt "$2" ]; }

raise_open_files() {
  [ "$(ulimit -S -n)" != unlimited ] && [ "$(ulimit -S -n)" -lt 100000 ] || return 0
  hard=$(ulimit -H -n)
  if [ "$hard" = unlimited ] || [ "$hard" -ge 100000 ]; then ulimit -S -n 100000; return; fi
  (ulimit -n 100000) 2>/dev/null && ulimit -n 100000 && return
  ulimit -S -n "$hard"
  [ "$hard" -ge 10000 ] ||
    echo "jobctl: a process can open $hard files on this host, not 100000"
}
`;

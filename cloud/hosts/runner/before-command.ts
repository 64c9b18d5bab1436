/**
 * What must be true before a command begins: nothing of an earlier attempt runs, nobody else has the accelerators, no
 * lock file of a libtpu that is gone, and room for 100,000 open files. Globs, lock files and the wait come from the run's plan.
 */
export const BEFORE_COMMAND = `
# 'sudo -n' where that works and is needed, into 'as_root': other users' processes and files are root's to see.
find_root() { as_root=; [ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && as_root='sudo -n'; }; return 0; }

# 'PID (COMMAND), ..' of the processes that have one of these files open, as far as our rights go.
holders() {
  for file in "$@"; do set -- "$@" -o -lname "$file"; shift; done
  shift
  $as_root find /proc/[0-9]*/fd -maxdepth 1 \\( "$@" \\) 2>/dev/null | cut -d/ -f3 | sort -un | while read -r pid; do
    echo "$pid ($(tr '\\0\\n' '  ' < "/proc/$pid/cmdline" 2>/dev/null | cut -c1-160 | sed 's/ *$//'))"
  done | paste -sd, - | sed 's/),/), /g'
}

# An accelerator serves one process. Fails when they are busy for longer than the plan waits, and leaves who in 'blocked'.
await_devices() {
  rm -f "$run/blocked"
  set --
  for file in $devices; do [ -e "$file" ] && set -- "$@" "$file"; done
  [ $# -gt 0 ] && [ "$device_wait_ms" -gt 0 ] || return 0
  find_root
  limit=$(($(now_ms) + device_wait_ms))
  while busy=$(holders "$@"); [ -n "$busy" ]; do
    [ ! -f "$run/stop" ] || return 1
    [ "$(now_ms)" -lt "$limit" ] || { blocked "accelerator devices ($*) are in use by process $busy"; return 1; }
    sleep 0.5
  done
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

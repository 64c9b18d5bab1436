/**
 * The command of a workspace: it looks every half minute at most whether anybody uses the host, and keeps what it saw in `use` of
 * its run, from where `status` reads it (docs/adr/0166). Use is a login, a process that uses an accelerator, or a load of the
 * processor by processes of people. What cannot be looked at is reported as such. Between two looks it glances at the logins, since
 * an rsync takes a second.
 *
 * A login is an open SSH connection with a process of its own. Processes are told by `SSH_CONNECTION` in their environment, which
 * every SSH server sets, and connections by /proc/net/tcp: a program that was left running by a login that is over is none. The
 * worker's own connection is told by the calls of this runner on it. A connection that only forwards ports has no process, so it is
 * told by the name that OpenSSH gives to its own. In a pod a login is what exec has started: its parent is outside of the pod.
 */

/** Percent of one processor core from which on processes count as use. Idle editors and notebook servers take less. */
const LEAST_LOAD = 10;

export const USE = `
proc=/proc

# What one look at the processes needs: parts behind a line of their name. Whose are read depends on our rights. A glance needs no load.
seen_processes() {
  echo part tcp
  cat "$proc/net/tcp" "$proc/net/tcp6" 2> /dev/null
  echo part environ
  grep -sHza -e '^SSH_CONNECTION=' -e '^JOBCTL_RUN_DIR=' "$proc"/[0-9]*/environ | tr '\\0' '\\n'
  echo part runner
  grep -sHza -A1 '/\\.jobctl/runner-[0-9a-f]*\\.sh$' "$proc"/[0-9]*/cmdline | tr '\\0' '\\n'
  # In a pod the call is in a shell of its own, and names the runner in its script.
  echo part calls
  [ $kind = ssh ] || grep -lsa '\\.jobctl/runner-[0-9a-f]*\\.sh' "$proc"/[0-9]*/cmdline
  echo part sessions
  [ "$use_whole" = no ] || [ -n "$1" ] || grep -lsE '/user\\.slice/|docker|libpod|containerd|kubepods' "$proc"/[0-9]*/cgroup
  echo part forwards
  grep -lszE "^sshd(-session)?: $(id -un)(@internal-sftp)?$" "$proc"/[0-9]*/cmdline
  echo part before
  [ -n "$1" ] || [ ! -f "$run/ticks" ] || cat "$run/ticks"
  echo part stat
  cat "$proc"/[0-9]*/stat 2> /dev/null
}

# Who uses the host by its processes, into 'in_use'; empty: nobody. Fails where that cannot be seen, for the reason in 'unseen'. The
# first look knows no load. With a second word only logins count, and the look leaves no trace.
look_at_processes() {
  kind=ssh
  ! in_pod || kind=pod
  found=$(seen_processes "\${2-}" | LC_ALL=C awk -v kind=$kind -v ms="$1" -v glance="\${2-}" -v ticks="$run/ticks.new" '
    function pid_in(path) { match(path, /\\/[0-9]+\\/(environ|cmdline|cgroup)/); path = substr(path, RSTART + 1); sub(/\\/.*/, "", path); return path }
    function below_runner(pid, steps) {
      for (steps = 0; steps < 64 && pid > 1; steps++) { if (pid in verb) return 1; pid = parent[pid] }
      return 0
    }
    function port(number) { return sprintf("%04X", number) }
    /^part / { part = $2; next }
    part == "tcp" {
      if ($1 == "sl") { isTcp = 1; next }
      if ($4 == "01") { split($2, here, ":"); split($3, there, ":"); open[here[2] ":" there[2]] = 1 }
      next
    }
    part == "environ" {
      pid = pid_in($0)
      if (match($0, /environ:SSH_CONNECTION=/)) connection[pid] = substr($0, RSTART + RLENGTH); else if ($0 ~ /environ:JOBCTL_RUN_DIR=/) marked[pid] = 1
      next
    }
    part == "runner" {
      if ($0 !~ /\\/cmdline[:-]/) next
      pid = pid_in($0)
      if ($0 ~ /\\/cmdline:/) { if (!(pid in verb)) verb[pid] = "" } else { sub(/^.*\\/cmdline-/, ""); if (verb[pid] == "") verb[pid] = $0 }
      next
    }
    part == "calls" { if (!(pid_in($0) in verb)) verb[pid_in($0)] = ""; next }
    part == "sessions" { session[pid_in($0)] = 1; next }
    part == "forwards" { forwards++; next }
    part == "before" { before[$1 " " $2] = $3; isLater = 1; next }
    part == "stat" && /^[0-9]+ \\(/ {
      pid = $1; match($0, /\\(.*\\) /); name[pid] = substr($0, RSTART + 1, RLENGTH - 3); sub(/^.*\\) /, "")
      if ($1 == "Z" || $1 == "X") next
      parent[pid] = $2; time[pid] = $12 + $13 + $14 + $15; start[pid] = $20; count++
    }
    END {
      if (!count || kind == "ssh" && !isTcp) exit 1
      split("supervise child watch sign guard keep use", words, " ")
      for (each in words) lasting[words[each]] = 1
      for (pid in verb) if ((pid in connection) && !(verb[pid] in lasting)) ours[connection[pid]] = 1
      for (pid in parent) {
        isOurs = (pid in marked) || below_runner(pid)
        isPersons = kind == "pod" ? pid != 1 : (pid in connection) ? !(connection[pid] in ours) : (pid in session)
        if (kind == "pod" && !isOurs && pid != 1 && parent[pid] == 0) logins["exec"] = "exec"
        if (kind == "ssh" && !isOurs && (pid in connection) && !(connection[pid] in ours)) {
          split(connection[pid], at, " ")
          if ((port(at[4]) ":" port(at[2])) in open) logins[connection[pid]] = at[1]
        }
        key = pid " " start[pid]
        if (glance) continue
        print key, time[pid] > ticks
        if (isOurs || !isPersons || !isLater) continue
        spent = time[pid] - ((key in before) ? before[key] : 0)
        if (spent > 0) load += spent
        if (spent > most) { most = spent; busiest = pid }
      }
      print "seen"
      for (each in logins) { many++; from = logins[each] }
      if (kind == "pod" && many) { print "a shell by exec"; exit }
      if (many == 1) { print "login from " from; exit }
      if (many) { print many " logins, one from " from; exit }
      if (forwards) { print "a forwarded connection"; exit }
      percent = ms > 0 ? load * 1000 / ms : 0
      if (percent >= ${LEAST_LOAD}) print "load of " int(percent) " % of a core, most by process " busiest " (" name[busiest] ")"
    }')
  case $found in
    seen*) in_use=$(printf '%s\\n' "$found" | sed -n '2p' | tr -d '\\000-\\037\\177' | cut -c1-200) ;;
    *) unseen='its processes cannot be read in /proc'; return 1 ;;
  esac
  [ -n "\${2-}" ] || mv -f "$run/ticks.new" "$run/ticks" 2> /dev/null
  return 0
}

# The same for processes and accelerators together.
look_for_use() {
  in_use= unseen=
  look_at_processes "$1" || return 1
  [ -z "$in_use" ] || return 0
  set --
  for file in $devices; do [ ! -e "$file" ] || set -- "$@" "$file"; done
  [ $# -gt 0 ] || return 0
  look_who "$@" || return 1
  [ -z "$busy" ] || in_use=$(printf 'accelerators in use by process %s' "$busy" | cut -c1-200)
}

# WORDS on the terminals of the login user.
tell_terminals() {
  for terminal in /dev/pts/[0-9]*; do
    [ ! -O "$terminal" ] || timeout 2 sh -c 'printf "\\r\\njobctl: %s\\r\\n" "$0" > "$1"' "$1" "$terminal" 2> /dev/null
  done
}

# Looked, seen and used, in ms since the boot; the time between two looks; words: the last use, or why nothing could be seen.
keep_use() { put_line "$run/use" "$1 $2 $3 $every_ms $4" 2> /dev/null; }

verb_use() {
  open_run "$JOBCTL_RUN_ID"
  . "$run/plan"
  find_root
  find_root() { return 0; }
  every_ms=$((use_idle_ms > 0 && use_idle_ms < 300000 ? use_idle_ms / 10 : 30000))
  glance_ms=$((every_ms < 6000 ? every_ms / 3 : 2000))
  begun=$(uptime_ms)
  looked=$begun seen=$begun used=$begun last='its start' told=no was=
  rm -f "$run/ticks"
  keep_use "$looked" "$seen" "$used" "$last"
  trap 'end_use' TERM
  while :; do
    rest_and_glance
    passed=$(($(uptime_ms) - looked)) looked=$(uptime_ms)
    if look_for_use "$passed"; then
      : "\${in_use:=$glanced}"
      # Nobody knows what was in a long gap.
      [ $((looked - seen)) -le $((every_ms * 10)) ] || { used=$looked last='a time in which it could not be looked at'; }
      [ -z "$in_use" ] || used=$looked last=$in_use
      seen=$looked words=$last unseen=
    else words=$unseen
    fi
    keep_use "$looked" "$seen" "$used" "$words"
    say_use
    say_end
  done
}

# A login that was there between two looks, into 'glanced'.
rest_and_glance() {
  glanced= left_ms=$every_ms
  while :; do
    sleep "$(seconds_of "$((left_ms > glance_ms ? glance_ms : left_ms))")" &
    { wait $!; } 2> /dev/null
    left_ms=$((left_ms - glance_ms))
    [ "$left_ms" -gt 0 ] || return 0
    # One login that was seen is enough.
    [ -z "$glanced" ] || continue
    in_use=
    ! look_at_processes 0 glance || glanced=$in_use
  done
}

# Into the log, when it changes.
say_use() {
  is=\${in_use:+in use: $in_use}
  : "\${is:=\${unseen:+cannot tell whether it is used: $unseen}}"
  : "\${is:=not in use}"
  kind=\${is%% of *} kind=\${kind%% from *} kind=\${kind%% by *}
  [ "$kind" != "$was" ] || return 0
  was=$kind
  echo "$(date -u '+%Y-%m-%d %H:%M:%S UTC'): $is"
}

# Ten minutes before its time is over, or half of a short one, for those who are logged in.
say_end() {
  [ "$use_limit_ms" -gt 0 ] && [ $told = no ] || return 0
  left=$((begun + use_limit_ms - looked))
  [ "$left" -le 600000 ] && [ "$left" -le $((use_limit_ms / 2)) ] || return 0
  told=yes
  tell_terminals "the time of this workspace is over in $((left > 120000 ? left / 60000 : left / 1000)) $([ "$left" -gt 120000 ] && echo min || echo s); it is then given back with its disk"
}

# Without a stop it comes from a machine that shuts down, or from a person who ends all of his processes. It stays: people's programs
# use the time of a notice, and the machine is let go once its command has ended.
end_use() {
  why=
  [ ! -f "$run/notice" ] || why=$(sed -n 's/.*"reason":"\\([^"]*\\)".*/\\1/p' "$run/notice" | cut -c1-200)
  if [ ! -f "$run/stop" ]; then
    [ -z "$why" ] || tell_terminals "this machine is taken away: $why"
    return 0
  fi
  tell_terminals "this workspace ends: \${why:-its job was told to end}"
  exit 0
}

# For the line of 'status': ms without use or 'unknown', and words in base64. Nothing where the run is no workspace.
use_of() {
  { read -r looked seen used every words < "$run/use"; } 2> /dev/null || return 0
  if [ $(($(uptime_ms) - looked)) -gt $((every * 4 + 60000)) ]; then idle=unknown words='its watcher does not look any more, or the disk is full'
  elif [ "$looked" -ne "$seen" ]; then idle=unknown
  else idle=$((seen - used))
  fi
  echo "$idle $(printf %s "$words" | base64 -w 0)"
}
`;

/**
 * Handles processes that still run when the command's shell has ended with code 0 (docs/adr/0122): it waits for them, or ends
 * them and names them in the output and in the exit record. `$run/left` holds their number, then a line `PID COMMAND LINE` for
 * each of the first.
 */

/** Time for leftover processes to end by themselves. Python's resource trackers end within a second of their program. */
const PATIENCE_SECONDS = 5;
/** Limits that fit into the reserved place of the exit record. */
const MOST_NAMED = 3;
const MOST_BYTES = 160;

export const LEFT_BEHIND = `
# Nobody has told the command to end.
ended_alone() { [ "$code" = 0 ] && [ "$terminated" = no ] && [ ! -f "$run/stop" ] && [ ! -f "$run/ended-by" ]; }

# Into 'pids', the oldest first. The shell's session too, where a process without our mark may be: so soon after the shell
# its number cannot be another session's.
find_left() { pids=$(session=$begun_pid; members "$mark" | sort -n); [ -n "$pids" ]; }

await_left() {
  # The hook's processes bear our mark.
  await_hook
  begun_pid=
  read -r begun_boot begun_pid begun_start supervisor started 2> /dev/null < "$run/begun"
  patient=$(($(uptime_ms) + ${PATIENCE_SECONDS}000)) told=no
  while ended_alone && find_left; do
    if [ "$(uptime_ms)" -lt "$patient" ]; then sleep 0.1
    elif [ "$wait_for" = all ]; then
      [ $told = yes ] || left_says "the command's shell has ended with code 0; waiting for what it has started, whose exit codes are not known (command.wait_for: all):" "$(list_left | shown_left)"
      told=yes
      sleep 1
    else
      list_left > "$run/left"
      # In a shell of its own: it is all that may end a session by its number.
      (session=$begun_pid; end_members "$mark" "$grace_ms")
      return 0
    fi
  done
}

list_left() {
  set -- $pids
  echo $#
  for pid; do
    line=$(head -c 1000 "/proc/$pid/cmdline" | tr '\\0\\n' '  ')
    # One that has ended meanwhile takes nobody's place.
    [ -n "$line" ] || read -r line < "/proc/$pid/comm" || continue
    printf '%s %s\\n' "$pid" "$line"
  done 2> /dev/null | head -n ${MOST_NAMED}
}

# As others may read it: a command line may hold what its writer took from a secret.
shown_left() {
  head -c 10000 | head -n ${MOST_NAMED + 1} | LC_ALL=C tr -d '\\000-\\011\\013-\\037\\177' |
    sed -e 's/\\(token\\|key\\|secret\\|passw[a-z]*\\|credentials*\\)\\([= ]\\)[^ ]*/\\1\\2***/Ig' \\
      -e 's/\\(hf_\\|gh[pousr]_\\|github_pat_\\|sk-\\|AKIA\\)[A-Za-z0-9_-]\\{10,\\}/\\1***/g' | LC_ALL=C cut -c1-${MOST_BYTES} | sed 's/ *$//'
}

# left_says WORDS LIST: into the output.
left_says() {
  {
    echo "jobctl: $1"
    printf '%s\\n' "$2" | sed -e 1d -e 's/^/jobctl:   /'
    many=$(printf '%s\\n' "$2" | head -n 1)
    [ "$many" -le ${MOST_NAMED} ] || echo "jobctl:   and $((many - ${MOST_NAMED})) more"
  } >> "$run/output" 2> /dev/null
}

# What was ended of the run, in base64 into 'left', '-' for nothing.
tell_left() {
  left=-
  [ -s "$run/left" ] || return 0
  seen=$(shown_left < "$run/left")
  left_says "the command's shell has ended with code 0, and what it had started still ran and was ended (command.wait_for: all waits for it):" "$seen"
  left=$(printf '%s\\n' "$seen" | base64 -w 0)
}
`;

/**
 * The same inside a container, run by its first process, in bash without any other program: `$1` is the run's folder, `$2` all or
 * shell, `$3` the grace in ms, `code` the shell's exit code. Processes that `docker exec` has started have no parent here. A
 * container without its own PID namespace has no such first process (docs/adr/0122).
 */
export const LEFT_IN_CONTAINER = [
  'ours() { local at=$1; while [ "${up[$at]:-0}" -gt 1 ]; do at=${up[$at]}; done; [ "${up[$at]:-0}" = 1 ]; }',
  'find_left() { local each stat fields; local -A up=(); pids=(); for each in /proc/[0-9]*; do stat=(); mapfile -d "" -t stat < $each/stat; fields=(${stat##*) }); ' +
    'case ${fields:-Z} in Z | X) ;; *) up[${each#/proc/}]=${fields[1]} ;; esac; done; ' +
    'for each in "${!up[@]}"; do ! ours $each || pids+=($each); done; [ ${#pids[@]} -gt 0 ]; }',
  'list_left() { echo ${#pids[@]}; local pid line words named=0; for pid in "${pids[@]}"; do words=(); mapfile -d "" -t words < /proc/$pid/cmdline; ' +
    `[ \${#words[@]} -gt 0 ] || continue; [ $((named += 1)) -le ${MOST_NAMED} ] || break; ` +
    'line="$pid ${words[*]}"; line=${line//$\'\\n\'/ }; printf "%s\\n" "${line:0:1000}"; done; }',
  'waiting() { [ ! -f "$run/stop" ] && [ ! -f "$run/ended-by" ] && find_left; }',
  'run=$1; exec 4<> <(:); nap() { read -rt 0.2 -u 4; }',
  `if [ $code = 0 ]; then patient=$((SECONDS + ${PATIENCE_SECONDS}))`,
  'while waiting && [ $SECONDS -le $patient ]; do nap; done',
  `if [ "$2" = all ]; then ! waiting || echo "jobctl: the command's shell has ended with code 0; waiting for what it has started (processes: \${#pids[@]}), whose exit codes are not known (command.wait_for: all)"; while waiting; do nap; done`,
  'elif waiting; then list_left > "$run/left"; kill -TERM "${pids[@]}"; limit=$((SECONDS + ($3 + 999) / 1000)); while find_left && [ $SECONDS -lt $limit ]; do nap; done; fi; fi',
].join('; ');

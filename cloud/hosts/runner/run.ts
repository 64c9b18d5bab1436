/** The verbs of one run (start, status, stop, follow), and the two processes that a start leaves: supervise and child. */
export const RUN_STATUS = `
open_run() {
  case $1 in '' | .* | *[!A-Za-z0-9._-]*) die "run id '$1': use letters, digits, '.', '_' and '-'" ;; esac
  id=$1
  run=$base/runs/$1
  mark=JOBCTL_RUN_DIR=$run
}

# Does a starter, supervisor or not yet begun child live? Shared, so that two who look do not exclude each other.
held() { [ -f "$run/lock" ] && ! flock -s -n "$run/lock" true; }

output_bytes() { { wc -c < "$run/output"; } 2> /dev/null || echo 0; }

# Milliseconds since the boot, which nobody sets.
uptime_ms() { read -r up rest < /proc/uptime && echo "\${up%.*}\${up#*.}0"; }

# How many ms ago the time $1 of this host's clock was, at least: by how much somebody set that clock forward since the run began
# is taken off, and no more than the run is old. '-' without the two times of its beginning: an earlier version began it.
ago() {
  [ -f "$run/clock" ] && read -r clock_then up_then < "$run/clock" || { echo -; return; }
  now=$(now_ms) age=$(($(uptime_ms) - up_then))
  leap=$((now - clock_then - age)) past=$((now - $1))
  [ $leap -le 0 ] || past=$((past - leap))
  [ $past -le $age ] || past=$age
  [ $past -ge 0 ] || past=0
  echo $past
}

# How long ago the output was written to, at least; '-' where a full disk took nothing of what may have been printed.
quiet() {
  room=$(stat -f -c %a "$run/output") && [ "$room" -gt 0 ] || { echo -; return; }
  # Elsewhere a comma may stand before the fraction.
  written=$(LC_ALL=C stat -c %.3Y "$run/output") && ago "\${written%.*}\${written#*.}"
}

# Whether the API's warning lies there, maybe of a worker that is gone.
warned() { [ -f "$run/warning.api" ] && echo warned || echo -; }

# The exit record into variables. Fails where there is none, or one of which a full or broken disk kept a part: no end is read from that.
read_exit() {
  code= signal= started= ended= how= why= killed= left=
  { read -r code signal started ended how why killed left < "$run/exit"; } 2> /dev/null || return 1
  case $code:$started:$ended in *[!0-9:]* | :* | *::* | *:) return 1 ;; esac
}

exited() {
  stopped=-
  [ -f "$run/stop" ] && stopped=stopped
  echo "exited $code \${signal:--} $started $ended $(output_bytes) $stopped $(ago "$ended") \${how:--} \${why:--} \${killed:--} \${left:--}"
}

# What holds a run whose supervisor is gone: its container, or the processes that carry its mark.
lives() {
  [ -f "$run/container" ] || { [ -n "$(members "$mark")" ]; return; }
  read -r container < "$run/container"
  find_docker
  container_lives
}

# A container keeps its exit code: without a supervisor, whoever asks first puts it on the disk.
recover_exit() {
  [ -f "$run/container" ] && [ "$container_is" = exited ] || return 1
  (exec 9>>"$run/lock"; flock 9; read_exit || { read -r begun_boot begun_pid begun_start supervisor started < "$run/begun"; terminated=no; settle "$container_code" - && record; })
  read_exit
}

# What it waits for is in 'waiting'.
starting() {
  waits=
  [ ! -f "$run/waiting" ] || read -r waits < "$run/waiting"
  echo "starting\${waits:+ $waits}"
}

# One line. The lock is held from before 'begun' is there until 'exit' is: so look at begun first, then at the lock.
state() {
  read_exit && { exited; return; }
  begun=no
  [ -f "$run/begun" ] && begun=yes && read -r begun_boot begun_pid begun_start supervisor started < "$run/begun"
  if held; then
    [ $begun = yes ] && { use=$(use_of); echo "running $started $(output_bytes) $(quiet) $(warned)\${use:+ $use}"; } || starting
  elif read_exit; then exited
  elif [ $begun = no ]; then not_begun
  elif [ "$begun_boot" != "$(boot)" ]; then echo "lost $(output_bytes) restarted"
  elif lives; then
    # Unknown is neither alive nor dead.
    [ "\${container_is:-}" != unknown ] || die "status of $id: docker does not answer: $seen"
    echo "orphaned $(output_bytes)"
  elif recover_exit; then exited
  else echo "lost $(output_bytes) unrecorded"
  fi
}

# Processes of a run whose folder somebody has removed: it has begun, and a second start would be one beside it.
is_left() { [ ! -f "$run/begun" ] && ! held && [ -n "$(members "$mark")" ]; }

not_begun() {
  if [ -f "$run/begun" ]; then starting
  elif is_left; then echo 'orphaned 0'
  elif [ -f "$run/blocked" ] && [ ! -f "$run/stop" ]; then echo "blocked $(cat "$run/blocked")"
  else echo absent
  fi
}

# $(..) is a shell of its own: what ends it must end us too.
say_state() { now=$(state) || exit 70; say "$now"; }

# How the run of 'started' ended, into the variables of its exit record. $1: its code. $2: how the host was, '-' = nobody looked. $3: when.
settle() {
  code=$1 how=$2 ended=\${3:-$(now_ms)}
  # What came meanwhile tells as much.
  [ "$terminated" = no ] || [ "$how" = preempted ] || how=stopping
  signal=
  [ "$1" -gt 128 ] && [ "$1" -lt 193 ] && signal=$(kill -l "$1" 2>/dev/null) && signal=SIG$signal
  why=-
  [ ! -f "$run/ended-by" ] || read -r why < "$run/ended-by"
  killed=$(kills_since)
  tell_left
}

# These variables into the reserved place of the exit record. Fails where the disk does not take them; may be repeated.
record() {
  line="$code \${signal:--} $started $ended \${how:--} \${why:--} \${killed:--} \${left:--}"
  { printf '%s\\n' "$line" 1<> "$run/exit.new" && place "$run/exit.new" "$run/exit"; } 2> /dev/null
}
`;

export const RUN_START = `
# The greatest epoch of job $1 that has begun here, into 'known'.
known_epoch() { known=0; [ ! -f "$base/epochs/$1" ] || read -r known < "$base/epochs/$1"; }

# start ID JOB EPOCH and the BYTES of plan, env, env.list, script and hook, all on stdin: nothing starts before all is here.
verb_start() {
  open_run "$1"
  attend
  job=$2 epoch=$3
  known_epoch "$job"
  [ "$known" -gt "$epoch" ] && { say "fenced $known"; return; }
  { [ -f "$run/begun" ] || [ -f "$run/exit" ] || is_left; } && { say_state; return; }
  mkdir -p "$run" || die "cannot make $run"
  if ! take_parts "$4" "$5" "$6" "$7" "$8"; then
    drop_parts
    die "start of $id: the script did not arrive whole, or the disk is full; nothing was started"
  fi
  launch
  drop_parts
  known_epoch "$job"
  [ "$known" -gt "$epoch" ] && [ ! -f "$run/begun" ] && { say "fenced $known"; return; }
  say_state
}

PARTS='plan env env.list script hook'
# Two starters of one run do not write the same file. What may be secret is the login user's alone.
take_parts() {
  (umask 077; take "$1" "$run/plan.$$" && take "$2" "$run/env.$$" && take "$3" "$run/env.list.$$") &&
    take "$4" "$run/script.$$" && take "$5" "$run/hook.$$"
}
drop_parts() { for part in $PARTS; do rm -f "$run/$part.$$"; done; }
place_parts() { for part in $PARTS; do mv -f "$run/$part.$$" "$run/$part" || return 1; done; }

launch() {
  exec 9>>"$run/lock"
  tries=0
  # Somebody who looks at the status holds the lock for a moment; another starter until its command has begun, or waits for a device.
  until flock -n 9; do
    [ -f "$run/begun" ] || { [ -f "$run/waiting" ] && [ $tries -gt 100 ]; } && break
    tries=$((tries + 1))
    [ $tries -gt 1000 ] && break
    sleep 0.01
  done
  if [ ! -f "$run/begun" ] && [ ! -f "$run/stop" ] && flock -n 9; then
    rm -f "$run/waiting"
    place_parts && : >> "$run/output" && : >> "$run/metrics" || die "cannot write in $run"
    # The place of the exit record is taken now, so that a log that fills the disk cannot cost the exit code.
    printf '%-1500s\\n' reserved > "$run/exit.new" || die "no room for the exit record in $run"
    printf '%-20s\\n' "$(uptime_ms)" > "$run/attended" || die "cannot write in $run"
    # setsid -f and not '&': a background job of sh would keep SIGINT and SIGQUIT ignored for ever.
    setsid -f sh "$0" supervise "$id" "$job" "$epoch" < /dev/null > /dev/null 2>&1
    exec 9>&-
    while [ ! -f "$run/begun" ] && [ ! -f "$run/waiting" ] && held; do sleep 0.01; done
  fi
  exec 9>&-
}

# Holds the lock (inherited) until the exit record is on the disk. Its own words must not get into the output.
verb_supervise() {
  open_run "$1"
  exit_url= exit_proof=
  . "$run/plan"
  # Of a system that shuts down, or of somebody who ends all processes: who ends the command alone does not end its supervisor.
  terminated=no
  trap 'terminated=yes' TERM
  setsid sh "$0" watch "$id" $$ < /dev/null > /dev/null 2>&1 8>&- 9>&- &
  watch=$!
  setsid sh "$0" sign "$id" $$ < /dev/null > /dev/null 2>&1 8>&- 9>&- &
  sign=$!
  setsid sh "$0" guard "$id" < /dev/null > /dev/null 2>&1 8>&- 9>&- &
  guard=$!
  setsid sh "$0" keep "$id" < /dev/null > /dev/null 2>&1 8>&- 9>&- &
  keep=$!
  # The child says by it when its command began, which nobody who removes the folder can take back.
  exec 7<> "$run/exit.new"
  JOBCTL_RUN_DIR=$run JOBCTL_RUN_ID=$id JOBCTL_NOTICE_FILE=$run/notice JOBCTL_WARNING_FILE=$run/warning JOBCTL_METRICS_FILE=$run/metrics JOBCTL_RUNNER=$0 \\
    setsid sh "$0" child "$id" "$2" "$3" $$
  code=$?
  started=
  { read -r started < /proc/self/fd/7; } 2> /dev/null
  exec 7>&-
  rm -f "$run/env" "$run/env.list"
  case $started in '' | *[!0-9]*) read -r begun_boot begun_pid begun_start supervisor started 2> /dev/null < "$run/begun" ;; esac
  case $started in '' | *[!0-9]*) started= ;; esac
  [ -n "$started" ] || { kill -KILL -$watch -$sign -$guard -$keep 2>/dev/null; exit 0; }
  if [ -f "$run/container" ]; then await_container || exit 0; else await_left; fi
  ended=$(now_ms)
  # A system that shuts down sends SIGTERM to all: what is started here outlives it, or the run is lost with its record.
  trap '' TERM
  how=$(host_condition)
  trap 'terminated=yes' TERM
  # The command may have ended before its watch heard of the preemption. What the hook saves is lost with the exit record.
  [ "$how" != preempted ] || save_first preemption 30000
  await_hook
  trap '' TERM
  # Before the record, behind which nobody reads on.
  [ "$code" -eq 0 ] || [ -f "$run/stop" ] || [ -f "$run/gone" ] || (exec 8>&- 9>&-; find_gone; [ -z "$gone" ] || tell_gone)
  settle "$code" "$how" "$ended"
  record && tries=0 || tries=60
  # By exec: sh would keep a copy of what a function's own redirection closes, and so the lock for as long as the store refuses.
  (exec < /dev/null > /dev/null 2>&1 8>&- 9>&-; publish "$(exited)") &
  # A disk that takes nothing for a moment; a folder that is gone does not come back.
  while [ $tries -gt 0 ] && [ -d "$run" ]; do
    sleep 2
    record && break
    tries=$((tries - 1))
  done
  wake_keeper
  rm -f "$run/hook.env"
  kill -KILL -$watch -$sign -$guard 2>/dev/null
  [ ! -f "$run/container" ] || remove_container
}

# Locks out the other attempts of job $1 and makes $2 the greatest epoch, unless it is no longer wanted.
claim_epoch() {
  exec 8>>"$base/epochs/$1.lock"
  flock 8
  [ -f "$run/stop" ] && exit 75
  known_epoch "$1"
  [ "$known" -gt "$2" ] && exit 75
  [ "$known" -eq "$2" ] || { echo "$2" > "$base/epochs/$1.new" && mv -f "$base/epochs/$1.new" "$base/epochs/$1"; } || exit 75
}

# Becomes the user's command. Keeps the lock until 'begun' is there, so that no second starter can come between.
verb_child() {
  open_run "$1"
  # Not where it is started: sh would put its own words about how the child ended there too.
  exec >> "$run/output" 2>&1
  outputs_dir=
  . "$run/plan"
  claim_epoch "$2" "$3"
  end_earlier "$2" "$3"
  exec 8>&-
  await_devices 9>&- || exit 75
  clear_lock_files
  make_output_dir || { blocked "cannot make the folder of outputs, $outputs_dir"; exit 75; }
  claim_epoch "$2" "$3"
  [ ! -s "$run/hook" ] || [ -n "$container" ] || (umask 077; cp "$run/env" "$run/hook.env") || exit 75
  [ -z "$container" ] || [ -n "$gone" ] || create_container
  created=$?
  started=$(now_ms)
  { echo "$started $(uptime_ms)" > "$run/clock.new" && mv -f "$run/clock.new" "$run/clock"; } 2> /dev/null
  echo "$(boot) $$ $(start_time $$) $4 $started" > "$run/begun.new" || exit 75
  place "$run/begun.new" "$run/begun" || exit 75
  echo "$started" >&7
  exec 7>&- 8>&-
  [ -z "$gone" ] || { tell_gone; exit 125; }
  [ $created -eq 0 ] || exit 125
  ! in_pod || { memory_kills > "$run/memory-kills"; } 2> /dev/null
  echo "$id $started $$" >> "$base/starts.log"
  [ -z "$container" ] || start_container
  exec 9>&-
  cd "$HOME" || cd /
  raise_open_files
  # Without --login, which reads .bash_logout at the end: that can change the exit code, or never return. Without .bashrc,
  # which bash reads where it takes itself for a shell of sshd.
  unset BASH_ENV
  exec bash --norc -c "$TAKE_LIMIT" "$(limit_of "$mark")" bash --norc -c "$LOGIN_FILES$COMMAND" "$run/script"
}

# Sourced, not an argument: an argument ends at 128 KiB and everybody on the host can read it. No MEGASCALE_* of an
# earlier attempt's, which a login file may have kept: jax.distributed hangs on it.
COMMAND='unset "\${!MEGASCALE_@}"; . "$JOBCTL_RUN_DIR/env"; : > "$JOBCTL_RUN_DIR/env"; rm -f -- "$JOBCTL_RUN_DIR/env"; . "$0"'
`;

export const RUN_STOP = `
# stop ID GRACE_MS NOTICE. The mark first: what has not begun then never will. What has ended by itself gets none.
# The notice before SIGTERM, and never half of it: who is told by the signal finds out there why.
verb_stop() {
  open_run "$1"
  if ! read_exit; then
    # On a full disk the mark may not be written: what has begun can be stopped without it, and without a notice.
    { mkdir -p "$run" && : > "$run/stop"; } || [ -f "$run/begun" ] || die "cannot write in $run"
    gang_of_told "$3" || put_line "$run/notice" "$3"
  fi
  limit=$(($(now_ms) + 10000))
  while [ ! -f "$run/begun" ] && held && [ "$(now_ms)" -lt "$limit" ]; do sleep 0.02; done
  grace=$2
  # What the pool takes back, or the provider another host of its gang. Whoever else stops it waits for a hook that is under way.
  asked=$(uptime_ms)
  case $3 in
    '{"v":1,"cause":"quota",'*) save_first quota "$grace" ;;
    '{"v":1,"cause":"preemption",'*) save_first preemption "$grace" ;;
    *) await_hook ;;
  esac
  if gang_of_told "$3"; then await_end "$((grace - $(uptime_ms) + asked))"; fi
  grace=$((grace - $(uptime_ms) + asked))
  [ ! -f "$run/container" ] || { stop_container "$grace"; await_release; grace=200; }
  end_members "$mark" "$grace" || die "stop of $id: processes that cannot be killed: $(members "$mark" | tr '\\n' ' ')"
  await_release
  now=$(state) || exit 70
  [ ! -f "$run/container" ] || remove_container
  # Where nobody lived to take them away.
  rm -f "$run/env" "$run/env.list" "$run/hook.env"
  say "$now"
}

# NOTICE: whether it comes of the end of a gang to a host that was told of its own end: a second SIGTERM ends many a program at once.
gang_of_told() {
  case $1 in '{"v":1,"cause":"preemption",'*) [ -f "$run/told" ] ;; *) return 1 ;; esac
}

# MOST_MS
await_end() {
  limit=$(($(now_ms) + $1))
  while [ ! -f "$run/exit" ] && [ "$(now_ms)" -lt "$limit" ]; do sleep 0.05; done
}

# For the supervisor, which has the exit record to write.
await_release() {
  limit=$(($(now_ms) + 10000))
  while held && [ "$(now_ms)" -lt "$limit" ]; do sleep 0.02; done
}

verb_status() {
  open_run "$1"
  attend
  say_state
}

# follow ID OFFSET SECONDS poll|inotify [METRICS]. tail ends by itself after a last read when the process it watches is gone.
# It watches a child of ours that waits for the run: the supervisor itself would stay as a zombie where init reaps late.
# The metrics file goes to stderr from its byte METRICS on. It is the program's: it may be gone, or no file any more.
verb_follow() {
  open_run "$1"
  attend
  printf '\\001jobctl-follow\\n'
  [ -d "$run" ] || return 0
  now=$(state) || exit 70
  while [ "\${now%% *}" = starting ]; do sleep 0.05; now=$(state) || exit 70; done
  [ -f "$run/output" ] || return 0
  metrics=
  [ -z "\${5:-}" ] || [ ! -f "$run/metrics" ] || { metrics=$5; printf '\\001jobctl-follow\\n' >&2; }
  case $now in
    running*) flock -s "$run/lock" true & ;;
    orphaned*) while lives; do sleep 1; done & ;;
    *)
      [ -z "$metrics" ] || tail -c "+$((metrics + 1))" "$run/metrics" >&2 2> /dev/null
      exec tail -c "+$(($2 + 1))" "$run/output" ;;
  esac
  watched=$!
  inotify=---disable-inotify
  [ "$4" = inotify ] && inotify=
  following=
  if [ -n "$metrics" ]; then
    tail -c "+$((metrics + 1))" --pid=$watched -s "$3" $inotify -f "$run/metrics" >&2 2> /dev/null &
    following=$!
  fi
  tail -c "+$(($2 + 1))" --pid=$watched -s "$3" $inotify -f "$run/output" &
  # Reaps the watched child too. A tail that a cut connection ended must not leave it behind.
  wait $!
  code=$?
  kill $watched 2>/dev/null
  [ -z "$following" ] || wait $following
  return $code
}
`;

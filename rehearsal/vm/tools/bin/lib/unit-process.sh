# shellcheck shell=sh disable=SC2154
# Sourced for units of the user's own: ExecStart becomes a process of the VM, which ends with the VM.

# Settings of [Service] that work here. Any other one is reported, so that users do not rely on it.
DONE='Type ExecStart ExecStartPre ExecStop User Group WorkingDirectory Environment EnvironmentFile StandardOutput StandardError RemainAfterExit KillMode TimeoutStartSec TimeoutStopSec TimeoutSec SyslogIdentifier'
NOT_DONE='Restart RestartSec LimitNOFILE LimitMEMLOCK Nice TasksMax StartLimitInterval StartLimitBurst'

setting() { # FILE KEY: all values, a line each
  sed -n "/^\[Service\]/,/^\[[^S]/s/^$2[[:space:]]*=[[:space:]]*//p" "$1"
}

process_state() { # a process that ended with a code other than 0 is failed
  pid=$(kept "$1" pid) || { echo inactive; return; }
  if [ "$pid" != 0 ] && kill -0 "$pid" 2>/dev/null; then echo active; return; fi
  case $(kept "$1" code) in
    0) if [ "$(setting "$(unit_file "$1")" RemainAfterExit)" = yes ]; then echo active; else echo inactive; fi ;;
    stopped) echo inactive ;;
    *) echo failed ;;
  esac
}

change_process() { # VERB UNIT
  case $1 in
    stop | kill) stop_process "$2" ;;
    try-restart | reload) [ "$(process_state "$2")" != active ] || { stop_process "$2"; start_process "$2"; } ;;
    start) [ "$(process_state "$2")" = active ] || start_process "$2" ;;
    *) stop_process "$2"; start_process "$2" ;;
  esac
}

check_settings() { # FILE
  sed -n '/^\[Service\]/,/^\[[^S]/s/^\([A-Za-z]*\)[[:space:]]*=.*/\1/p' "$1" | sort -u | while read -r key; do
    case " $DONE " in *" $key "*) continue ;; esac
    case " $NOT_DONE " in *" $key "*) echo "systemctl: stand-in of the rehearsal: $key= of $1 has no effect here" >&2; continue ;; esac
    echo "$key"
  done
}

start_process() {
  file=$(unit_file "$1")
  strange=$(check_settings "$file")
  [ -z "$strange" ] || not_known "$(echo $strange | sed 's/ /=, /g')= in $file"
  type=$(setting "$file" Type | tail -n 1)
  case ${type:-simple} in simple | exec | oneshot | idle) ;; *) not_known "Type=$type in $file" ;; esac
  mkdir -p "$state/units/$1"
  keep "$1" since "$(date '+%a %Y-%m-%d %H:%M:%S %Z')"
  rm -f "$state/units/$1/code"
  setsid sh "$here/lib/run-unit.sh" "$file" "$state/units/$1" "$(setting "$file" User | tail -n 1)" >>"$state/units/$1/log" 2>&1 </dev/null &
  keep "$1" pid "$!"
  [ "${type:-simple}" = oneshot ] || return 0
  wait "$!" && return 0
  echo "Job for $1 failed because the control process exited with error code." >&2
  echo "See \"systemctl status $1\" and \"journalctl -xeu $1\" for details." >&2
  return 1
}

stop_process() {
  pid=$(kept "$1" pid) || return 0
  keep "$1" code stopped
  [ "$pid" = 0 ] || kill -TERM "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || return 0
  tries=100 # of 0.1 s; then SIGKILL, as after TimeoutStopSec
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
  ! kill -0 "$pid" 2>/dev/null || kill -KILL "-$pid" 2>/dev/null || true
}

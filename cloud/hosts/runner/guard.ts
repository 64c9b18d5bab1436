/**
 * Ends a run by the host's own clock: after its \`limit_ms\`, or if no worker has asked about it for its \`unattended_ms\`
 * (docs/adr/0049). The clock counts since the boot: it cannot be set, and no run survives a boot.
 */
export const GUARD = `
# A worker speaks of this run. In place, which a full disk allows too.
attend() { [ ! -f "$run/attended" ] || printf '%-20s\\n' "$(uptime_ms)" 1<> "$run/attended"; }

seconds_of() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# guard ID. Also of a run whose supervisor is gone.
verb_guard() {
  open_run "$1"
  while [ ! -f "$run/begun" ] || [ ! -f "$run/clock" ]; do
    held || return 0
    sleep 0.5
  done
  . "$run/plan"
  [ "$limit_ms" -gt 0 ] || [ "$unattended_ms" -gt 0 ] || return 0
  read -r clock_then begun_up < "$run/clock"
  while [ ! -f "$run/exit" ] && { held || lives; }; do
    heard_up=$begun_up
    read -r heard_up < "$run/attended"
    left=60000
    [ "$limit_ms" -eq 0 ] || until_ms "$((begun_up + limit_ms))" limit
    [ "$unattended_ms" -eq 0 ] || until_ms "$((heard_up + unattended_ms))" unattended
    sleep "$(seconds_of "$left")"
  done
}

# until_ms UPTIME WHY: no longer than until then is waited; it is over: the run is ended.
until_ms() {
  rest=$(($1 - $(uptime_ms)))
  [ "$rest" -gt 0 ] || { end_run "$2"; exit 0; }
  [ "$rest" -ge "$left" ] || left=$rest
}

end_run() {
  put_line "$run/ended-by" "$1"
  case $1 in unattended)
    put_line "$run/notice" '{"v":1,"cause":"unattended","reason":"no worker has spoken with this host for '$((unattended_ms / 1000))' s (max_unattended)","graceSeconds":'$((grace_ms / 1000))'}'
    save_first unattended "$hook_ms" ;;
  esac
  [ ! -f "$run/container" ] || stop_container "$grace_ms"
  end_members "$mark" "$grace_ms"
}
`;

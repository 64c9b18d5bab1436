# shellcheck shell=sh disable=SC2154
# Sourced by systemctl and journalctl: which units there are, and what their verbs do.
# $state/units/UNIT/ holds `active` (active | inactive | failed), `enabled`, `since`, `pid`, `log`.

# Units of Google's image for TPU VMs that job files meet (facts: JobMan's and Bastion's set-up scripts).
VM_UNITS='docker.service docker.socket containerd.service ssh.service cron.service google-guest-agent.service
google-startup-scripts.service google-osconfig-agent.service unattended-upgrades.service apt-daily.service apt-daily.timer
apt-daily-upgrade.service apt-daily-upgrade.timer rsyslog.service systemd-resolved.service tpu-runtime.service snapd.service'

unit_name() {
  case $1 in
    sshd | sshd.service) echo ssh.service ;;
    *.service | *.timer | *.socket | *.target | *.mount) printf '%s\n' "$1" ;;
    */* | *[!A-Za-z0-9@_.:-]*) not_known "the unit name $1" ;;
    *) printf '%s.service\n' "$1" ;;
  esac
}

unit_file() {
  for folder in /etc/systemd/system ${REHEARSAL_TOOLS_STATE:+"$state/systemd"}; do
    [ ! -f "$folder/$1" ] || { printf '%s\n' "$folder/$1"; return 0; }
  done
  return 1
}

is_vm_unit() { case " $(echo $VM_UNITS) " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# A file under /etc/systemd/system is the user's only if the VM has no unit of that name: this computer's files are there too.
is_known() { is_vm_unit "$1" || unit_file "$1" >/dev/null; }

keep() { mkdir -p "$state/units/$1" && printf '%s\n' "$3" >"$state/units/$1/$2"; }
kept() { cat "$state/units/$1/$2" 2>/dev/null; }

active_state() {
  if is_vm_unit "$1"; then kept "$1" active || echo active; return; fi
  . "$here/lib/unit-process.sh"
  process_state "$1"
}

not_found() { # VERB UNIT, by the verb's own code
  case $1 in
    status) printf 'Unit %s could not be found.\n' "$2" >&2; return 4 ;;
    enable | disable | mask | unmask | reenable) printf 'Failed to %s unit: Unit file %s does not exist.\n' "$1" "$2" >&2; return 1 ;;
    *) printf 'Failed to %s %s: Unit %s not found.\n' "$1" "$2" "$2" >&2; return 5 ;;
  esac
}

change() { # VERB UNIT
  is_known "$2" || { not_found "$1" "$2"; return; }
  if [ "$(kept "$2" enabled)" = masked ] && [ "$1" != stop ]; then
    printf 'Failed to %s %s: Unit %s is masked.\n' "$1" "$2" "$2" >&2
    return 1
  fi
  if ! is_vm_unit "$2"; then . "$here/lib/unit-process.sh"; change_process "$1" "$2"; return; fi
  case $1 in
    stop | kill) keep "$2" active inactive ;;
    try-restart | reload) [ "$(active_state "$2")" = active ] || return 0 ;;
    *) keep "$2" active active && keep "$2" since "$(date '+%a %Y-%m-%d %H:%M:%S %Z')" ;;
  esac
  printf '%s systemd[1]: %s %s (no process: a stand-in).\n' "$(date '+%b %d %H:%M:%S')" "$1" "$2" >>"$state/units/$2/log"
}

enable() { # VERB UNIT
  is_known "$2" || { not_found "$1" "$2"; return; }
  case $1 in
    enable | reenable) keep "$2" enabled enabled ;;
    mask) keep "$2" enabled masked && [ -n "$quiet" ] || echo "Created symlink /etc/systemd/system/$2 → /dev/null." >&2 ;;
    *) keep "$2" enabled disabled ;;
  esac
}

is_active() {
  if is_known "$1"; then found=$(active_state "$1"); else found=inactive; fi
  [ -n "$quiet" ] || echo "$found"
  [ "$found" = active ] || return 3
}

is_failed() {
  if is_known "$1"; then found=$(active_state "$1"); else found=inactive; fi
  [ -n "$quiet" ] || echo "$found"
  [ "$found" = failed ]
}

enabled_state() { kept "$1" enabled || if is_vm_unit "$1"; then echo enabled; else echo disabled; fi; }

is_enabled() {
  is_known "$1" || { echo "Failed to get unit file state for $1: No such file or directory" >&2; return 1; }
  found=$(enabled_state "$1")
  [ -n "$quiet" ] || echo "$found"
  [ "$found" = enabled ]
}

status() {
  is_known "$1" || { not_found status "$1"; return; }
  found=$(active_state "$1")
  case $found in active) word='active (running)' mark='●' ;; failed) word='failed' mark='×' ;; *) word='inactive (dead)' mark='○' ;; esac
  file=$(unit_file "$1") || file=/lib/systemd/system/$1
  printf '%s %s - %s (stand-in of the rehearsal)\n' "$mark" "$1" "${1%.*}"
  printf '     Loaded: loaded (%s; %s)\n' "$file" "$(enabled_state "$1")"
  printf '     Active: %s since %s\n' "$word" "$(kept "$1" since || echo boot)"
  [ "$found" = active ] || return 3
}

unit_text() {
  file=$(unit_file "$1") || { echo "No files found for $1." >&2; return 1; }
  printf '# %s\n' "$file"; cat "$file"
}

show() {
  if is_known "$1"; then load=loaded found=$(active_state "$1"); else load=not-found found=inactive; fi
  case $found in active) sub=running ;; failed) sub=failed ;; *) sub=dead ;; esac
  for pair in "Id=$1" "LoadState=$load" "ActiveState=$found" "SubState=$sub" "MainPID=$(kept "$1" pid || echo 0)"; do
    case ",${property:-${pair%%=*}}," in *",${pair%%=*},"*) if [ -n "$value" ]; then echo "${pair#*=}"; else echo "$pair"; fi ;; esac
  done
}

list_units() {
  printf '  %-36s %-6s %-8s %s\n' UNIT LOAD ACTIVE DESCRIPTION
  for unit in $VM_UNITS $(ls "$state/units" 2>/dev/null); do echo "$unit"; done | sort -u | while read -r unit; do
    printf '  %-36s loaded %-8s %s\n' "$unit" "$(active_state "$unit")" "${unit%.*}"
  done
}

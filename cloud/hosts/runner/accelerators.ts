/**
 * Finds the processes that use a host's accelerators (docs/adr/0116). A TPU serves one process, so a process with its device open
 * uses it. An NVIDIA or AMD device may be open in programs that only watch it (nvidia-persistenced, exporters), so their drivers
 * are asked for the computing processes, which needs no right. Sources for nvidia-smi's answers: NVIDIA's manual page and one
 * H100, driver 580.159.04, 2026-11-26. For AMD: `/sys/class/kfd/kfd/proc`, which `rocm-smi --showpids` reads (ROCm 6.1), never
 * tested on such a machine. GPUs that a claim has are known by their UUIDs (docs/adr/0177). nvidia-smi's words about a lost one are
 * those of NVIDIA/nvidia-docker#1553, NVIDIA/open-gpu-kernel-modules#387 and JosephKJ/OWOD#81.
 */
export const ACCELERATORS = `
# 'sudo -n' where that works and is needed, into 'as_root': other users' processes and files are root's to see.
find_root() { as_root=; [ "$(id -u)" = 0 ] || { sudo -n true 2>/dev/null && as_root='sudo -n'; }; return 0; }

# The command line of process $1 in one line. Where the driver's name $2 is not that of its program, they are of two PID namespaces.
command_of() {
  line=$(tr '\\0\\n' '  ' < "/proc/$1/cmdline" 2>/dev/null | cut -c1-160 | sed 's/ *$//')
  case \${2:-} in
    '' | '['*) echo "\${line:-$2}" ;;
    *) first=\${line%% *} named=\${2%% *}
      if [ "\${first##*/}" = "\${named##*/}" ]; then echo "$line"; else echo "$2"; fi ;;
  esac
}
# Lines 'PID NAME' of stdin as 'PID (COMMAND), ..'
named() {
  sort -un | while read -r pid name; do echo "$pid ($(command_of "$pid" "$name"))"; done | paste -sd, - | sed 's/),/), /g'
}

# The processes that have one of these files open, as far as our rights go.
opened() {
  for file in "$@"; do set -- "$@" -o -lname "$file"; shift; done
  shift
  $as_root find /proc/[0-9]*/fd -maxdepth 1 \\( "$@" \\) 2>/dev/null | cut -d/ -f3
}
holders() { opened "$@" | named; }

# A login without a terminal may lack its folder in PATH.
find_smi() {
  smi=$(command -v nvidia-smi) && return
  for smi in /usr/bin /usr/local/bin /usr/local/nvidia/bin /var/lib/nvidia/bin /usr/lib/wsl/lib; do
    smi=$smi/nvidia-smi
    [ ! -x "$smi" ] || return 0
  done
  return 1
}

# nvidia-smi with these words; its answer into 'answer' and 'whole'. Fails where it does, with the reason in 'answer'. Not waited for
# where its driver hangs: no signal ends that.
ask_smi() {
  said=$base/smi.$$
  (timeout -k 1 10 "$smi" "$@" > "$said" 2>&1; echo $? > "$said.code") < /dev/null > /dev/null 2>&1 &
  asked_at=$(now_ms) code=124
  until [ -s "$said.code" ] || [ $(($(now_ms) - asked_at)) -gt 12000 ]; do sleep 0.05; done
  [ ! -s "$said.code" ] || read -r code < "$said.code"
  answer=$(cat "$said" 2>/dev/null)
  whole=$answer
  rm -f "$said" "$said.code"
  case $code in
    0) return 0 ;;
    124 | 137) answer="does not answer within 10 s" ;;
    *) answer="ended with code $code: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300)" ;;
  esac
  return 1
}

# The uuids of the GPUs in 'own_gpus', which are uuids or indexes, into 'uuids'.
own_uuids() {
  uuids=
  case $own_gpus in '') return 0 ;; GPU-* | MIG-*) uuids=$own_gpus; return 0 ;; esac
  ask_smi --query-gpu=index,uuid --format=csv,noheader || { unseen="nvidia-smi $answer"; return 1; }
  for gpu in $own_gpus; do
    uuid=$(printf '%s\\n' "$answer" | sed -n "s/^ *$gpu *, *\\([^ ,]*\\).*$/\\1/p")
    [ -n "$uuid" ] || { unseen="nvidia-smi has no GPU $gpu"; return 1; }
    uuids="$uuids $uuid"
  done
}
# Of lines 'UUID, ..' the rest of those with these uuids; other lines as they are.
of_gpus() {
  awk -v own=" $* " '/^(GPU|MIG)-/ { uuid = $1; sub(/,$/, "", uuid); if (!index(own, " " uuid " ")) next; sub(/^[^,]*, */, "") } { print }'
}
# Which of 'claimed_gpus' the driver has lost, into 'gone', and its words about it into 'unseen'. One GPU that is lost may make the
# answer about all fail, so each is asked for alone then. A driver that does not answer in time says nothing of any.
find_gone() {
  gone= unseen=
  [ -n "$claimed_gpus" ] || return 0
  find_smi || { gone=$claimed_gpus unseen='nvidia-smi is not there'; return 0; }
  if ask_smi --query-gpu=uuid --format=csv,noheader; then
    for gpu in $claimed_gpus; do printf '%s\\n' "$whole" | grep -qxF "$gpu" || gone="$gone $gpu"; done
    unseen='nvidia-smi does not list it'
  elif [ "$code" != 124 ] && [ "$code" != 137 ]; then
    for gpu in $claimed_gpus; do
      ask_smi -i "$gpu" --query-gpu=uuid --format=csv,noheader
      case $code:$whole in
        0:*"$gpu"*) ;;
        124:* | 137:*) gone=; return 0 ;;
        *'is lost'* | *'fallen off'* | *'device handle'* | *'No devices'* | *'NVIDIA driver'* | *'version mismatch'*) gone="$gone $gpu" unseen="nvidia-smi $answer" ;;
      esac
    done
  fi
  gone=$(echo $gone)
}

# Says it in the output, by words that domain/recovery/broken-machine.ts knows.
tell_gone() {
  : > "$run/gone"
  echo "jobctl: GPUs of this job are gone: $gone ($unseen)" >> "$run/output"
}

# Lines 'PID NAME' of who computes on NVIDIA devices, of those in 'own_gpus' if it names any. Of MPS its clients count, and not the
# server, which stays when they are gone.
nvidia_users() {
  own_uuids || return 1
  ask_smi --query-compute-apps=\${uuids:+gpu_uuid,}pid,process_name --format=csv,noheader || { unseen="nvidia-smi $answer"; return 1; }
  [ -z "$uuids" ] || answer=$(printf '%s\\n' "$answer" | of_gpus $uuids)
  odd=$(printf '%s\\n' "$answer" | grep -Eiv '^ *$|^[0-9]+ *,|^warning|^no running' | head -n 1)
  [ -z "$odd" ] || { unseen="nvidia-smi says '$odd' where it is asked which processes compute"; return 1; }
  users=$(printf '%s\\n' "$answer" | sed -n 's/^\\([0-9][0-9]*\\) *, *\\(.*\\)$/\\1 \\2/p' | while read -r pid name; do
    case \${name##*/}:$(cat "/proc/$pid/comm" 2>/dev/null) in nvidia-cuda-mps-server*:* | '['*:nvidia-cuda-mps*) ;; *) echo "$pid $name" ;; esac
  done)
}

# Who uses these device files, as 'PID (COMMAND), ..' into 'busy'; empty: nobody. Fails where it cannot be seen; why, or what it could not
# look at, is in 'unseen'. In a pod all that has a device open is the pod's own.
look_who() {
  busy= unseen= users= nvidia= amd= files=
  for file in "$@"; do
    case $file in
      */nvidia[0-9]*) nvidia="$nvidia $file" ;;
      */kfd) amd="$amd $file" ;;
      *) files="$files $file" ;;
    esac
  done
  find_root
  if in_pod; then files=$*
  else
    [ -z "$nvidia" ] || if find_smi; then nvidia_users || return 1
    else
      unseen='nvidia-smi is not there: who only watches the device counts as its user'
      files="$files$nvidia"
    fi
    if [ -z "$amd" ]; then :
    elif [ -d /sys/class/kfd/kfd/proc ]; then users="$users
$(ls /sys/class/kfd/kfd/proc)"
    else files="$files$amd"
    fi
  fi
  if [ -n "$files" ]; then
    [ -n "$as_root" ] || [ "$(id -u)" = 0 ] ||
      unseen="\${unseen:+$unseen; }without sudo other users' processes are not seen"
    users="$users
$(opened $files)"
  fi
  busy=$(printf '%s\\n' "$users" | grep '[0-9]' | named)
}
`;

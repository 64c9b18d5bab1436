/**
 * Reads what `jobctl doctor --machines` judges, and changes nothing. It prints sections as programs print them, each behind a line
 * `section NAME`; cloud/hosts/machine-facts.ts reads them.
 */
export const EXAMINE = `
section() { say "section $1"; }

# examine [ADDRESS..]: of a job's other hosts, which this one may have to reach.
verb_examine() {
  section clock
  now_ms
  timeout 5 timedatectl show -p NTPSynchronized --value 2> /dev/null
  section disk
  df -Pk "$HOME" /dev/shm 2> /dev/null | tail -n +2
  find_root
  examine_nvidia
  section peers
  # By their numbers: a driver that hangs keeps a child of ours for ever.
  probes=
  for peer; do for port in $PROBED_PORTS; do probe "$peer" "$port" & probes="$probes $!"; done; done
  [ -z "$probes" ] || wait $probes
  section end
}

examine_nvidia() {
  set -- $(devices_of NVIDIA)
  find_smi || [ $# -gt 0 ] || return 0
  section nvidia
  if ! find_smi; then echo "failed: there is no nvidia-smi, and $# devices"
  elif ask_smi -q -x; then printf '%s\\n' "$answer" | sed '/<supported_clocks>/,/<\\/supported_clocks>/d; /<processes>/,/<\\/processes>/d'
  else echo "failed: nvidia-smi $answer"
  fi
  section toolkit
  { nvcc --version || /usr/local/cuda/bin/nvcc --version; } 2> /dev/null | sed -n 's/.*release \\([0-9.]*\\).*/cuda \\1/p'
  nvidia-ctk --version 2> /dev/null | sed -n 's/.*version \\([0-9.]*\\).*/container \\1/p'
  section kernel
  { $as_root dmesg || timeout 10 journalctl -k -b -q --no-pager; } > "$base/kernel.$$" 2> /dev/null || echo unreadable
  grep -aE 'NVRM: Xid|fallen off the bus' "$base/kernel.$$" | tail -n 200
  rm -f "$base/kernel.$$"
}

# One that PyTorch's launchers take, and one of those that the kernel gives out, as NCCL's are. Nobody listens, which is an answer too.
PROBED_PORTS='29400 45678'
probe() {
  said=$(LC_ALL=C timeout 4 bash -c 'exec 3<> "/dev/tcp/$0/$1"' "$1" "$2" 2>&1) && word=open || case $?:$said in
    124:*) word=silent ;;
    *refused*) word=refused ;;
    *'not known'* | *resolution*) word=unknown ;;
    *) word=unreachable ;;
  esac
  echo "$1 $2 $word"
}
`;

import { CLAIM_FILE, ENDED_FOLDER, MACHINE_FOLDER } from '../claim-fence.js';

/**
 * The verbs of a machine that outlives its slices (docs/adr/0070). Its claim says which slice holds it: a file that a hard link
 * makes, so that it is there whole, and once. What is given back has a mark, so that the same claim that comes late is refused.
 */
export const MACHINE = `
held_by() { holder=; [ -f "$claim" ] && read -r holder < "$claim"; [ -n "$holder" ]; }
open_machine() {
  case $1 in '' | .* | *[!A-Za-z0-9._-]*) die "claim '$1': use letters, digits, '.', '_' and '-'" ;; esac
  id=$1
  machine=$HOME/${MACHINE_FOLDER}
  claim=$machine/${CLAIM_FILE}
  ended=$machine/${ENDED_FOLDER}
  mkdir -p -m 700 "$machine" && mkdir -p "$ended" || die "cannot make $machine"
}

# claim ID BYTES: stdin is the claim, whose first line is ID. The same again is the same claim.
verb_claim() {
  open_machine "$1"
  find "$ended" -type f -mtime +30 -delete 2>/dev/null
  new=$machine/new.$$
  # Of a host that lost its power behind the link, it is the claim that stands, by its other name: to write there would change it.
  rm -f "$new"
  take "$2" "$new" || { rm -f "$new"; die 'the claim did not come whole'; }
  sync "$new" 2>/dev/null
  said=taken
  if [ -e "$ended/$id" ]; then said=ended
  elif ln "$new" "$claim" 2>/dev/null; then
    said=claimed
    # Who gives it back marks it before it looks: one of the two sees the other.
    [ ! -e "$ended/$id" ] || { rm -f "$claim"; said=ended; }
    sync "$machine" 2>/dev/null
  elif cmp -s "$new" "$claim"; then said=claimed
  fi
  rm -f "$new"
  say "$said"
  [ $said != taken ] || cat "$claim"
}

# holder ID: the claim as it is, and whether ID is given back.
verb_holder() {
  open_machine "$1"
  if [ -e "$ended/$id" ]; then say ended; else say open; fi
  [ ! -f "$claim" ] || cat "$claim"
}

# vacate ID GRACE_MS: nothing of ID begins any more, and what runs is ended; then the claim goes.
verb_vacate() {
  open_machine "$1"
  : > "$ended/$id" && sync "$ended" 2>/dev/null
  [ -e "$ended/$id" ] || die "cannot write in $ended"
  held_by && [ "$holder" = "$id" ] || { say vacated; return; }
  clear_runs "$2"
  # What passed the fence before the mark, and began after the look.
  sleep 0.3
  clear_runs 0
  # Another worker may have done the same, and another claim may have come since.
  exec 9> "$machine/lock"
  flock 9
  held_by && [ "$holder" = "$id" ] && rm -f "$claim"
  sync "$machine" 2>/dev/null
  say vacated
}

clear_runs() {
  (verb_modules_stop) > /dev/null
  for each in "$base"/runs/*/; do
    [ -d "$each" ] || continue
    each=\${each%/}
    run_id=\${each##*/}
    (verb_stop "$run_id" "$1" '{"v":1,"cause":"cancel","reason":"the machine is given back","graceSeconds":'$(($1 / 1000))'}') > /dev/null || exit 70
    # Its outputs are stored, or went with the machine as they do with a VM.
    rm -rf "$each" "$base/outputs/\${run_id%-a*}"
  done
}

# inspect TYPE COUNT MINIMUM_KB: one line for each thing that is wrong. TYPE '-': it has no accelerator. stdin: the operator's check.
verb_inspect() {
  free=$(df -Pk "$HOME" | awk 'NR == 2 { print $4 }')
  [ "\${free:-0}" -ge "$3" ] || say "problem: \${free:-0} KiB are free in $HOME, and $3 are needed"
  case $1 in
    -) set -- ;;
    v[0-9]* | tpu*) inspect_devices "$2" TPU '/dev/accel[0-9]* /dev/vfio/[0-9]*' ;;
    mi[0-9]*) inspect_devices "$2" AMD '/dev/dri/renderD*' ;;
    *) inspect_devices "$2" NVIDIA '/dev/nvidia[0-9]*' && inspect_nvidia "$2" ;;
  esac
  check=$(cat)
  [ -n "$check" ] || { say inspected; return; }
  answer=$(printf '%s\\n' "$check" | timeout 60 sh -s 2>&1)
  code=$?
  [ $code -eq 0 ] || say "problem: its check ended with code $code: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300)"
  say inspected
}

# inspect_devices COUNT MAKER GLOBS
inspect_devices() {
  wanted=$1 maker=$2 globs=$3
  set --
  for file in $globs; do [ ! -e "$file" ] || set -- "$@" "$file"; done
  [ $# -eq "$wanted" ] || { say "problem: it has $# $maker devices ($globs), and the pool file says $wanted"; return 1; }
  find_root
  busy=$(holders "$@")
  [ -z "$busy" ] || say "problem: accelerator devices are in use by process $busy"
}

inspect_nvidia() {
  command -v nvidia-smi > /dev/null || { say 'problem: nvidia-smi is not there: install the NVIDIA driver'; return; }
  answer=$(timeout 30 nvidia-smi -L 2>&1) || { say "problem: nvidia-smi -L failed: $(printf '%s' "$answer" | tail -n 1 | cut -c1-300)"; return; }
  seen=$(printf '%s\\n' "$answer" | grep -c '^GPU ')
  [ "$seen" -eq "$1" ] || say "problem: nvidia-smi -L lists $seen GPUs, and the pool file says $1"
}
`;

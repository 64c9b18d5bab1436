import { JOBS_FOLDER } from '../port.js';

/**
 * Finds the output files and their hashes (docs/adr/0059). It is the first part of the program that stores them, in bash, which
 * every command needs. Names may contain any bytes, so lists go through pipes with NUL between, and keys of tables begin with a
 * slash.
 */
export const OUTPUTS_SCAN = `
set -u
export LC_ALL=C
shopt -s nullglob globstar
work=$run/outputs woken=
declare -A known_sum=() known_meta=() md5_of=() sent=()
last_entries=none
# Of a machine that outlives its slices: older files are of earlier jobs, or of a person (docs/adr/0155).
since=$HOME/${JOBS_FOLDER}/\${id%-a*}
[ -f "$since" ] && since=(-newercm "$since") || since=()

# Of a fixed length and in place, which a full disk allows.
put_state() { printf '%-3900s\\n' "$1" 1<> "$work/state"; }
problem() { [ \${#problems[@]} -ge 5 ] && more=$((more + 1)) || problems+=("\${1:0:300}"); }

# JSON text of $1 into REPLY.
json() {
  REPLY=$1
  case $1 in *[\\\\\\"[:cntrl:]]*) ;; *) return 0 ;; esac
  REPLY=\${REPLY//\\\\/\\\\\\\\} REPLY=\${REPLY//\\"/\\\\\\"} REPLY=\${REPLY//$'\\n'/\\\\n}
  case $REPLY in *[[:cntrl:]]*) ;; *) return 0 ;; esac
  local text=$REPLY at one
  REPLY=
  for ((at = 0; at < \${#text}; at++)); do
    one=\${text:at:1}
    case $one in [[:cntrl:]]) printf -v one '\\\\u%04x' "'$one" ;; esac
    REPLY+=$one
  done
}
json_list() {
  local list= one
  for one; do json "$one"; list+="\${list:+,}\\"$REPLY\\""; done
  REPLY="[$list]"
}

# ROOT PATH..: what find sees of them, into files, folders, links, and what they look like.
take() {
  local root=$1 meta name target
  shift
  while IFS= read -r -d '' meta && IFS= read -r -d '' name && IFS= read -r -d '' target; do
    hit=yes name=\${name#"$root/"}
    if [ -n "\${root_of["/$name"]:-}" ]; then
      [ "\${root_of["/$name"]}" = "$root" ] ||
        problem "$name: is in \\$JOBCTL_OUTPUT_DIR and in the folder of the command; the former is stored"
      continue
    fi
    root_of["/$name"]=$root
    case $meta in
      f*) files+=("$name") meta_of["/$name"]=\${meta#* } ;;
      d*) folders+=("$name") ;;
      u*) problem "$name: cannot be read" ;;
      *) link "$root" "$name" "$target" ;;
    esac
  done < <(exec 7>&-; find -P "$@" -type d ! -readable -printf 'u\\0%p\\0\\0' -prune -o \\
    \\( -type f -o -type l -o -type d -empty \\) "\${since[@]}" -printf '%y %s %T@ %C@ %i %m\\0%p\\0%l\\0')
}

# A link is stored as one, if it leads to a place that is in the same folder.
link() {
  local path=$1/$2 to=$3 folder
  folder=\${path%/*}
  case $to in /*) ;; *) to=$folder/$to ;; esac
  case $(realpath -ms --relative-to="$1" -- "$to") in
    .. | ../*) problem "$2: is a symbolic link that leads out of the folder (to $3); not stored" ;;
    *) links+=("$2") target_of["/$2"]=$(realpath -ms --relative-to="$folder" -- "$to") ;;
  esac
}

scan() {
  files=() folders=() links=() unmatched=()
  root_of=() meta_of=() target_of=()
  [ ! -d "$outputs_dir" ] || take "$outputs_dir" "$outputs_dir" -mindepth 1
  local pattern match above found hit IFS=
  while IFS= read -r pattern; do
    [ -n "$pattern" ] || continue
    found=()
    cd "$outputs_base" 2> /dev/null && for match in $pattern; do
      match=\${match%/}
      [ -e "$match" ] || [ -L "$match" ] || continue
      above=$match
      while case $above in */*) ;; *) false ;; esac; do
        above=\${above%/*}
        [ ! -L "$above" ] || { problem "$match: $above is a symbolic link; not stored"; continue 2; }
      done
      found+=("$outputs_base/$match")
    done
    [ \${#found[@]} -gt 0 ] || { unmatched+=("$pattern"); continue; }
    hit=
    for match in "\${found[@]}"; do take "$outputs_base" "$match"; done
    [ -n "$hit" ] || [ \${#since[@]} = 0 ] || unmatched+=("$pattern")
  done < <(printf '%s\\n' "$outputs_patterns")
  cd /
}

# A file that grows as long as the program runs, and of which each beginning is good. Nothing but its name tells it from a checkpoint
# that is being written.
is_log() {
  case \${1##*/} in *.log | *.log.[0-9]* | *.jsonl | *.csv | *.tsv | *.out | *.err | *tfevents* | *.wandb) ;; *) return 1 ;; esac
}

# What a scan saw, as a word. Two that are the same saw the same files: a write changes a time of its file, and a rename its folder.
look() {
  local name
  {
    for name in "\${files[@]}"; do is_log "$name" || printf '%s\\0%s\\0' "$name" "\${meta_of["/$name"]}"; done
    for name in "\${links[@]}"; do printf '%s\\0%s\\0' "$name" "\${target_of["/$name"]}"; done
    printf '%s\\0' "\${folders[@]}"
  } | md5sum
}

# Into base64 the text of the 32 hexadecimal digits $1.
BASE64=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/
base64_of() {
  local hex=\${1}0000 at bits
  base64=
  for ((at = 0; at < 33; at += 6)); do
    bits=$((16#\${hex:at:6}))
    base64+=\${BASE64:bits>>18:1}\${BASE64:(bits>>12)&63:1}\${BASE64:(bits>>6)&63:1}\${BASE64:bits&63:1}
  done
  base64=\${base64:0:22}==
}

# Hashes of what looks different from before. What changes meanwhile keeps what was stored of it before, if anything was.
hash_files() {
  local todo=() name sum record now
  now=$(date +%s)
  sum_of=()
  for name in "\${files[@]}"; do
    if [ "\${known_meta["/$name"]:-}" = "\${meta_of["/$name"]}" ]; then sum_of["/$name"]=\${known_sum["/$name"]}
    else todo+=("\${root_of["/$name"]}/$name"); fi
  done
  [ \${#todo[@]} -gt 0 ] || return 0
  local -A sums=() md5s=() after=()
  while IFS= read -r -d '' record; do sums["\${record:66}"]=\${record:0:64}; done \\
    < <(exec 7>&-; printf '%s\\0' "\${todo[@]}" | xargs -0 sha256sum -z --)
  while IFS= read -r -d '' record; do md5s["\${record:34}"]=\${record:0:32}; done \\
    < <(exec 7>&-; printf '%s\\0' "\${todo[@]}" | xargs -0 md5sum -z --)
  while IFS= read -r -d '' record && IFS= read -r -d '' name; do after["$name"]=$record; done \\
    < <(exec 7>&-; printf '%s\\0' "\${todo[@]}" | xargs -0 sh -c 'find "$@" -maxdepth 0 -printf "%s %T@ %C@ %i %m\\0%p\\0"' sh)
  for name in "\${files[@]}"; do
    [ -z "\${sum_of["/$name"]:-}" ] || continue
    record=\${root_of["/$name"]}/$name
    # Gone since it was seen.
    [ -n "\${after["$record"]:-}" ] || continue
    if [ -z "\${sums["$record"]:-}" ] || [ -z "\${md5s["$record"]:-}" ]; then problem "$name: cannot be read"
    elif [ "\${after["$record"]}" != "\${meta_of["/$name"]}" ]; then changed+=("$name")
    else
      sum=\${sums["$record"]}
      sum_of["/$name"]=$sum md5_of["$sum"]=\${md5s["$record"]}
      known_sum["/$name"]=$sum known_meta["/$name"]=\${meta_of["/$name"]}
      # What was written a moment ago may change once more without looking different.
      record=\${meta_of["/$name"]#* }
      [ "\${record%%.*}" -lt $((now - 2)) ] || known_meta["/$name"]=
    fi
  done
}
`;

/** Limit of a list of files that a worker takes, because it is in the worker's memory. About 100,000 files. */
export const MOST_MANIFEST_BYTES = 16 * 1024 * 1024;

/**
 * The way in which a host without an identity gives its files to its worker (docs/adr/0129). The worker calls the program and
 * talks with it: the worker's words are read from descriptor 5, the program's go to 6. The program sends `contents`, with a line
 * `NUMBER SHA256 SIZE` for each and `end`, or `manifest BYTES` and the bytes. For each content the worker requests as many bytes
 * as it wants (`send NUMBER OFFSET LENGTH`), and then reports the result. If the worker has gone, the program ends, and the next
 * worker calls it again. No temporary files: the disk may be full.
 */
export const BY_WORKER = `
# Waits SECONDS. Fails if the worker goes meanwhile, which says nothing unasked.
nobody() { IFS= read -r -t "$1" <&5; [ $? -gt 128 ]; }

# OFFSET LENGTH of a file: as many bytes, whatever has become of it. What comes of that is compared by the worker.
piece() {
  if [ "$2" = 0 ]; then cat -- "$1" /dev/zero
  else tail -c "+$(($2 + 1))" -- "$1"; exec cat /dev/zero
  fi 2> /dev/null 7>&- | head -c "$3" 7>&- >&6
}

offer() {
  local first at name word offset length
  trouble=
  for ((first = 0; first < \${#queue[@]}; first += 1000)); do
    {
      echo contents
      for ((at = first; at < first + 1000 && at < \${#queue[@]}; at++)); do
        name=\${queue[at]}
        echo "$at \${sum_of["/$name"]} \${meta_of["/$name"]%% *}"
      done
      echo end
    } >&6
    while IFS=' ' read -r word at offset length <&5 || exit 0; do
      case $word in
        end) break ;;
        later) trouble="$at $offset $length" ;;
        send) name=\${queue[at]} && piece "\${root_of["/$name"]}/$name" "$offset" "$length" ;;
        have) sent["\${sum_of["/\${queue[at]}"]}"]=yes ;;
        # It was written to meanwhile.
        changed) name=\${queue[at]} && known_meta["/$name"]= sum_of["/$name"]= changed+=("$name") ;;
      esac
    done
    [ -z "$trouble" ] || return 1
  done
}

offer_manifest() {
  # Bytes: LC_ALL is C.
  [ \${#text} -le ${MOST_MANIFEST_BYTES} ] || { refused="there are more files than a list of ${MOST_MANIFEST_BYTES / 1_048_576} MiB can name; store an archive of them"; return; }
  printf 'manifest %s\\n%s' \${#text} "$text" >&6
  IFS=' ' read -r said code <&5 || exit 0
  case $said in stored) trouble=stored ;; refused) refused=$code ;; *) trouble=$code ;; esac
}
`;

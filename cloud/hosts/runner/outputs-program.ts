import { BY_WORKER, OUTPUTS_SCAN } from './outputs-scan.js';
import { CURLRC, VM_TOKEN } from '../../../domain/modules/host-scripts.js';

/**
 * The process that stores outputs (docs/adr/0059). A round finds the files, hashes those that look different from the last round,
 * and uploads contents that the store lacks (named by their SHA-256, with their MD5, which the store compares). Then it uploads
 * the manifest in one request, so a manifest only names complete contents. No temporary files: the disk may be full.
 * A round is whole if nothing but logs changed from its first look to its last. It then has the files of one moment, as a
 * checkpoint of several files needs (docs/adr/0124).
 * A host without its own identity gives everything to its worker over the worker's connection (docs/adr/0129).
 */
export const OUTPUTS_PROGRAM = `${OUTPUTS_SCAN}${VM_TOKEN}${BY_WORKER}
quoted() {
  REPLY=\${1//\\\\/\\\\\\\\} REPLY=\${REPLY//\\"/\\\\\\"} REPLY=\${REPLY//$'\\n'/\\\\n}
  REPLY=\${REPLY//$'\\t'/\\\\t} REPLY=\${REPLY//$'\\r'/\\\\r} REPLY=\${REPLY//$'\\v'/\\\\v}
}

authorize() {
  header=
  [ "$outputs_as" = service-account ] || return 0
  local token
  token=$(vm_token 7>&-)
  [ -n "$token" ] || { refused='the VM has no service account with a token'; return 1; }
  header="header = \\"Authorization: Bearer $token\\""
}

${CURLRC}
# Whole lines at a time: four of these write into one pipe. What else curl prints is not passed on: it may hold the token.
curls() { curl --disable --fail-early --config <(printf '%s\\n' "\${1#next}") 2>&1 7>&- | grep -a --line-buffered -E '^(said|curl: \\([0-9]+\\)) '; }

# One request of curl's configuration: URL, FILE, NUMBER, and further lines. URL and token are in no command line.
block() {
  quoted "$2"
  printf 'next\\n%s\\nsilent\\nshow-error\\ngloboff\\nconnect-timeout = 5\\nspeed-limit = 1\\nspeed-time = 30\\noutput = "/dev/null"\\n' "$curlrc"
  printf 'url = "%s"\\nupload-file = "%s"\\nwrite-out = "%s%%{http_code} %s\\\\n"\\n%s\\n%s\\n' "$1" "$REPLY" 'said ' "$3" "$header" "$4"
}
asked() {
  printf 'next\\n%s\\nsilent\\nhead\\ngloboff\\nconnect-timeout = 5\\nmax-time = 20\\noutput = "/dev/null"\\nurl = "%s"\\n' "$curlrc" "$1"
  printf 'write-out = "said %%{http_code} %s\\\\n"\\n%s\\n' "$2" "$header"
}
BIG=1048576

# STRIDE NUMBER: every STRIDE-th of what is to be sent. Contents of a MiB and more are asked for first: another host or attempt
# may have sent them.
send_part() {
  local at name sum url lines said code number
  local -A there=()
  lines=$(for ((at = $2; at < \${#queue[@]}; at += $1)); do
    name=\${queue[at]}
    [ "\${meta_of["/$name"]%% *}" -lt $BIG ] || asked "\${outputs_object/SHA256/\${sum_of["/$name"]}}" $at
  done)
  [ -z "$lines" ] || while read -r said code number; do [ "$said $code" != 'said 200' ] || there["$number"]=yes; done \\
    < <(curls "$lines")
  lines=$(for ((at = $2; at < \${#queue[@]}; at += $1)); do
    [ -z "\${there["$at"]:-}" ] || continue
    name=\${queue[at]} sum=\${sum_of["/\${queue[at]}"]}
    base64_of "\${md5_of["$sum"]}"
    block "\${outputs_object/SHA256/$sum}" "\${root_of["/$name"]}/$name" $at "header = \\"Content-MD5: $base64\\"
header = \\"x-goog-if-generation-match: 0\\""
  done)
  for number in "\${!there[@]}"; do echo "said 200 $number"; done
  [ -z "$lines" ] || curls "$lines"
}

# What the store does not have, in four streams. Leaves why not in refused (nobody can mend it here) or trouble (it may pass).
send() {
  local name sum try said code number width
  local -A queued=()
  queue=()
  for name in "\${files[@]}"; do
    sum=\${sum_of["/$name"]:-}
    [ -z "$sum" ] || [ -n "\${sent["$sum"]:-}" ] || [ -n "\${queued["$sum"]:-}" ] && continue
    queued["$sum"]=yes queue+=("$name")
  done
  [ "$outputs_as" != worker ] || { offer; return; }
  for try in 1 2 3; do
    [ \${#queue[@]} -gt 0 ] || return 0
    authorize || return 1
    trouble=
    width=4
    [ \${#queue[@]} -ge 4 ] || width=\${#queue[@]}
    while read -r said code number; do
      if [ "$said" != said ]; then [ -n "$trouble" ] || trouble="$said $code $number"; continue; fi
      case $code in
        2?? | 412) sent["\${sum_of["/\${queue[number]}"]}"]=yes ;;
        # The store's own comparison: it was written to while it was sent.
        400) known_meta["/\${queue[number]}"]= sum_of["/\${queue[number]}"]= changed+=("\${queue[number]}") ;;
        401 | 403) refused="$(whose) may not write to $outputs_place (HTTP $code)" ;;
        404) refused="$outputs_place: there is no such bucket (HTTP 404)" ;;
        *) [ -n "$trouble" ] || trouble="the store answers with HTTP $code" ;;
      esac
    done < <(for ((number = 0; number < width; number++)); do send_part $width $number & done; wait)
    [ -z "$refused" ] || return 1
    local left=()
    for name in "\${queue[@]}"; do
      sum=\${sum_of["/$name"]}
      [ -z "$sum" ] || [ -n "\${sent["$sum"]:-}" ] || left+=("$name")
    done
    queue=("\${left[@]}")
    [ \${#queue[@]} -eq 0 ] || [ $try = 3 ] || sleep $try 7>&-
  done
  [ \${#queue[@]} -eq 0 ] || { [ -n "$trouble" ] || trouble='the store gave no answer'; return 1; }
}
whose() { [ "$outputs_as" = service-account ] && echo "the VM's service account" || echo 'a host without credentials'; }

# Entries, one JSON object a line. What changed while it was read is listed as it was stored before.
entries() {
  local name sum meta place
  for name in "\${files[@]}"; do
    sum=\${sum_of["/$name"]:-}
    [ -n "$sum" ] || continue
    meta=\${meta_of["/$name"]}
    set -f; set -- $meta; set +f
    placed "$name"
    printf '{"path":"%s"%s,"sha256":"%s","size":%s,"mtime":%s,"mode":"%s"}\\n' "$REPLY" "$place" "$sum" "$1" "\${2:0:14}" "\${5:-644}"
  done
  for name in "\${folders[@]}"; do placed "$name"; printf '{"path":"%s"%s,"folder":true}\\n' "$REPLY" "$place"; done
  for name in "\${links[@]}"; do
    json "\${target_of["/$name"]}"
    sum=$REPLY
    placed "$name"
    printf '{"path":"%s"%s,"link":"%s"}\\n' "$REPLY" "$place" "$sum"
  done
}
# JSON text of the name $1 into REPLY, and into place of which of the two folders it is.
placed() {
  json "$1"
  [ "\${root_of["/$1"]}" = "$outputs_dir" ] && place=',"in":"dir"' || place=
}

# A content that two files have was taken from one of them, which changed meanwhile.
unsent() {
  local name
  for name in "\${files[@]}"; do
    [ -z "\${sum_of["/$name"]:-}" ] || [ -n "\${sent["\${sum_of["/$name"]}"]:-}" ] || sum_of["/$name"]= changed+=("$name")
  done
}

# The manifest in 'text'. Leaves 'stored' in trouble where it is.
put_manifest() {
  base64_of "$(printf '%s' "$text" | md5sum | cut -c1-32)"
  code=$(block "$outputs_manifest" - manifest "header = \\"Content-MD5: $base64\\"")
  while read -r said code number; do
    case "$said $code" in
      'said 2'*) trouble=stored ;;
      'said 401' | 'said 403') refused="$(whose) may not write to $outputs_place (HTTP $code)" ;;
      said*) trouble="the store answers with HTTP $code" ;;
      *) [ -n "$trouble" ] || trouble="$said $code $number" ;;
    esac
  done < <(printf '%s' "$text" | curls "$code")
}

# running|ended. 0: stored; 1: not; 2: nor ever; 3: not, since files changed meanwhile, and only a whole round is wanted.
round() {
  local -A root_of=() meta_of=() target_of=() sum_of=()
  local problems=() changed=() more=0 name refused= trouble= header= text said code number base64 whole=false first_look
  [ "$outputs_as" = worker ] || command -v curl > /dev/null || refused='this host has no curl'
  scan 2> /dev/null
  first_look=$(look)
  hash_files 2> /dev/null
  [ -n "$refused" ] || ! send || unsent
  [ "$first_look" != "$(scan 2> /dev/null; look)" ] || whole=true
  for name in "\${changed[@]}"; do is_log "$name" || whole=false; done
  if [ "$whole$outputs_whole$refused$trouble" = falseyes ]; then
    # What is stored stays: the last whole one, for the next attempt. Without any, a person may still want this one.
    [ "$1" != running ] || { [ "$last_whole" = false ] && [ $unwhole -eq 4 ]; } || return 3
    [ "$1" != ended ] || [ "$tries" -ge 3 ] || return 1
  fi
  for name in "\${changed[@]}"; do
    [ "$1" != ended ] || problem "$name: is written to all the time"
    [ -n "\${stored_sum["/$name"]:-}" ] || continue
    sum_of["/$name"]=\${stored_sum["/$name"]} meta_of["/$name"]=\${stored_meta["/$name"]}
  done
  [ "$1" != ended ] || [ \${#changed[@]} -eq 0 ] || [ "$tries" -ge 3 ] || return 1
  text=$(entries; echo .) text=\${text%.}
  if [ -z "$text" ] && [ -z "$outputs_patterns" ] && [ "$last_entries" = none ] && [ \${#problems[@]} -eq 0 ]; then
    [ "$1" != ended ] || put_state '{"state":"none"}'
    return 0
  fi
  [ "$1" = ended ] || [ "$text" != "$last_entries" ] || [ "$last_whole$whole" = falsetrue ] || return 0
  summarize "$1"
  if [ -z "$refused$trouble" ] && authorize; then
    text="{\\"v\\":1,\\"run\\":\\"$id\\",\\"state\\":\\"$1\\",\\"whole\\":$whole,$summary}
$text"
    if [ "$outputs_as" = worker ]; then offer_manifest; else put_manifest; fi
    if [ "$trouble" = stored ]; then
      trouble= last_entries=\${text#*$'\\n'} last_whole=$whole
      stored_sum=() stored_meta=()
      for name in "\${files[@]}"; do
        [ -z "\${sum_of["/$name"]:-}" ] || stored_sum["/$name"]=\${sum_of["/$name"]} stored_meta["/$name"]=\${meta_of["/$name"]}
      done
      [ "$1" != ended ] || put_state "{\\"state\\":\\"stored\\",$summary}"
      return 0
    fi
  fi
  json "\${refused:-$trouble}"
  why="\\"reason\\":\\"\${REPLY:0:500}\\",$summary"
  put_state "{\\"state\\":\\"storing\\",$why}"
  [ -z "$refused" ] || return 2
  return 1
}

# Into summary, as JSON: what is stored, what is missing.
summarize() {
  local bytes=0 count=0 name unmet= said=()
  for name in "\${files[@]}"; do
    [ -n "\${sum_of["/$name"]:-}" ] || continue
    count=$((count + 1)) bytes=$((bytes + \${meta_of["/$name"]%% *}))
  done
  [ \${#unmatched[@]} -eq 0 ] || said=("\${unmatched[@]:0:5}")
  json_list "\${said[@]}"
  unmet=$REPLY
  said=("\${problems[@]}")
  [ $more -eq 0 ] || said+=("and $more more")
  json_list "\${said[@]}"
  summary="\\"at\\":$(date +%s%3N),\\"files\\":$count,\\"bytes\\":$bytes,\\"unmatched\\":$unmet,\\"problems\\":$REPLY"
}

declare -A stored_sum=() stored_meta=()
last_whole=false unwhole=0 tries=0 pause=$outputs_every
put_state '{"state":"storing"}'
rm -f "$work/settled"
[ "$outputs_as" != worker ] || exec 5<&0 6>&1 < /dev/null > /dev/null
trap woken=yes USR1
echo $$ > "$work/pid"
until [ -f "$run/exit" ] || [ -f "$work/end" ]; do
  if [ "$outputs_as" = worker ]; then nobody "$pause" 7>&- & else sleep "$pause" 7>&- & fi
  [ -n "$woken" ] || [ -f "$work/wake" ] || wait $! || [ $? -gt 128 ] || exit 0
  # A signal would end a read of a round. Who comes meanwhile leaves the file.
  trap '' USR1
  # The supervisor ignores TERM, and what it starts too. In a pod the agent would wait for it.
  kill -KILL $! 2> /dev/null
  rm -f "$work/wake"
  [ -f "$run/exit" ] || [ -f "$work/end" ] || round running
  # Soon again, as long as a program writes: it may be what it saves at a notice.
  [ $? = 3 ] && unwhole=$((unwhole + 1)) || unwhole=0
  pause=$((unwhole > 14 ? 1024 : 1 << unwhole >> 4))
  [ $unwhole -gt 0 ] && [ "$pause" -lt "\${outputs_every%.*}" ] || pause=$outputs_every
  woken=
  trap woken=yes USR1
done
trap '' USR1
why='"reason":"files change while they are read"'
for ((tries = 1; ; tries++)); do
  round ended
  case $? in 0) break ;; 2) put_state "{\\"state\\":\\"failed\\",$why}"; break ;; esac
  # The worker does not wait for so long. A slice that is kept may.
  [ $tries -lt 60 ] || { put_state "{\\"state\\":\\"failed\\",$why}"; break; }
  sleep $((tries < 15 ? tries : 15)) 7>&-
done
: > "$work/settled"
[ "$outputs_as" != worker ] || echo settled >&6
`;

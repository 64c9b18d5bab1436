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

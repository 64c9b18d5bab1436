# shellcheck shell=sh disable=SC2154
# Sourced by gcloud if the SDK is missing: the group config, in the SDK's own file.
folder=${CLOUDSDK_CONFIG:-${HOME:-/root}/.config/gcloud}/configurations
file=$folder/config_default

SECTIONS='core compute auth storage container run functions artifacts ai builds dataproc api_endpoint_overrides billing proxy'

# section_of NAME, key_of NAME: `zone` alone is core's, as in the SDK.
section_of() { case $1 in */*) echo "${1%%/*}" ;; *) echo core ;; esac; }
key_of() { echo "${1##*/}"; }

# read_property NAME: an environment variable first, then the file, then what a VM's gcloud knows of its VM.
read_property() {
  section=$(section_of "$1") key=$(key_of "$1")
  printenv "CLOUDSDK_$(echo "${section}_$key" | tr 'a-z-' 'A-Z_')" && return 0
  text=$(sed -n "/^\[$section\]/,/^\[/s/^$key *= *//p" "$file" 2>/dev/null)
  if [ -n "$text" ]; then echo "$text"
  elif [ "$section/$key" = core/project ] && [ -n "${REHEARSAL_PROJECT:-}" ]; then echo "$REHEARSAL_PROJECT"
  else return 1; fi
}

write_property() { # NAME VALUE | NAME: without a value it is taken away
  section=$(section_of "$1") key=$(key_of "$1")
  case " $SECTIONS " in *" $section "*) ;; *) echo "ERROR: (gcloud.config.$verb) Section \"$section\" does not exist." >&2; exit 1 ;; esac
  mkdir -p "$folder" && [ -f "$file" ] || : >"$file"
  grep -q "^\[$section\]" "$file" || printf '[%s]\n' "$section" >>"$file"
  awk -v section="[$section]" -v key="$key" -v line="${2+$key = $2}" '
    $0 ~ /^\[/ { here = ($0 == section) }
    here && $0 ~ "^" key " *=" { next }
    { print }
    here && $0 == section && line != "" { print line }' "$file" >"$file.$$" && mv "$file.$$" "$file"
}

gcloud_config() { # config VERB [NAME [VALUE]]
  verb='' name='' value='' count=0
  for word in "$@"; do
    case $word in
      --quiet | -q | --installation | --format=* | --project=* | --all | --verbosity=*) continue ;;
      -*) not_known "option $word" ;;
    esac
    count=$((count + 1))
    case $count in 2) verb=$word ;; 3) name=$word ;; 4) value=$word ;; esac
  done
  case $verb in
    set) [ "$count" -eq 4 ] || { echo 'ERROR: (gcloud.config.set) argument SECTION/PROPERTY VALUE: Must be specified.' >&2; exit 2; }
      write_property "$name" "$value"
      echo "Updated property [$(section_of "$name")/$(key_of "$name")]." >&2 ;;
    unset) write_property "$name"; echo "Unset property [$(section_of "$name")/$(key_of "$name")]." >&2 ;;
    get | get-value) text=$(read_property "$name") || { echo '(unset)' >&2; return 0; }
      [ "$verb" = get ] || echo 'Your active configuration is: [default]' >&2
      echo "$text" ;;
    list) cat "$file" 2>/dev/null
      read_property project >/dev/null && ! grep -q '^project' "$file" 2>/dev/null && printf '[core]\nproject = %s\n' "$(read_property project)"
      printf '\nYour active configuration is: [default]\n' >&2 ;;
    configurations) [ "$name" = list ] || not_known "config configurations $name"
      printf 'NAME     IS_ACTIVE  PROJECT\ndefault  True       %s\n' "$(read_property project || true)" ;;
    *) not_known "config ${verb:-without a verb}" ;;
  esac
}

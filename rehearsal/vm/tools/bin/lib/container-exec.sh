# container-exec.sh HERE FOLDER ARGV [start]: becomes the command in ARGV (NUL by NUL) with the container's environment.
# The variables that stand for a TPU VM's network (emulator's address, metadata server) are passed on, as the network would be.
here=$1 folder=$2 argv=$3 start=${4:-}
python=$(command -v python3) || python=''
path=$here:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
case ":$path:" in *":${python%/*}:"*) ;; *) [ -z "$python" ] || path=$path:${python%/*} ;; esac

id=${folder##*/containers/}
set -- "REHEARSAL_CONTAINER=${id%%/*}" "PATH=$path" HOME=/root "HOSTNAME=$(uname -n)"
for name in $(env | sed -n 's/^\(REHEARSAL_[ANPRSTVZ][A-Z_]*\|STORAGE_EMULATOR_HOST\|TENSORSTORE_GCS_HTTP_URL\|GCE_METADATA_[A-Z]*\)=.*/\1/p'); do
  set -- "$@" "$name=$(printenv "$name")"
done
while IFS= read -r pair; do set -- "$@" "$pair"; done <"$folder/env"
[ ! -s "$folder/exec-env" ] || while IFS= read -r pair; do set -- "$@" "$pair"; done <"$folder/exec-env"

program=$(tr '\0' '\n' <"$argv" | head -n 1)
found=$(env -i "$@" sh -c 'command -v -- "$1"' sh "$program")
case $found in */*) ;; *) [ -z "$found" ] || found=$(env -i "$@" sh -c 'which -- "$1" 2>/dev/null' sh "$program") ;; esac
if [ -z "$found" ]; then
  code=127 text="exec: \"$program\": executable file not found in \$PATH"
  case $program in */*) [ ! -e "$program" ] && text="exec: \"$program\": stat $program: no such file or directory" || code=126 text="exec: \"$program\": permission denied" ;; esac
  if [ -z "$start" ]; then echo "OCI runtime exec failed: exec failed: unable to start container process: $text: unknown" >&2; exit "$code"; fi
  printf '%s\n' "$text" >"$folder/refusal.new" && mv "$folder/refusal.new" "$folder/refusal"
  exit "$code"
fi
[ -z "$start" ] || : >"$folder/started"
# xargs cannot pass on its own stdin, so the words come through a file descriptor of bash: sh has no arrays.
exec env -i "$@" bash -c 'mapfile -d "" -t words <"$1"; exec "${words[@]}"' bash "$argv"

# container-init.sh HERE FOLDER mounts|links: becomes the container's command, with its volumes, folder and environment.
here=$1 folder=$2 way=$3
while [ ! -e "$folder/known" ]; do sleep 0.01; done # not before the monitor has written down who this is

refuse() { # CODE TEXT
  printf '%s\n' "$2" >"$folder/refusal.new" && mv "$folder/refusal.new" "$folder/refusal"
  exit "$1"
}

while IFS= read -r volume; do
  from=${volume%%:*} rest=${volume#*:}
  to=${rest%%:*} mode=${rest#"$to"}
  from=$(cd / && readlink -f -- "$from") || refuse 125 "error mounting \"$from\""
  [ "$from" != "$to" ] || continue
  if [ "$way" = mounts ]; then
    if [ -d "$from" ]; then mkdir -p "$to"; else mkdir -p "${to%/*}/" && [ -e "$to" ] || : >"$to"; fi
    mount --rbind "$from" "$to" || refuse 125 "error mounting \"$from\" to rootfs at \"$to\""
    case $mode in :ro* | *,ro*) mount -o remount,bind,ro "$to" || refuse 125 "error mounting \"$from\" read-only" ;; esac
  elif [ ! -e "$to" ]; then
    mkdir -p "${to%/*}/" && ln -s "$from" "$to" || refuse 125 "error mounting \"$from\" to rootfs at \"$to\""
  elif [ "$(readlink -f -- "$to")" != "$from" ]; then
    refuse 125 "error mounting \"$from\" to rootfs at \"$to\": this VM has no mounts of its own, and the path is taken"
  fi
done <"$folder/volumes"

if [ -s "$folder/workdir" ]; then
  workdir=$(cat "$folder/workdir")
  mkdir -p "$workdir" && cd "$workdir" || refuse 127 "chdir to cwd (\"$workdir\") set in config.json failed"
else
  cd /
fi
exec sh "$here/lib/container-exec.sh" "$here" "$folder" "$folder/argv" start

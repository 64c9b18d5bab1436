# Makes the disk of a running VM full, or gives it room again; run in the VM, by its root. $1: fill or empty.
#
# Every folder of the disk gets an overlay whose upper file system has no block left: a write to a file that is opened
# from now on ends with ENOSPC. Files that were open before, and paths relative to a folder that was entered before, still
# reach the disk itself. When there is room again, files removed meanwhile are back, and empty files created are gone.
set -eu
full=/run/rehearsal/full

if [ "$1" = empty ]; then
  mountpoint -q "$full" || exit 0
  while IFS= read -r folder; do umount -l "$folder"; done < "$full/covered"
  umount -l "$full"
  exit
fi

cover() {
  local below=() handle point entry child
  # A mount below, such as a bucket, is not on this disk: it is mounted again above the overlay.
  while read -r _ point _; do
    case $point in "$1"/*) exec {handle}<"$point" && below+=("$handle:$point") ;; esac
  done < /proc/mounts
  mkdir -p "$full/upper$1" "$full/work$1"
  if mount -t overlay vm -o "lowerdir=$1,upperdir=$full/upper$1,workdir=$full/work$1" "$1" 2>/dev/null; then
    echo "$1" >> "$full/covered"
    for entry in "${below[@]}"; do mount --no-canonicalize --bind "/proc/self/fd/${entry%%:*}" "${entry#*:}" || :; done
    return
  fi
  # Mounts that the VM was booted with cannot be moved from their folder: then the other files in it are covered.
  for child in "$1"/* "$1"/.[!.]*; do
    if [ -d "$child" ] && [ ! -L "$child" ] && [ "$child" != /opt/rehearsal/bin ]; then cover "$child"; fi
  done
}

if mountpoint -q "$full"; then exit; fi
mkdir -p "$full"
mount -t tmpfs -o size=256k vm "$full"
for folder in /home /root /tmp /var /mnt /srv /opt /etc /usr; do cover "$folder"; done
dd if=/dev/zero of="$full/filler" bs=4k 2>/dev/null || :

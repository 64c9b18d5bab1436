# Makes the disk of a running VM full, or gives it room again; run in the VM, by its root. $1: fill or empty.
#
# Every folder of the disk gets an overlay whose upper file system has no block left: what is written to a file opened
# from now on ends with ENOSPC. Files that were open before, and paths relative to a folder that was entered before, still
# reach the disk itself. What is removed or created empty meanwhile is back, or gone, when there is room again.
set -e
folders='/home /root /tmp /var /mnt /srv /opt /etc /usr'
full=/run/rehearsal/full

if [ "$1" = empty ]; then
  for folder in $folders; do
    if grep -q " $folder overlay .*$full" /proc/mounts; then umount -l "$folder"; fi
  done
  if mountpoint -q "$full"; then umount -l "$full"; fi
  exit
fi

if mountpoint -q "$full"; then exit; fi
mkdir -p "$full"
mount -t tmpfs -o size=256k vm "$full"
for folder in $folders; do mkdir -p "$full/upper$folder" "$full/work$folder"; done
for folder in $folders; do
  # What is mounted below, such as a bucket, is not on this disk: it is mounted again above the overlay.
  below=()
  while read -r _ point _; do
    case $point in "$folder"/*) exec {handle}<"$point"; below+=("$handle:$point") ;; esac
  done < /proc/mounts
  mount -t overlay vm -o "lowerdir=$folder,upperdir=$full/upper$folder,workdir=$full/work$folder" "$folder"
  for entry in "${below[@]}"; do mount --no-canonicalize --bind "/proc/self/fd/${entry%%:*}" "${entry#*:}" || :; done
done
dd if=/dev/zero of="$full/filler" bs=4k 2>/dev/null || :

# The first process of a VM, for bash and util-linux. It makes the VM's root out of folders of this computer and of the
# VM's disk, moves into it, and becomes the VM's init. docs/adr/0015 has the reasons.
#
# Environment, each REHEARSAL_..
#   DISK         the VM's disk, absolute
#   HOSTNAME
#   CONFINEMENT  overlay or read-only: how the VM sees the computer's folders
#   IDS          all: started by root, which gives the VM a user namespace with every id;
#                one: started in a user namespace with a single id
#   LAYERS       folders of this computer that the VM sees, one a line, a parent before what is in it
#   SECRETS      paths in them that it may not see, one a line
#   ETC          with read-only: the VM's own files in etc/ of the disk, mounted over those of /etc; words
#   TOOLS        a folder of commands that the VM sees as /opt/rehearsal/bin, or empty
#   PROBE        1: end as soon as all this has worked
#   VOLUMES      folders and files of this computer, each with a target, one a line: ro or rw, source, target, separated by tabs
# Arguments: the machine's first process, instead of a VM's init, with its output on descriptor 3; a VM has no arguments.
# Prints `ready` when the VM is up. Otherwise ends with an error and leaves nothing.
set -e
disk=$REHEARSAL_DISK confinement=$REHEARSAL_CONFINEMENT ids=$REHEARSAL_IDS

# Pending mounts, as lines of an fstab: one call of mount makes them all. Mounts are most of the cost of a boot.
plan=
plan_mount() {
  local field line=
  for field in "$@"; do
    field=${field//\\/\\134} field=${field// /\\040} field=${field//$'\t'/\\011}
    line+="$field "
  done
  plan+="${line}0 0"$'\n'
}

mount_planned() {
  [ -n "$plan" ] || return 0
  printf '%s' "$plan" > fstab
  mount --all --fstab fstab
  plan=
}

root=$disk/rootfs

# A folder or file of this computer as it is. Mounts below come along if a user namespace does not let them be left out;
# then the flags of the computer's own mount may have to stay.
show_read_only() {
  if [ "$ids" = all ]; then
    plan_mount "$1" "$2" none bind,ro
    return
  fi
  mount_planned
  mount -o rbind "$1" "$2"
  mount -o remount,bind,ro "$2" 2>/dev/null ||
    mount -o remount,bind,ro,nosuid,nodev "$2" 2>/dev/null ||
    mount -o remount,bind,ro,nosuid,nodev,noexec "$2"
}

# Folders that job files write to as root. In a user namespace with one id, folders of this computer's root belong to the user
# nobody and are closed to the VM's root. A folder in the upper layer is the VM's own, and still shows the lower one's content.
own_folders() {
  local below=()
  case $1 in
    /etc) below=(systemd/system apt/{sources.list.d,trusted.gpg.d,keyrings} profile.d sysctl.d security/limits.d) ;;
    /usr) below=(bin local/{bin,lib,share} share/keyrings) ;;
    *) return 0 ;;
  esac
  mkdir -p "${below[@]/#/$2/}"
}

# A folder of this computer: as it is, or with an overlay, as the VM has changed it.
show() {
  local name=${1#/} options
  if [ "$confinement" != overlay ]; then
    show_read_only "$1" "$root$1"
    return
  fi
  name=${name//\//%}
  # Relative: a disk's path may have characters that overlay options cannot. Volatile: no sync of the computer's disk at VM end.
  options="lowerdir=${1//:/\\:},upperdir=upper/$name,workdir=work/$name,volatile"
  if [ "$ids" = one ]; then
    options+=,userxattr
    own_folders "$1" "upper/$name"
  fi
  plan_mount vm "$root$1" overlay "$options"
}

# Files that only root may read on this computer, without an overlay. In the VM every user is root.
hide() {
  if [ -d "$1" ]; then plan_mount vm "$root$1" tmpfs ro,mode=755
  elif [ -f "$1" ]; then plan_mount /dev/null "$root$1" none bind
  fi
}

# A file of the VM's own over one in /etc. A link, such as that of resolv.conf into /run, is followed in the VM.
own_etc() {
  local target=/etc/$1
  if [ -L "$target" ]; then
    target=$(readlink -m "$target")
    mkdir -p "$root${target%/*}"
    : > "$root$target"
  elif [ ! -e "$target" ]; then return
  fi
  plan_mount "$disk/etc/$1" "$root$target" none bind
}

# The VM's own files of its root, on the VM's disk: a second boot finds them there.
lay_out_disk() {
  local folder name stream link links=() folders=(home tmp upper work)
  # A volatile overlay cannot be mounted on the same work folder again, and users other than root cannot open that folder.
  [ "$ids" = all ] || [ ! -d work ] || chmod -R u+rwx work
  rm -rf work rootfs/run rootfs/dev
  for folder in "${layers[@]}"; do
    name=${folder#/}
    folders+=("rootfs$folder")
    [ "$confinement" != overlay ] || folders+=("upper/${name//\//%}" "work/${name//\//%}")
  done
  for folder in proc sys dev/pts dev/shm run/lock run/rehearsal/bin root mnt media srv etc opt/rehearsal/bin \
    var/tmp var/log var/cache var/lib var/spool home tmp; do folders+=("rootfs/$folder"); done
  # Mount point of the tools, below a folder that is an overlay by then.
  [ "$confinement" != overlay ] || folders+=(upper/opt/rehearsal/bin)
  mkdir -p "${folders[@]}"
  chmod 1777 tmp rootfs/var/tmp rootfs/run/lock
  for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ] && [ ! -e "rootfs/$link" ] && [ ! -L "rootfs/$link" ]; then links+=("/$link"); fi
  done
  [ "${#links[@]}" -eq 0 ] || cp -P "${links[@]}" rootfs/
  ln -sfn /run rootfs/var/run
  ln -sfn /run/lock rootfs/var/lock
  ln -s /proc/self/fd rootfs/dev/fd
  ln -s /proc/self/fd/0 rootfs/dev/stdin
  ln -s /proc/self/fd/1 rootfs/dev/stdout
  ln -s /proc/self/fd/2 rootfs/dev/stderr
  ln -s pts/ptmx rootfs/dev/ptmx
}

# To the kernel all users are one. These two commands report the logged-in user; `id USER` and the rest are the computer's own.
name_users() {
  printf '%s\n' '#!/bin/sh' \
    'if [ $# -eq 0 ] && [ -n "$LOGNAME" ]; then echo "$LOGNAME"; else exec /usr/bin/whoami "$@"; fi' \
    > rootfs/run/rehearsal/bin/whoami
  printf '%s\n' '#!/bin/sh' 'case "$*" in' \
    '  -un | -nu | "-u -n" | "-n -u" | "--user --name") [ -z "$LOGNAME" ] || { echo "$LOGNAME"; exit; } ;;' \
    'esac' 'exec /usr/bin/id "$@"' \
    > rootfs/run/rehearsal/bin/id
  chmod 755 rootfs/run/rehearsal/bin/*
}

plan_proc_and_sys() {
  local part
  plan_mount vm "$root/proc" proc defaults
  for part in sys sysrq-trigger irq bus fs; do
    [ ! -e "/proc/$part" ] || show_read_only "$root/proc/$part" "$root/proc/$part"
  done
  show_read_only /sys "$root/sys"
  # The mount came along, and would be writable.
  if [ "$ids" = one ] && [ -d /sys/fs/cgroup ]; then plan_mount vm "$root/sys/fs/cgroup" tmpfs ro,mode=755; fi
}

plan_dev() {
  local device
  for device in null zero full random urandom tty fuse; do
    [ -e "/dev/$device" ] || continue
    : > "rootfs/dev/$device"
    plan_mount "/dev/$device" "$root/dev/$device" none bind
  done
  plan_mount vm "$root/dev/pts" devpts newinstance,ptmxmode=0666,mode=620
  plan_mount vm "$root/dev/shm" tmpfs mode=1777
}

# In the given order: one may be inside another.
show_volumes() {
  local mode source target
  while IFS=$'\t' read -r mode source target; do
    [ -n "$mode" ] || continue
    mount_planned
    if [ -d "$source" ]; then mkdir -p "$root$target"
    else
      mkdir -p "$root${target%/*}"
      [ -e "$root$target" ] || : > "$root$target"
    fi
    if [ "$mode" = ro ]; then show_read_only "$source" "$root$target"
    else mount --bind "$source" "$root$target"
    fi
  done <<< "$REHEARSAL_VOLUMES"
}

move_in() {
  cd rootfs
  mkdir -p .computer
  pivot_root . .computer
  cd /
  umount -l /.computer
  rmdir /.computer
}

cd "$disk"
layers=() secrets=()
while IFS= read -r folder; do [ -z "$folder" ] || layers+=("$folder"); done <<< "$REHEARSAL_LAYERS"
while IFS= read -r secret; do [ -z "$secret" ] || secrets+=("$secret"); done <<< "$REHEARSAL_SECRETS"
lay_out_disk
name_users
mount --bind rootfs rootfs
for folder in "${layers[@]}"; do show "$folder"; done
if [ "$confinement" != overlay ]; then
  for secret in "${secrets[@]}"; do hide "$secret"; done
  for file in $REHEARSAL_ETC; do own_etc "$file"; done
fi
plan_proc_and_sys
plan_dev
plan_mount "$disk/home" "$root/home" none bind
plan_mount "$disk/tmp" "$root/tmp" none bind
[ -z "$REHEARSAL_TOOLS" ] || show_read_only "$REHEARSAL_TOOLS" "$root/opt/rehearsal/bin"
show_volumes
mount_planned
if [ "$confinement" = overlay ] && [ "${#secrets[@]}" -gt 0 ]; then rm -rf "${secrets[@]/#/rootfs}"; fi
hostname "$REHEARSAL_HOSTNAME"
move_in

# While it waits, bash reaps orphaned processes of the VM.
init='exec 0</dev/null 1>/dev/null 2>&1; exec -a init bash --norc --noprofile -c "while :; do sleep infinity & wait; done"'
[ $# -eq 0 ] || init='exec 0</dev/null 1>&3 2>&3 3>&-; exec "$@"'
[ "$REHEARSAL_PROBE" != 1 ] || init=exit
if [ "$ids" = one ]; then
  echo ready
  eval "$init"
fi

# The VM's root has every right in the VM and no right outside it. Its mounts come from a mount namespace above its own:
# it can neither remove them nor make them writable. Only a process that stays outside can assign ids.
outside=$(readlink /proc/self/ns/user)
(
  until [ "$(readlink /proc/1/ns/user)" != "$outside" ]; do :; done
  echo '0 0 4294967295' > /proc/1/uid_map
  echo '0 0 4294967295' > /proc/1/gid_map
) &
exec unshare --user --mount bash --norc --noprofile -c "
  until read -r _ < /proc/self/uid_map && read -r _ < /proc/self/gid_map; do
    [ \$SECONDS -lt 60 ] || { echo 'its ids were not given within 60 s' >&2; exit 1; }
  done
  echo ready
  $init" init "$@"

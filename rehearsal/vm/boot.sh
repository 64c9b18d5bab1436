# The first process of a VM, for bash and util-linux. It makes the VM's root out of folders of this computer and of the
# VM's disk, moves into it, and becomes the VM's init. docs/adr/0015 says why so.
#
# Environment, each REHEARSAL_..
#   DISK         the VM's disk, absolute
#   HOSTNAME
#   CONFINEMENT  overlay or read-only: how the VM sees the computer's folders
#   IDS          all: started by root, who gives the VM a user namespace with every id in it;
#                one: in a user namespace with a single id already
#   LAYERS       folders of this computer that the VM sees, one a line, a parent before what is in it
#   SECRETS      paths in them that it may not see, one a line
#   ETC          read-only alone: files of the VM's own in etc/ of the disk, laid over those of /etc; words
#   TOOLS        a folder of commands that the VM sees as /opt/rehearsal/bin, or empty
#   PROBE        1: end as soon as all this has worked
# Prints `ready` when the VM is up. Ends with an error otherwise, and nothing is left.
set -e
disk=$REHEARSAL_DISK confinement=$REHEARSAL_CONFINEMENT ids=$REHEARSAL_IDS

# What is mounted below a folder comes along where a user namespace does not let it be left out. Flags that the
# computer's own mount has may have to stay.
bind=bind
[ "$ids" = all ] || bind=rbind
show_read_only() {
  mount -o "$bind,ro" "$1" "$2" 2>/dev/null || {
    mountpoint -q "$2" || mount -o "$bind" "$1" "$2"
    mount -o remount,bind,ro,nosuid,nodev "$2" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,noexec "$2"
  }
}

# A folder of this computer, as it is there or, with an overlay, as the VM has changed it.
show() {
  local name=${1#/} options
  name=${name//\//%}
  mkdir -p "rootfs$1" "upper/$name" "work/$name"
  if [ "$confinement" != overlay ]; then
    show_read_only "$1" "rootfs$1"
    return
  fi
  # Relative: a disk's path may hold what overlay's options cannot. Volatile: no sync of the computer's disk at the VM's end.
  options="lowerdir=${1//:/\\:},upperdir=upper/$name,workdir=work/$name,volatile"
  [ "$ids" = all ] || options+=,userxattr
  mount -t overlay vm -o "$options" "rootfs$1"
}

# What root alone may read on this computer. In the VM everybody is root.
hide() {
  [ "$confinement" != overlay ] || { hidden+=("rootfs$1"); return 0; }
  if [ -d "rootfs$1" ]; then mount -t tmpfs -o ro,mode=755 vm "rootfs$1"
  elif [ -f "rootfs$1" ]; then mount --bind /dev/null "rootfs$1"
  fi
}

# A file of the VM's own over one in /etc. A link, such as that of resolv.conf into /run, is followed in the VM.
own_etc() {
  local target=rootfs/etc/$1
  if [ -L "$target" ]; then
    target=rootfs$(readlink -m "/etc/$1")
    mkdir -p "${target%/*}"
    : > "$target"
  fi
  [ ! -e "$target" ] || mount --bind "etc/$1" "$target"
}

lay_out_disk() {
  local link links=()
  mkdir -p rootfs home tmp upper work
  chmod 1777 tmp
  # An overlay that was volatile is not mounted on the same work folder again; to others than root it is closed.
  [ "$ids" = all ] || chmod -R u+rwx work
  rm -rf work/*
  cd rootfs
  mkdir -p proc sys dev run home root tmp mnt media srv opt etc
  mkdir -p var/tmp var/log var/cache var/lib var/spool
  chmod 1777 var/tmp
  ln -sfn /run var/run
  ln -sfn /run/lock var/lock
  for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ] && [ ! -e "$link" ] && [ ! -L "$link" ]; then links+=("/$link"); fi
  done
  [ "${#links[@]}" -eq 0 ] || cp -P "${links[@]}" .
  cd ..
  mount --bind rootfs rootfs
}

mount_proc_and_sys() {
  local part
  mount -t proc vm rootfs/proc
  for part in sys sysrq-trigger irq bus fs; do
    [ -e "rootfs/proc/$part" ] || continue
    show_read_only "rootfs/proc/$part" "rootfs/proc/$part"
  done
  show_read_only /sys rootfs/sys
  # It came along, and would be writable.
  if [ "$ids" = one ] && [ -d /sys/fs/cgroup ]; then mount -t tmpfs -o ro,mode=755 vm rootfs/sys/fs/cgroup; fi
}

mount_dev() {
  local device stream
  mount -t tmpfs -o mode=755 vm rootfs/dev
  for device in null zero full random urandom tty fuse; do
    [ -e "/dev/$device" ] || continue
    : > "rootfs/dev/$device"
    mount --bind "/dev/$device" "rootfs/dev/$device"
  done
  mkdir rootfs/dev/pts rootfs/dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 vm rootfs/dev/pts
  mount -t tmpfs -o mode=1777 vm rootfs/dev/shm
  ln -s pts/ptmx rootfs/dev/ptmx
  ln -s /proc/self/fd rootfs/dev/fd
  for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%:*}" "rootfs/dev/${stream#*:}"; done
}

mount_tools() {
  mkdir -p rootfs/opt/rehearsal/bin
  show_read_only "$REHEARSAL_TOOLS" rootfs/opt/rehearsal/bin
}

# All users are one to the kernel. These two say who has logged in; `id USER` and the rest are the computer's own.
name_users() {
  mkdir -p rootfs/run/rehearsal/bin
  cat > rootfs/run/rehearsal/bin/whoami << 'END'
#!/bin/sh
if [ $# -eq 0 ] && [ -n "$LOGNAME" ]; then printf '%s\n' "$LOGNAME"; else exec /usr/bin/whoami "$@"; fi
END
  cat > rootfs/run/rehearsal/bin/id << 'END'
#!/bin/sh
case "$*" in
  -un | -nu | '-u -n' | '-n -u' | '--user --name') [ -z "$LOGNAME" ] || { printf '%s\n' "$LOGNAME"; exit; } ;;
esac
exec /usr/bin/id "$@"
END
  chmod 755 rootfs/run/rehearsal/bin/*
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
lay_out_disk
while IFS= read -r folder; do [ -z "$folder" ] || show "$folder"; done <<< "$REHEARSAL_LAYERS"
mount -t tmpfs -o mode=755 vm rootfs/run
mkdir -p rootfs/run/lock
chmod 1777 rootfs/run/lock
name_users
hidden=()
while IFS= read -r secret; do [ -z "$secret" ] || hide "$secret"; done <<< "$REHEARSAL_SECRETS"
[ "${#hidden[@]}" -eq 0 ] || rm -rf "${hidden[@]}"
for file in $REHEARSAL_ETC; do own_etc "$file"; done
mount_proc_and_sys
mount_dev
mount --bind home rootfs/home
mount --bind tmp rootfs/tmp
[ -z "$REHEARSAL_TOOLS" ] || mount_tools
hostname "$REHEARSAL_HOSTNAME"
move_in

# bash reaps whatever is orphaned in the VM while it waits.
init='exec 0</dev/null 1>/dev/null 2>&1; exec -a init bash --norc --noprofile -c "while :; do sleep infinity & wait; done"'
[ "$REHEARSAL_PROBE" != 1 ] || init=exit
if [ "$ids" = one ]; then
  echo ready
  eval "$init"
fi

# The VM's root has every right in the VM and none outside of it. Its mounts come from a mount namespace above its own:
# it can neither take them away nor make them writable. Ids can only be given by a process that stays outside.
outside=$(readlink /proc/self/ns/user)
(
  until [ "$(readlink /proc/1/ns/user)" != "$outside" ]; do :; done
  echo '0 0 4294967295' > /proc/1/uid_map
  echo '0 0 4294967295' > /proc/1/gid_map
) &
exec unshare --user --mount bash --norc --noprofile -c "
  until read -r _ < /proc/self/uid_map && read -r _ < /proc/self/gid_map; do :; done
  echo ready
  $init"

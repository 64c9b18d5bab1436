/**
 * One machine of a rack, in bash: $1 its name, $2 its folder, $3 size of its disk, `$4`.. its device files. Its disk and host
 * name last from boot to boot. Its processes do not: each `on` is a boot, with a new PID namespace and a new init. It reads
 * orders from stdin, one a line, and answers each with `done`. When stdin ends, it is switched off and nothing of it is left.
 */
export const KEEPER = `name=$1 folder=$2 bytes=$3
shift 3
mount -t tmpfs -o size=$bytes,mode=700 none "$folder/home" && hostname "$name" || exit 1
if [ $# -gt 0 ]; then
  mount -t tmpfs -o mode=755 none "$folder/dev" || exit 1
  for each in null zero full random urandom tty; do : > "$folder/dev/$each" && mount --bind "/dev/$each" "$folder/dev/$each"; done
  mkdir "$folder/dev/pts" "$folder/dev/shm" && mount --rbind /dev/pts "$folder/dev/pts"
  ln -s /proc/self/fd "$folder/dev/fd"; ln -s pts/ptmx "$folder/dev/ptmx"
  for each; do : > "$folder/dev/$each"; done
  # It may say so of what it cannot do after the mount itself.
  mount --move "$folder/dev" /dev 2> /dev/null || [ -e "/dev/$1" ] || exit 1
fi
init() { cat "/proc/$power/task/$power/children" 2>/dev/null; }
inside() { nsenter -t $(init) -p -m "$@"; }
power=
off() {
  [ -z "$power" ] || { kill -KILL $(init) $power; wait "$power"; } 2>/dev/null
  power=
}
echo done
while read -r order rest; do
  case $order in
    on)
      off
      echo running > "$folder/system"
      rm -f "$folder/no-sshd"
      setpriv --pdeathsig KILL unshare --pid --mount-proc --fork --kill-child bash "$folder/init.sh" < /dev/null > "$folder/init.log" 2>&1 &
      power=$!
      ;;
    off) off ;;
    full) mount -o "remount,size=$(($(df -Pk "$folder/home" | awk 'NR == 2 { print $3 }') * 1024 + 4096))" "$folder/home" ;;
    free) mount -o "remount,size=$bytes" "$folder/home" ;;
    use) inside bash -c 'exec sleep "$1" < "$0"' $rest < /dev/null > /dev/null 2>&1 & ;;
    init) echo $(init) ;;
  esac
  echo done
done
off
`;

/** PID 1 of a machine: keeps an sshd running unless `no-sshd` forbids it, and reaps orphaned processes. */
export const INIT = (folder: string, sshd: string): string => `trap '' TERM HUP
while :; do
  [ -e '${folder}/no-sshd' ] || ${sshd} -D -e -f '${folder}/sshd_config'
  sleep 0.2
done
`;

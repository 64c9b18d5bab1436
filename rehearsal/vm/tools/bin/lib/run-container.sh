# run-container.sh HERE FOLDER [terminal]: the monitor of one container. Starts its command in namespaces of its own where
# the kernel allows that, and writes down how it ended. Its output is the container's.
here=$1 folder=$2
exec 3<&0 # sh gives what it starts in the background no input of its own
ticks_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# The command is the first process of its own: it dies with all its children, and ignores what it does not handle. In a VM
# with a root of its own the kernel refuses a new /proc, so that ps(1) in a container shows the VM.
own='--mount --pid --fork --kill-child'
# shellcheck disable=SC2086
if unshare $own --mount-proc true 2>/dev/null; then own="$own --mount-proc"; elif ! unshare $own true 2>/dev/null; then own=''; fi

if [ -n "$own" ]; then
  # shellcheck disable=SC2086
  unshare $own sh "$here/lib/container-init.sh" "$here" "$folder" mounts <&3 3<&- &
  outer=$!
  while pid=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) && [ -z "$pid" ]; do sleep 0.01; done
  pid=${pid%% *}
else
  sh "$here/lib/container-init.sh" "$here" "$folder" links <&3 3<&- &
  outer=$! pid=$!
fi
echo "$pid" >"$folder/pid"
ticks_of "$pid" >"$folder/ticks"
echo running >"$folder/state"
date +%s >"$folder/started-at"
: >"$folder/known"
# The client's signals go to the container by its pid, never to this shell.
[ "${3:-}" = terminal ] || trap '' HUP INT QUIT TERM
wait "$outer"
code=$?
[ ! -e "$folder/killed" ] || code=137
echo "$code" >"$folder/exit"
echo exited >"$folder/state"
# A detached client is gone, so that --rm is ours to do. An attached one reads the folder first and removes it itself.
[ ! -e "$folder/remove-detached" ] || rm -rf "$folder"

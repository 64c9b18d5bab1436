# run-container.sh HERE FOLDER [terminal]: the monitor of one container. Starts its command in namespaces of its own where
# the kernel allows that, and writes down how it ended. Its output is the container's.
here=$1 folder=$2
exec 3<&0 # sh gives what it starts in the background no input of its own
ticks_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# With PIDs of its own the command is their first process: it dies with all its children, and ignores what it does not
# handle. A VM with a root of its own may have no new /proc, and without one its PIDs would be nobody's: mounts alone then.
if unshare --mount --pid --fork --kill-child --mount-proc true 2>/dev/null; then
  unshare --mount --pid --fork --kill-child --mount-proc sh "$here/lib/container-init.sh" "$here" "$folder" mounts <&3 3<&- &
  outer=$! marked=''
  while pid=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) && [ -z "$pid" ]; do sleep 0.01; done
  pid=${pid%% *}
else
  if unshare --mount true 2>/dev/null; then way=mounts set_apart='unshare --mount'; else way=links set_apart=''; fi
  $set_apart sh "$here/lib/container-init.sh" "$here" "$folder" "$way" <&3 3<&- &
  outer=$! pid=$! marked="REHEARSAL_CONTAINER=${folder##*/}"
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
# What the command has left behind ends with the container. It is known by its environment; again, since it may be forking.
while [ -n "$marked" ] && left=$(grep -lazx -- "$marked" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3) && [ -n "$left" ]; do
  # shellcheck disable=SC2086
  kill -KILL $left 2>/dev/null
done
[ ! -e "$folder/killed" ] || code=137
echo "$code" >"$folder/exit"
echo exited >"$folder/state"
# A detached client is gone, so that --rm is ours to do. An attached one reads the folder first and removes it itself.
[ ! -e "$folder/remove-detached" ] || rm -rf "$folder"

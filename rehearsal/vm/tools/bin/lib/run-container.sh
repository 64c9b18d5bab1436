# run-container.sh HERE FOLDER [terminal]: the monitor of one container. Starts its command in separate namespaces if the
# kernel allows that, and writes down how it ended. Its output is the container's.
here=$1 folder=$2
exec 3<&0 # sh gives what it starts in the background no input of its own
ticks_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# In a separate PID namespace the command is the first process: it dies with all its children, and ignores signals that it
# does not handle. A VM with a separate root may have no new /proc, without which the new PIDs mean nothing: then only mounts.
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
# Processes that the command left end with the container. Their environment identifies them. Repeated, since they may fork.
while [ -n "$marked" ] && left=$(grep -lazx -- "$marked" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3) && [ -n "$left" ]; do
  # shellcheck disable=SC2086
  kill -KILL $left 2>/dev/null
done
[ ! -e "$folder/killed" ] || code=137
echo "$code" >"$folder/exit"
echo exited >"$folder/state"
# A detached client is gone, so --rm is done here. An attached client reads the folder first and removes it itself.
[ ! -e "$folder/remove-detached" ] || rm -rf "$folder"

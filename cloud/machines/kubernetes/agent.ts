/**
 * The first process of a job's pod (docs/adr/0066): POSIX sh with `cat`, `rm` and `sleep`, in the image's own shell (dash, busybox, bash).
 *
 * It outlives the command, so that no exit of one pod makes the Job's controller delete the others. It ends with code 143 on
 * SIGTERM, which the kubelet sends when a pod is deleted or evicted, or if no run is in progress and it had no request for
 * JOBCTL_AGENT_HOURS. It does not end with code 0, because such a pod counts as succeeded, and podFailurePolicy then misses its
 * disruption (seen on Kubernetes 1.34). It passes signals on: first to runs, by the runner's verb `terminating`, which runs
 * notice and hook `preemption` before the signal, then to all other processes. As the first process it also reaps processes whose
 * parents have ended: the `wait` of each of these shells does so.
 *
 * It prints the output of runs, so that `kubectl logs` shows it. The output is read at one descriptor, whose offset counts the
 * printed bytes.
 */
export const AGENT = `#!/bin/sh
# jobctl's agent in a pod: the first process, which the command's runs are not children of. See docs/runner.md of jobctl.
set -u
HOME=\${HOME:-/} base=\${HOME:-/}/.jobctl
hours=\${JOBCTL_AGENT_HOURS:-168} grace=\${JOBCTL_AGENT_GRACE_SECONDS:-30}

# At once: the kernel drops a signal for which a first process has no trap.
told=
trap 'told=\${told:-SIGTERM}' TERM
trap 'told=\${told:-SIGINT}' INT
trap 'told=\${told:-SIGQUIT}' QUIT

for tool in cat rm sleep; do
  command -v "$tool" > /dev/null && continue
  why="jobctl: this image has no '$tool', which the first process of a job's pod needs; install it in the image"
  echo "$why"
  { echo "$why" > /dev/termination-log; } 2> /dev/null
  exit 78
done
# Files are made by true, not by ":": a shell of POSIX ends where a redirection of its special builtins fails.

# A sleep of POSIX knows whole seconds alone.
moment=0.2
sleep $moment 2> /dev/null || moment=1

seconds() { read -r up rest < /proc/uptime; up=\${up%.*}; }

# Interrupted by a signal, unlike a process in the foreground: that would hold back its trap.
nap() { sleep "$1" & wait $!; }

# Of the run whose output is on descriptor 3: what was printed since the last time.
copy() {
  cat <&3 &
  copier=$!
  while kill -0 $copier 2> /dev/null; do wait $copier; done
}

# The next run to copy: the first to start of those that have begun and were not copied yet. What is left of the one before is
# copied first. A run begins when the one before has ended, so none is left that still prints.
next_run() {
  next= first=
  for begun in "$base"/runs/*/begun; do
    run_seen=\${begun%/begun}
    [ -f "$begun" ] && [ ! -e "$run_seen/shown" ] && [ -r "$run_seen/output" ] || continue
    read -r boot pid start supervisor started < "$begun"
    [ -z "$next" ] || [ "$started" -lt "$first" ] || continue
    next=$run_seen first=$started
  done
  [ -n "$next" ] || return 1
  [ -z "$run" ] || copy
  run=
  { true > "$next/shown"; } 2> /dev/null || return 1
  exec 3< "$next/output"
  run=$next
}

# Whether the run's command lives: not one that ended, nor one that was killed with its supervisor.
lives() {
  [ -n "$run" ] && [ ! -f "$run/exit" ] && read -r boot pid rest < "$run/begun" && kill -0 "$pid" 2> /dev/null
}

# Each command in the pod that comes from jobctl leaves another word.
hear() {
  word=
  [ ! -f "$base/heard" ] || read -r word < "$base/heard"
  [ "$word" = "$heard" ] && ! lives && return
  heard=$word
  spoken=$up
}

# Until no other process is left, or the time UP has come.
await_all() {
  # Without '--' before -1: to busybox that is no number, and its kill fails.
  while sleep $moment; kill -0 -1 2> /dev/null && [ "$up" -lt "$1" ]; do seconds; done
}

pass_on() {
  echo "jobctl: $told: the pod ends; its processes are told"
  { true > "$base/ending"; } 2> /dev/null
  # One may have begun since the last look.
  while next_run; do :; done
  seconds
  limit=$((up + grace))
  if lives; then
    for runner in "$base"/runner-*.sh; do
      sh "$runner" terminating "\${run##*/}" "$grace" < /dev/null > /dev/null 2>&1 &
    done
    while [ ! -f "$run/exit" ] && [ "$up" -lt "$limit" ]; do nap $moment; copy; seconds; done
  fi
  # Who follows the output reads the rest of it, and then ends without being told: also that of a run that has ended before.
  patience=3
  [ -z "$run" ] || patience=10
  await_all $((patience < grace ? up + patience : limit))
  [ -z "$run" ] || copy
  kill -TERM -1 2> /dev/null
  await_all "$limit"
  [ -z "$run" ] || copy
  exit 143
}

rm -f "$base/ending" "$base/heard"
run= heard=
seconds
spoken=$up
while :; do
  [ -z "$told" ] || pass_on
  next_run
  if [ -n "$run" ]; then
    # Looked at before: what is printed between the two is not lost.
    ended=no
    [ ! -f "$run/exit" ] || ended=yes
    copy
    [ $ended = no ] || { exec 3<&-; run=; }
  fi
  seconds
  hear
  [ $((up - spoken)) -le $((hours * 3600)) ] || told="no word of jobctl for $hours hours"
  nap 1
done
`;

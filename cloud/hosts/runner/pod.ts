/**
 * The differences in a pod, whose first process is jobctl's agent (cloud/machines/kubernetes/agent.ts): the agent is told when
 * the pod ends, and the container's memory has a limit, whose kills the kernel counts.
 */
export const POD = `
in_pod() { [ -f /jobctl/agent ]; }
pod_condition() { [ -f "$base/ending" ] && echo stopping || echo up; }

# How many processes of this container the kernel has killed for want of memory, by cgroup v2 or v1; nothing where it cannot say.
memory_kills() {
  in_pod || return 0
  for events in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$events" ] || continue
    while read -r word count; do [ "$word" != oom_kill ] || { echo "$count"; return; }; done < "$events"
  done
}

# Since the command began; '-' for none.
kills_since() {
  before= now=$(memory_kills)
  [ ! -f "$run/memory-kills" ] || read -r before < "$run/memory-kills"
  [ -n "$before" ] && [ -n "$now" ] && [ "$now" -gt "$before" ] && echo $((now - before)) || echo -
}

# terminating ID SECONDS: the agent was told to end. As before a preemption: notice, hook, SIGTERM.
verb_terminating() {
  open_run "$1"
  [ -f "$run/begun" ] && [ ! -f "$run/exit" ] || return 0
  # The agent sends SIGTERM to all in the end.
  trap '' TERM
  # One of a stop stays.
  [ -f "$run/stop" ] ||
    put_line "$run/notice" '{"v":1,"cause":"preemption","reason":"the pod is ended: its first process was told to end","graceSeconds":'"$2"'}'
  { true > "$run/told"; } 2> /dev/null
  wake_keeper
  save_first preemption "$(($2 * 1000))"
  tell_to_end "$mark"
}
`;

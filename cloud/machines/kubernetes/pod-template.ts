import type { V1ConfigMap, V1Container, V1ObjectMeta, V1PodSpec, V1Volume } from '@kubernetes/client-node';
import { labelsOf } from '../../../domain/identity.js';
import { AGENT_FOLDER } from '../../../domain/machine-kinds/kubernetes/pod-fields.js';
import type { PodFields, PodSize, PodsRef } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Ownership } from '../../../domain/slice.js';

/** Parts of pods and objects that all kinds of machines made of pods share. */

/** A label of every object that jobctl makes, in any installation. */
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const JOBCTL = 'jobctl';
export const OURS = `${MANAGED_BY}=${JOBCTL}`;
/** The slice's name, which may be longer than the names of its objects. */
export const NAME_LABEL = 'jobctl-name';
/** The kind of machines that an object belongs to, if it is not an Indexed Job. */
export const MACHINES_LABEL = 'jobctl-machines';
/** `gangSeconds` of the request, readable on the owner of the pods. */
export const GANG_ANNOTATION = 'jobctl/gang-seconds';

/** The kubelet's time between TERM and KILL: the command's usual grace, and time to store the rest of its output. */
export const GRACE_SECONDS = 60;

/** @throws RangeError if the ownership does not fit into labels */
export const ownLabels = (ref: Pick<PodsRef, 'name'>, ownership: Ownership): Record<string, string> => ({
  [MANAGED_BY]: JOBCTL,
  ...labelsOf(ownership),
  [NAME_LABEL]: ref.name,
});

/** @param more scripts beside the agent, by their names */
export const agentConfigMap = (metadata: V1ObjectMeta, more: Readonly<Record<string, string>> = {}): V1ConfigMap => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true },
  data: { agent: AGENT, ...more },
});

const AGENT_VOLUME = 'jobctl-agent';

/**
 * Without these tolerations, Kubernetes deletes the pods of a node that does not answer for 5 min. Unknown is not dead: such a
 * node may return with its command running. If the node's object is deleted, its pods are too.
 */
export const UNREACHABLE = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
}));

type Fields = Omit<PodFields, 'context' | 'namespace'>;

/** @param configMap that contains the agent */
export function podSpecOf(
  configMap: string,
  { nodeSelector, tolerations, serviceAccount, priorityClass, secrets, volumes }: Fields,
): Omit<V1PodSpec, 'containers'> {
  return {
    restartPolicy: 'Never',
    enableServiceLinks: false,
    nodeSelector: { ...nodeSelector },
    tolerations: [...tolerations],
    // A job without an account does not need the API, and the namespace's default account may have rights for others.
    ...(serviceAccount === undefined
      ? { automountServiceAccountToken: false }
      : { serviceAccountName: serviceAccount }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    volumes: [
      { name: AGENT_VOLUME, configMap: { name: configMap, defaultMode: 0o555 } },
      ...secrets.map((secret, index) => ({
        name: `secret-${index}`,
        secret: { secretName: secret.name, defaultMode: 0o400 },
      })),
      ...volumes.map(volume),
    ],
  };
}

export const mountsOf = ({ secrets, volumes }: Fields): NonNullable<V1Container['volumeMounts']> => [
  { name: AGENT_VOLUME, mountPath: AGENT_FOLDER, readOnly: true },
  ...secrets.map(({ mountPath }, index) => ({ name: `secret-${index}`, mountPath, readOnly: true })),
  ...volumes.map(({ mountPath, readOnly }, index) => ({
    name: `volume-${index}`,
    mountPath,
    ...(readOnly && { readOnly }),
  })),
];

export const agentEnv = (agentHours: number): NonNullable<V1Container['env']> => [
  { name: 'JOBCTL_AGENT_GRACE_SECONDS', value: String(GRACE_SECONDS) },
  { name: 'JOBCTL_AGENT_HOURS', value: String(agentHours) },
];

/** The same values as request and limit. @param more devices beside GPUs */
export function resourcesOf({ cpus, memory, gpus }: PodSize, more: Readonly<Record<string, string>> = {}) {
  const all: Record<string, string> = {
    ...(cpus !== undefined && { cpu: cpus }),
    ...(memory !== undefined && { memory }),
    ...(gpus && { [gpus.resource]: String(gpus.count) }),
    ...more,
  };
  return { requests: all, limits: all };
}

function volume({ claim, emptyDir, hostPath, readOnly }: Fields['volumes'][number], index: number): V1Volume {
  const name = `volume-${index}`;
  if (claim !== undefined) return { name, persistentVolumeClaim: { claimName: claim, ...(readOnly && { readOnly }) } };
  if (hostPath !== undefined) return { name, hostPath: { path: hostPath } };
  const { medium, size } = emptyDir ?? {};
  return {
    name,
    emptyDir: { ...(medium === 'memory' && { medium: 'Memory' }), ...(size !== undefined && { sizeLimit: size }) },
  };
}

/**
 * The first process of a job's pod (docs/adr/0066): POSIX sh with `cat`, `rm` and `sleep`, in the image's own shell (dash,
 * busybox, bash).
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

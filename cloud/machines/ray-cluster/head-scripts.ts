/** Ray's own processes on the head, beside jobctl's agent (docs/adr/0069). */

/** Made when Ray has ended, with its code. Ray itself cannot do without /tmp. */
const ENDED = '/tmp/jobctl-ray-ended';

/** Made when Ray has answered for the first time. */
const READY = '/tmp/jobctl-ray-ready';

/** What the refusal of a head that never had Ray begins with, in the event of its probe. */
export const RAY_ENDED = 'jobctl: Ray has ended on the head';

/**
 * The first process of the head, in POSIX sh. KubeRay's command becomes a child of the agent, so that the end of the command does not end the
 * pod. KubeRay runs it in bash, with the same limit of open files. Where Ray ends that was there once, the head has lost what the
 * command works with: the agent is told to end, and the run with it.
 */
export const HEAD = `#!/bin/sh
# jobctl: starts Ray as KubeRay would, and stays as jobctl's agent.
(
  ulimit -n 65536 2> /dev/null
  bash -c "$KUBERAY_GEN_RAY_START_CMD"
  echo "${RAY_ENDED} with code $?" > ${ENDED}
  cat ${ENDED}
  [ -f ${READY} ] || exit 0
  { cat ${ENDED} > /dev/termination-log; } 2> /dev/null
  kill -s TERM 1
) &
exec /bin/sh /jobctl/agent
`;

/** Whether Ray's first service (GCS) answers. What it prints is shown as an event of the pod. */
export const HEAD_READY = `#!/bin/sh
[ ! -f ${ENDED} ] || { cat ${ENDED}; exit 1; }
bash -c 'exec 3<> "/dev/tcp/127.0.0.1/\${RAY_PORT:-6379}"' 2> /dev/null && { true > ${READY}; exit 0; }
echo "jobctl: Ray does not answer on the head yet"
exit 1
`;

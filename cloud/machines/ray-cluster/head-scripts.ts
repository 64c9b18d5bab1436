/** Ray's own processes on the head, beside jobctl's agent (docs/adr/0069). */

/** Created when Ray has ended, with its exit code. Ray itself needs /tmp, so the folder exists. */
const ENDED = '/tmp/jobctl-ray-ended';

/** Created when Ray has answered for the first time. */
const READY = '/tmp/jobctl-ray-ready';

/** The beginning of the probe's event for a head on which Ray has ended. */
export const RAY_ENDED = 'jobctl: Ray has ended on the head';

/**
 * The first process of the head, in POSIX sh. KubeRay's command becomes a child of the agent, so that its end does not end the
 * pod. KubeRay runs it in bash with the same limit of open files. If Ray ends after it was ready once, the head has lost what the
 * job's command works with: the agent is told to end, and the run ends with it.
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

/** Checks whether Ray's first service (GCS) answers. Its output is shown as an event of the pod. */
export const HEAD_READY = `#!/bin/sh
[ ! -f ${ENDED} ] || { cat ${ENDED}; exit 1; }
bash -c 'exec 3<> "/dev/tcp/127.0.0.1/\${RAY_PORT:-6379}"' 2> /dev/null && { true > ${READY}; exit 0; }
echo "jobctl: Ray does not answer on the head yet"
exit 1
`;

/**
 * PID 1 of the pod's container: `/bin/sh /jobctl/agent`. It outlives the command and ends when it is told to, with a code other than
 * 0: a pod that succeeds is one that its Job takes for done, and whose disruption `podFailurePolicy` does not see.
 */
export const AGENT = `trap 'exit 143' TERM INT
while :; do sleep 1 & wait $!; done
`;

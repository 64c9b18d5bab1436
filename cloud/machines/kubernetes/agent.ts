/** PID 1 of the pod's container: `/bin/sh /jobctl/agent`. It outlives the command and ends when it is told to. */
export const AGENT = `trap 'exit 0' TERM INT
while :; do sleep 1 & wait $!; done
`;

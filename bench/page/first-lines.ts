import { firstLineTimes } from '../kubernetes/first-line.js';
import { firstOutput, firstOutputFile } from '../start/first-output.js';
import { ByHand } from './by-hand.js';
import { inTurn, timesOfWay } from './in-turn.js';
import { kubernetesIsAbsent } from './kubernetes-node.js';
import type { Measured } from './table.js';

const ROUNDS = 5;
const PODS_ROUNDS = 3;
const OURS = 'jobctl submit --wait';
const FLOOR = 'REST and ssh by hand';
const KUBECTL = 'kubectl apply, logs -f';

/** From a submit to the first line of a host, on the stack of JOBCTL_HOME, and in pods if a Kubernetes is here. */
export async function firstLines(tell: (step: string) => void): Promise<readonly Measured[]> {
  const file = firstOutputFile();
  const byHand = new ByHand(process.env);
  const ways = [
    { name: OURS, run: () => firstOutput(file, process.env) },
    { name: FLOOR, run: () => byHand.firstLine() },
  ];
  const times = await inTurn(ways, { rounds: ROUNDS, warmUp: true, tell });
  const absent = kubernetesIsAbsent();
  const slice: Measured = {
    what: 'submit to first line, v5litepod-16',
    ms: timesOfWay(times, OURS).ms,
    peers: absent === undefined ? [] : [{ name: KUBECTL, absent }],
    floor: timesOfWay(times, FLOOR),
  };
  if (absent !== undefined) return [slice];
  tell('two pods of the Kubernetes here');
  const pods = await firstLineTimes(PODS_ROUNDS);
  const row = { what: 'submit to first line, 2 pods', ms: pods.jobctl, peers: [{ name: KUBECTL, ms: pods.kubectl }] };
  return [slice, row];
}

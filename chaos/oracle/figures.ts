import { lastPart } from './cloud.js';
import { sliceOfObject } from './cluster.js';
import { processesOf } from './commands.js';
import type { Evidence } from './evidence.js';
import { withMembers } from './groups.js';

/** Amount of evidence behind a verdict: a seed in which little happened proves little. */
export interface Figures {
  readonly deeds: number;
  /** Number of jobs by phase. */
  readonly jobs: Readonly<Record<string, number>>;
  readonly attempts: number;
  readonly starts: number;
  readonly heardSigterm: number;
  readonly linesPrinted: number;
  readonly linesStored: number;
  readonly slicesMade: number;
  readonly slicesLost: number;
  readonly podsRun: number;
  /** Deeds that took a pod or a Job. */
  readonly podsLost: number;
  readonly vmsRun: number;
  /** VMs that something other than jobctl ended. */
  readonly vmsLost: number;
  /** Starts of commands on the pool's own machines. */
  readonly onMachines: number;
  /** Jobs of groups. */
  readonly members: number;
  /** Distinct events that the receiver took, and the requests that it took. */
  readonly eventsTold: number;
  readonly noticesTaken: number;
  readonly metricPoints: number;
  readonly journal: number;
}

const NO_DEEDS: ReadonlySet<string> = new Set(['submit', 'note', 'foreign']);

export function figuresOf(evidence: Evidence): Figures {
  const { deeds, told, stored, results, cloud, machines = [], metrics = [] } = evidence;
  const taken = (evidence.notices ?? []).filter(({ isTaken }) => isTaken);
  const processes = processesOf(told);
  const jobs: Record<string, number> = {};
  for (const { phase } of results) jobs[phase] = (jobs[phase] ?? 0) + 1;
  const pods = cloud.filter(({ kind, subject }) => kind === 'kubernetes-state' && subject.includes('/pods/'));
  const slices = new Set(pods.map(sliceOfObject));
  const vms = new Set(cloud.flatMap(({ kind, subject }) => (kind === 'vm-state' ? [lastPart(subject)] : [])));
  const nodes = cloud.filter(({ kind }) => kind === 'node-state');
  return {
    deeds: deeds.filter(({ kind }) => !NO_DEEDS.has(kind)).length,
    jobs,
    attempts: new Set(processes.map(({ job, attempt }) => `${job} ${attempt}`)).size,
    starts: processes.length,
    heardSigterm: processes.filter(({ term }) => term !== undefined).length,
    linesPrinted: processes.reduce((sum, { lines }) => sum + lines.length, 0),
    linesStored: stored.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
    slicesMade: nodes.filter(({ details }) => details.to === 'READY').length,
    slicesLost: nodes.filter(({ details }) => /PREEMPTED|TERMINATED/u.test(details.to ?? '')).length,
    podsRun: pods.filter(({ details }) => details.to === 'Running').length,
    podsLost: deeds.filter(({ kind, resource }) => kind === 'preempt' && resource !== undefined && slices.has(resource))
      .length,
    vmsRun: cloud.filter(({ kind, details }) => kind === 'vm-state' && details.to === 'RUNNING').length,
    vmsLost: new Set(
      deeds.flatMap(({ kind, resource }) => (kind === 'preempt' && resource && vms.has(resource) ? [resource] : [])),
    ).size,
    onMachines: processes.filter(({ hostName }) => machines.some(({ name }) => name === hostName)).length,
    members: withMembers(evidence).jobs.filter(({ group }) => group !== undefined).length,
    eventsTold: new Set(taken.map(({ id }) => id)).size,
    noticesTaken: taken.length,
    metricPoints: metrics.reduce((sum, { points }) => sum + points.length, 0),
    journal: cloud.length,
  };
}

export const shownFigures = ({ jobs, ...figures }: Figures): string =>
  [
    ...Object.entries(jobs).map(([phase, count]) => `${count} ${phase}`),
    ...Object.entries(figures).map(([name, count]) => `${name} ${count}`),
  ].join(', ');

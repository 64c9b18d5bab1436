/**
 * `[limits]` of a pool file (docs/adr/0075): the most that one user or one job may take of the pool. Plain JSON; absent: no
 * limit.
 */
export interface PoolLimits {
  /** Open jobs of one user in the pool. */
  readonly openJobsPerUser?: number;
  /** Jobs of one user that are accepted within a minute. */
  readonly submitsPerMinute?: number;
  /** Stored output of the command of one attempt, all hosts together. */
  readonly logBytesPerAttempt?: number;
  /** Requests of one job at once, each in another zone (docs/adr/0101); 1: no job may hedge. */
  readonly requestsPerJob?: number;
  /** Size of a job's input, as JSON. Absent: `MOST_INPUT_BYTES`. */
  readonly inputBytes?: number;
}

/** The highest priority of a project's jobs, 1 (first) to 5, by project in lower case. Without an entry: any. */
export type PriorityFloors = Readonly<Record<string, number>>;

/** Says why a job of this project may not have this priority; undefined if it may. */
export function floorProblem(
  floors: PriorityFloors | undefined,
  project: string,
  priority: number,
): string | undefined {
  const name = project.toLowerCase();
  const floor = floors !== undefined && Object.hasOwn(floors, name) ? floors[name] : undefined;
  if (floor === undefined || priority >= floor) return undefined;
  return (
    `priority: ${priority} is higher than project ${project} may have in this pool: ${floor} at most\n` +
    `  write priority: ${floor}, or ask for another [limits] priority_floor in the pool file`
  );
}

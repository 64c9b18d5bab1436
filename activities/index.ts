import type { AfterActivities } from '../contract/after.js';
import type { BuildActivities } from '../contract/build.js';
import type { GroupActivities } from '../contract/group.js';
import type { JanitorActivities } from '../contract/janitor.js';
import type { JobActivities } from '../contract/job-activities.js';
import type { NoticesActivities } from '../contract/notices.js';
import type { MachinesActivities } from '../contract/machines.js';
import type { QuotaActivities } from '../contract/quota-activities.js';
import type { FiringActivities } from '../contract/schedule.js';
import type { SliceActivities } from '../contract/slice.js';
import type { ActivityDependencies } from './dependencies.js';
import { attemptActivities } from './attempt.js';
import { doneTwiceActivity } from './done-twice.js';
import { firingActivities } from './firings.js';
import { groupActivities } from './groups.js';
import { buildActivities } from './image-builds.js';
import { janitorActivities } from './janitor.js';
import { jobRecordActivities } from './job-records.js';
import { noticesActivities } from './notices.js';
import { inputsActivity } from './inputs.js';
import { otherActivities } from './others.js';
import { machinesActivities } from './own-machines.js';
import type { PoolWatch } from './pool-watch.js';
import { quotaActivities } from './quota.js';
import { sliceActivities } from './slice.js';

/** All activities of one worker process; both of its Temporal Workers share them, and with them connections and mail. */
export function createActivities(
  dependencies: ActivityDependencies,
  watch?: PoolWatch,
): JobActivities &
  SliceActivities &
  QuotaActivities &
  JanitorActivities &
  MachinesActivities &
  BuildActivities &
  GroupActivities &
  AfterActivities &
  FiringActivities &
  NoticesActivities {
  return {
    ...jobRecordActivities(dependencies),
    ...doneTwiceActivity(dependencies),
    ...inputsActivity(dependencies),
    ...attemptActivities(dependencies),
    ...sliceActivities(dependencies),
    ...quotaActivities(dependencies, watch),
    ...janitorActivities(dependencies),
    ...machinesActivities(dependencies),
    ...buildActivities(dependencies),
    ...noticesActivities(dependencies),
    ...groupActivities(dependencies),
    ...otherActivities(),
    ...firingActivities(dependencies),
  };
}

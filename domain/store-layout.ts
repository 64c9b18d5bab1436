/** Names of objects in the job bucket, one function per name. No other code joins paths. */
import { utcDay } from './units.js';

/**
 * Returns whether an object decides something: the owner of an installation, a pool's files and state, a job's owner, key and
 * end, what jobs used and cost, the audit log. With a second bucket these objects are in it, out of reach of hosts (docs/adr/0082).
 */
export function isSystemObject(name: string): boolean {
  if (SYSTEM_FOLDERS.some((folder) => name.startsWith(folder))) return true;
  const [, , rest] = /^(jobs\/[^/]+\/)(.*)$/s.exec(name) ?? [];
  if (rest === undefined) return false;
  return SYSTEM_OF_JOB.objects.some((own) => rest === own) || SYSTEM_OF_JOB.folders.some((own) => rest.startsWith(own));
}

/** Folders of such objects, at the top of the bucket and in `jobs/<job>/`. */
export const SYSTEM_FOLDERS: readonly string[] = ['system/', 'quota/', 'audit/', 'reports/'];
export const SYSTEM_OF_JOB: Readonly<Record<'objects' | 'folders', readonly string[]>> = {
  objects: ['run', 'owner.json', 'inputs.json', 'outcome.json', 'usage.json'],
  folders: ['job-keys/', 'gone/'],
};

/** Prefixes of all objects that jobctl writes. */
export const OWN_FOLDERS: readonly string[] = [
  ...['jobs/', 'files/', 'bundles/', 'uploads/', 'followed/'],
  ...SYSTEM_FOLDERS,
];

/** First run id of the one job that all objects under this id belong to. */
export const runObject = (job: string): string => `jobs/${job}/run`;
/** The job's owner as the accepting worker knows it: user, project, pool. Written once. */
export const jobOwnerObject = (job: string): string => `jobs/${job}/owner.json`;
/** The key that the job's hosts accept, by the job's first run id: `JobKeyRecord` of activities/connecting-key.ts. */
export const jobKeyObject = (job: string, run: string): string => `jobs/${job}/job-keys/${run}.json`;
/** The stored outputs of others that the job gets: `FoundInput` of domain/inputs.ts. Rewritten before each request for chips. */
export const inputsObject = (job: string): string => `jobs/${job}/inputs.json`;
export const specObject = (job: string): string => `jobs/${job}/spec.yaml`;
export const outcomeObject = (job: string): string => `jobs/${job}/outcome.json`;
export const attemptObject = (job: string, attempt: number): string => `jobs/${job}/attempts/${attempt}.json`;
/** The job file of an attempt that runs by another file than the submitted one (`restart`, `resume`). */
export const attemptSpecObject = (job: string, attempt: number): string => `jobs/${job}/attempts/${attempt}.yaml`;
/** All objects of one job and no other. */
export const jobPrefix = (job: string): string => `jobs/${job}/`;
/** A local file of the submitter (requirements), by content. */
export const fileObject = (sha256: string): string => `files/${sha256}`;
/** Files uploaded past the server, until the server has compared them with their hashes (docs/adr/0086). */
export const UPLOADS_PREFIX = 'uploads/';
export const stagedUploadObject = (id: string): string => `${UPLOADS_PREFIX}${id}`;
/** Marks of jobs whose logs somebody follows, rewritten every `MARK_EVERY_MS` (docs/adr/0150). */
export const FOLLOWED_PREFIX = 'followed/';
export const followedObject = (job: string): string => `${FOLLOWED_PREFIX}${job}`;
/** A packed folder of the submitter, by the archive's content. */
export const bundleObject = (sha256: string): string => `bundles/${sha256}.tar.gz`;
/** SSH host keys of one node's VMs, one object each (cloud/hosts/host-key-record.ts). No two nodes ever have the same `uid`. */
export const hostKeysPrefix = (uid: string): string => `system/host-keys/${uid}/`;
export const hostKeyObject = (uid: string, index: number): string => `${hostKeysPrefix(uid)}${index}`;
/** Record of the set-up of an attempt, `SetUpRecord` of domain/set-up-record.ts. Rewritten while the set-up runs. */
export const setUpObject = (job: string, attempt: number): string => `${setUpPrefix(job)}${attempt}.json`;
/** Prefix of the set-ups of all attempts. */
export const setUpPrefix = (job: string): string => `jobs/${job}/setup/a`;
/** Record of the last set-up that a person asked for. */
export const setUpAgainObject = (job: string, attempt: number): string => `jobs/${job}/setup/a${attempt}-again.json`;
/** A host's sign of life while the command of an attempt runs. The host itself writes it (docs/adr/0046). */
export const signObject = (job: string, attempt: number, host: number): string =>
  `jobs/${job}/alive/a${attempt}/host-${host}`;
/** Ends of an attempt's command on the hosts of a node. The host itself writes each one, once (docs/adr/0058). */
export const exitRecordsPrefix = (job: string, attempt: number): string => `jobs/${job}/exits/a${attempt}/`;
/** @param uid the node's. After a reset, a job's attempts are counted from the same number again, on other nodes */
export const exitRecordObject = (job: string, attempt: number, uid: string, index: number): string =>
  `${exitRecordsPrefix(job, attempt)}${uid}-${index}`;
/** Files that the commands of a job left on their hosts (docs/adr/0059): contents by hash, a manifest per attempt and host. */
export const outputsPrefix = (job: string): string => `jobs/${job}/outputs/`;
export const outputContentObject = (job: string, sha256: string): string => `${outputsPrefix(job)}contents/${sha256}`;
export const outputManifestsPrefix = (job: string): string => `${outputsPrefix(job)}manifests/`;
/** One JSON object a line: the header, then each file. @param host number among all hosts of the attempt */
export const outputManifestObject = (job: string, attempt: number, host: number): string =>
  `${outputManifestsPrefix(job)}a${attempt}/host-${host}.jsonl`;
/** The attempt and host of the manifest with this name, or undefined for another object. */
export function manifestPlace(
  job: string,
  name: string,
): { readonly attempt: number; readonly host: number } | undefined {
  const rest = name.slice(outputManifestsPrefix(job).length);
  const [, attempt, host] = /^a(\d{1,9})\/host-(\d{1,9})\.jsonl$/.exec(rest) ?? [];
  return host === undefined ? undefined : { attempt: Number(attempt), host: Number(host) };
}
/** Prefix of the metrics of one host, by attempts. Reading a job's metrics takes one listing and a read for each attempt. */
export const hostMetricsPrefix = (job: string, host: number): string => `jobs/${job}/metrics/host-${host}/a`;
/** Metrics that the program of a host told in one attempt: `StoredMetrics` of domain/job-metrics. Rewritten while it runs. */
export const metricsObject = (job: string, attempt: number, host: number): string =>
  `${hostMetricsPrefix(job, host)}${attempt}.json`;
/** The attempt of the object with this name, or undefined for another object. */
export function attemptOfMetrics(job: string, host: number, name: string): number | undefined {
  const attempt = /^([1-9]\d{0,8})\.json$/.exec(name.slice(hostMetricsPrefix(job, host).length))?.[1];
  return attempt === undefined ? undefined : Number(attempt);
}
export const ownerObject = 'system/owner';
/** The changes of workflow code that are switched on: `ChangeSwitches` of contract/changes.ts. */
export const changesObject = 'system/changes.json';
/** Workflows that stood still at the janitor's last sweep: `FailingWorkflows` of contract/janitor.ts. */
export const failingWorkflowsObject = 'system/failing-workflows.json';
/** Mark of the worker that looks, for all workers, whether the janitor has something to do (docs/adr/0152). */
export const sweepLookObject = 'system/sweep-look.json';
/**
 * One empty object for each account (a Google project) in which a job was accepted. There the janitor, a quota workflow without
 * memory and the audit look for our resources. Temporal cannot hold this list, because it forgets jobs. An operator removes the
 * object with the project.
 * @param prefix the one of the kind of machines (`MachineKind.accountsPrefix`)
 */
export const accountObject = (prefix: string, account: string): string => `${prefix}${account}`;
export const accountOfObject = (prefix: string, name: string): string => name.slice(prefix.length);

/** Claims and states of a pool's own machines: `PoolRecord` of cloud/machines/own/pool-record.ts. */
export const machinePoolObject = (pool: string): string => `system/machines/${pool}.json`;

/** Audit log of `jobctl serve`: one object for lines that were written together. @param at milliseconds since 1970 */
export const auditObject = (at: number, replica: string, count: number): string =>
  `${auditDayPrefix(at)}${new Date(at).toISOString().slice(11, 23).replaceAll(':', '-')}-${replica}-${count}.jsonl`;
/** Time at which the object was begun. Undefined for a name that `auditObject` does not make. */
export function timeOfAudit(name: string): number | undefined {
  const [, day, hour, minute, rest] = /^audit\/([\d-]{10})\/(\d\d)-(\d\d)-(\d\d\.\d{3})-/.exec(name) ?? [];
  const at = day === undefined ? NaN : Date.parse(`${day}T${hour}:${minute}:${rest}Z`);
  return Number.isNaN(at) ? undefined : at;
}
export const AUDIT_PREFIX = 'audit/';
/** `audit/<YYYY-MM-DD>/`, in UTC. */
export const auditDayPrefix = (at: number): string => `${AUDIT_PREFIX}${utcDay(at)}/`;

// Accounts of jobs (docs/adr/0162) ----------------------------------------------------------------------------------------

/** The account of an ended job up to its outcome: `JobRecord` of domain/counted/record.ts. */
export const usageObject = (job: string): string => `jobs/${job}/usage.json`;
export const goneMarksPrefix = (job: string): string => `jobs/${job}/gone/`;
/** When a slice of the job was seen gone: `GoneMark`. */
export const goneMarkObject = (job: string, slice: string): string => `${goneMarksPrefix(job)}${slice}.json`;
export const REPORTS_PREFIX = 'reports/';
/** `reports/<YYYY-MM-DD>/`, in UTC: the day files of jobs that ended on that day. */
export const reportDayPrefix = (day: string): string => `${REPORTS_PREFIX}${day}/`;
/** One job's line, until the day is compacted. */
export const reportObject = (day: string, job: string, run: string): string =>
  `${reportDayPrefix(day)}job-${job}-${run}.jsonl`;
/** The lines of many jobs. @param names a hash of the names of the objects that it replaces */
export const compactedReportObject = (day: string, names: string): string =>
  `${reportDayPrefix(day)}all-${names}.jsonl`;
/** The day of a day file, and whether its lines are of one job. Undefined for another object. */
export function reportPlace(name: string): { readonly day: string; readonly isOfJob: boolean } | undefined {
  const [, day, kind] = /^reports\/(\d{4}-\d\d-\d\d)\/(job|all)-[^/]*\.jsonl$/.exec(name) ?? [];
  return day === undefined ? undefined : { day, isOfJob: kind === 'job' };
}

// Objects of a pool (docs/adr/0019) --------------------------------------------------------------------------------------

/** The pool's state for people. Workers write it: `PackedPoolState` of quota/published-state.ts. */
export const poolStateObject = (pool: string): string => `quota/${pool}/state.json`;
/** Places of its waiting jobs, for lists: `WaitingLine` of quota/waiting-line.ts. */
export const poolLineObject = (pool: string): string => `quota/${pool}/line.json`;
/** One JSON object a line, in order of events. The objects of a day are in name order. */
export const poolHistoryPrefix = (pool: string): string => `quota/${pool}/history/`;
/** `day` is YYYY-MM-DD in UTC, `name` sorts by time. */
export const poolHistoryObject = (pool: string, day: string, name: string): string =>
  `${poolHistoryPrefix(pool)}${day}/${name}.jsonl`;
/** The last file that `jobctl quota apply` put in force, if none is configured. */
export const appliedFileObject = (pool: string, kind: 'quota' | 'pool'): string => `quota/${pool}/applied/${kind}`;
/** All applied files, as a glob. */
export const APPLIED_FILES = 'quota/*/applied/{quota,pool}';
/** The last files of the pool that were valid (activities/quota-source.ts). */
export const lastGoodFilesObject = (pool: string): string => `quota/${pool}/last-good.json`;
/** Open jobs of one user, if the pool limits them: `UserJobs` of quota/submission.ts. @param user a hash: names hold anything */
export const userJobsObject = (pool: string, user: string): string => `quota/${pool}/users/${user}.json`;
/** Part of a lease book that is too long for a payload, on its way from one run of the quota workflow to the next. */
export const poolBookObject = (pool: string, name: string): string => `quota/${pool}/book/${name}`;

/** Prefix of the logs of all attempts. */
export const attemptLogsPrefix = (job: string): string => `jobs/${job}/logs/a`;
/** The stream with a cluster's output while it built the job's image. Its hosts are the tries (docs/adr/0074). */
export const BUILD_STREAM = 'build';
/** The stream with the stacks of a command's processes when it was ended for its silence (docs/adr/0128). */
export const STACKS_STREAM = 'stacks';
/**
 * Whether a stream can have this name: a module's, `command`, `BUILD_STREAM`, `STACKS_STREAM`, `hook-success`. Hosts may put
 * other names beside them.
 */
export const isStreamName = (part: string): boolean => /^[a-z][a-z0-9_-]{0,39}$/.test(part);
/** `stream` is a module's name, `command`, `BUILD_STREAM` or `STACKS_STREAM`. */
export const logPrefix = (job: string, attempt: number, stream: string): string =>
  `jobs/${job}/logs/a${attempt}/${stream}/`;
/**
 * One stretch of a host's output, named by the offset of its first byte. So the objects of a host in name order are its output
 * in order: `gcloud storage cat 'PREFIXhost-0.*'` prints the whole.
 */
export const logChunkObject = (prefix: string, host: string, offset: number): string =>
  `${prefix}host-${host}.${String(offset).padStart(OFFSET_DIGITS, '0')}`;
/**
 * Says that the host's output from `offset` on, the end of its stored output, is not stored, and since when. In name order the
 * object follows that output directly, and is not part of it.
 */
export const lostTailObject = (prefix: string, host: string, offset: number): string =>
  `${logChunkObject(prefix, host, offset)}.lost`;
/** Events of the job with their kinds and facts: one `ShownEvent` of domain/job-events a line, as JSON. */
export const jobEventsObject = (job: string): string => `jobs/${job}/logs/events.jsonl`;
/** Actions of jobctl for the job: the "bastion log". */
export const jobLogPrefix = (job: string): string => `jobs/${job}/logs/job.`;

const OFFSET_DIGITS = 15;

/** The offset in a chunk's name, or undefined for another object. */
export function offsetOfChunk(objectName: string): number | undefined {
  const digits = objectName.slice(objectName.lastIndexOf('.') + 1);
  return digits.length === OFFSET_DIGITS && /^\d+$/.test(digits) ? Number(digits) : undefined;
}

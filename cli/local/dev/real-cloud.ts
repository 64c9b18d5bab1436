import { randomBytes } from 'node:crypto';
import type { GoogleProjectPort } from '../../../cloud/google-project/port.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { bucketChecks } from '../../doctor/access-checks.js';
import { createBucketCommand } from '../../../domain/store-place.js';
import { accessChecks } from '../../doctor/checks.js';
import { readFacts, type GoogleFacts, NOTHING_IN_PARTICULAR } from '../../doctor/facts.js';
import type { Finding } from '../../doctor/finding.js';
import { openGoogleProject } from '../../doctor/google.js';
import { regionOf } from '../../../domain/job-file/cloud-path.js';
import { type OwnMachinesWish, settleOwnMachines } from './own-machines.js';
import { billedLine, type RealCloud, type StackRecord } from '../../place/stack/stack-record.js';
import type { Environment, StackHome } from '../../terminal/home.js';

/** The cloud that a stack should use, or its own machines alone. */
export type CloudWish = { readonly kind: 'rehearsal' } | RealCloudWish | OwnMachinesWish;

/** The cloud of a stack. Empty: the rehearsal. */
export type StackCloud = Pick<StackRecord, 'realCloud' | 'ownMachines'>;

export interface RealCloudWish {
  readonly kind: 'gcp';
  readonly googleProject?: string;
  readonly bucket?: string;
  /** Zone in whose region a new bucket is created. */
  readonly zone?: string;
  /** Creates a bucket if none is named. */
  readonly isBucketWanted?: boolean;
  /** Endpoints other than Google's, for tests. */
  readonly tpuEndpoint?: string;
  readonly googleApiEndpoint?: string;
  readonly storeEndpoint?: string;
  readonly sshPort?: number;
  /** True: only this user has a login on this computer. False: no longer. Absent: as before. */
  readonly isAlone?: boolean;
}

export interface CloudSettling {
  readonly home: StackHome;
  readonly known: StackRecord | undefined;
  readonly wish: CloudWish | undefined;
  readonly env: Environment;
  readonly onProgress: (line: string) => void;
  /** Absent: there is no user to ask. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Returns the cloud for the stack. A real one is checked before anything is started.
 * @throws CliError with every remedy if the state folder's stack has another cloud, or the project cannot run jobs
 */
export async function settleCloud(settling: CloudSettling): Promise<StackCloud> {
  const { home, known, wish } = settling;
  refuseSwitch(home, known, wish);
  if (wish?.kind === 'machines' || known?.ownMachines !== undefined)
    return { ownMachines: settleOwnMachines(settling, wish?.kind === 'machines' ? wish : {}) };
  if (wish?.kind !== 'gcp' && known?.realCloud === undefined) return {};
  return { realCloud: await settleRealCloud(settling) };
}

async function settleRealCloud(settling: CloudSettling): Promise<RealCloud> {
  const { known, wish, env, onProgress } = settling;
  const wanted: RealCloudWish = { kind: 'gcp', ...known?.realCloud, ...(wish?.kind === 'gcp' ? wish : {}) };
  const { port, bucket: configured } = await openGoogleProject(wanted, env);
  const { googleProject } = port;
  onProgress(billedLine({ googleProject }));
  const named = wanted.bucket ?? configured;
  const facts = await readFacts(port, { ...NOTHING_IN_PARTICULAR, ...(named === undefined ? {} : { bucket: named }) });
  refuse(googleProject, accessChecks(facts, NOTHING_IN_PARTICULAR), onProgress);
  const bucket = named === undefined ? await newBucket(port, wanted, settling) : usableBucket(facts, onProgress);
  return { googleProject, bucket, ...endpointsOf(wanted, env), ...(wanted.isAlone === true && { isAlone: true }) };
}

/** Refuses another cloud, project or bucket: the jobs of this folder would lose their resources there. */
function refuseSwitch({ root }: StackHome, known: StackRecord | undefined, wish: CloudWish | undefined): void {
  if (known === undefined || wish === undefined) return;
  if (!isOtherCloud(known, wish)) return;
  const has = cloudText(known);
  throw new CliError(
    ExitCode.Refused,
    `the stack of ${root} is on ${has}, and stays there`,
    'its jobs, logs and slices belong to that cloud',
    'have a second stack in a folder of its own: JOBCTL_HOME=~/.local/state/jobctl-2 jobctl dev up ..',
    'or remove this one with all its data: jobctl dev down --purge',
  );
}

function isOtherCloud({ realCloud, ownMachines }: StackCloud, wish: CloudWish): boolean {
  switch (wish.kind) {
    case 'rehearsal':
      return realCloud !== undefined || ownMachines !== undefined;
    case 'machines':
      return ownMachines === undefined || (wish.bucket ?? ownMachines.bucket) !== ownMachines.bucket;
    case 'gcp':
      return isOtherPlace(realCloud, wish);
  }
}

function cloudText({ realCloud, ownMachines }: StackCloud): string {
  if (ownMachines !== undefined) return `own machines alone, with the store ${ownMachines.bucket}`;
  return realCloud === undefined ? 'the rehearsal' : placeOf(realCloud);
}

const placeOf = ({ googleProject, bucket }: RealCloud): string => `project ${googleProject} with bucket ${bucket}`;

function isOtherPlace(known: RealCloud | undefined, wish: RealCloudWish): boolean {
  if (known === undefined) return true;
  const { googleProject = known.googleProject, bucket = known.bucket } = wish;
  return googleProject !== known.googleProject || bucket !== known.bucket;
}

/** Throws all failed checks with their remedies at once. Warnings are only printed. */
function refuse(googleProject: string, findings: readonly Finding[], onProgress: (line: string) => void): void {
  const wrong = findings.filter(({ state }) => state === 'failed');
  if (wrong.length > 0) {
    throw new CliError(
      ExitCode.Unavailable,
      `project ${googleProject} cannot run jobs yet; nothing was started`,
      ...wrong.flatMap(({ check, what, remedy }) => [`${check}: ${what}`, `  -> ${remedy}`]),
      'all checks, with those of zone and network: jobctl doctor --gcp --help',
    );
  }
  for (const { check, state, what, remedy } of findings) {
    if (state === 'warning') onProgress(`warning: ${check}: ${what}${remedy === undefined ? '' : ` -> ${remedy}`}`);
  }
}

function usableBucket(facts: GoogleFacts, onProgress: (line: string) => void): string {
  const bucket = facts.rest?.bucket;
  refuse(facts.googleProject, bucketChecks(facts, bucket, NOTHING_IN_PARTICULAR), onProgress);
  return bucket?.name ?? '';
}

const SUFFIX_BYTES = 3;
const LONGEST_BUCKET = 63;

/** Offers a new bucket and creates it if the user agrees: a bucket costs money, so it is never created unasked. */
async function newBucket(google: GoogleProjectPort, wish: RealCloudWish, { confirm }: CloudSettling): Promise<string> {
  const { googleProject } = google;
  const suffix = randomBytes(SUFFIX_BYTES).toString('hex');
  // For a domain's project (`example.com:p`): a bucket name allows neither dot nor colon.
  const stem = `jobctl-${googleProject.replace(/[^a-z0-9-]/g, '-')}`;
  const bucket = `${stem.slice(0, LONGEST_BUCKET - suffix.length - 1)}-${suffix}`;
  const { zone } = wish;
  if (zone !== undefined && (wish.isBucketWanted === true || (await confirm?.(bucketQuestion(bucket, zone))))) {
    await google.createBucket(bucket, regionOf(zone));
    return bucket;
  }
  const project = `--google-project ${googleProject}`;
  throw new CliError(
    ExitCode.Usage,
    'no bucket is named; nothing was started',
    'jobctl keeps what jobs write, and their outcomes, in a bucket of Cloud Storage (cents a month, until it is deleted)',
    `make one: ${createBucketCommand(bucket, googleProject, zone)}`,
    `and name it: jobctl dev up --cloud gcp ${project} --bucket ${bucket}`,
    `or let jobctl make it: jobctl dev up --cloud gcp ${project} --create-bucket --zone ${zone ?? 'ZONE_OF_THE_SLICES'}`,
  );
}

function bucketQuestion(bucket: string, zone: string): string {
  return `No bucket is named. Make gs://${bucket} in ${regionOf(zone)} for logs and outcomes of jobs? [y/N] `;
}

function endpointsOf(wish: RealCloudWish, env: Environment): Omit<RealCloud, 'googleProject' | 'bucket' | 'isAlone'> {
  const { tpuEndpoint = env['JOBCTL_TPU_ENDPOINT'], googleApiEndpoint = env['JOBCTL_GOOGLE_API_ENDPOINT'] } = wish;
  const { storeEndpoint = env['JOBCTL_STORE_ENDPOINT'], sshPort } = wish;
  return Object.fromEntries(
    Object.entries({ tpuEndpoint, googleApiEndpoint, storeEndpoint, sshPort }).filter(([, value]) => value),
  );
}

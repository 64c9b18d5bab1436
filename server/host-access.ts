import { type HostKeyRecord, readHostKey } from '../cloud/hosts/host-key-record.js';
import { hostKeyPlace, type SshTarget } from '../cloud/hosts/port.js';
import { publicLineFingerprint } from '../cloud/hosts/private-key.js';
import { hostProblem, type JobHost, presentHosts } from '../cloud/hosts/present-hosts.js';
import type { JobKey } from '../cloud/job-keys/port.js';
import type { StoreReader } from '../cloud/store/port.js';
import type { HostAccess } from '../contract/api/hosts.js';
import type { JobView } from '../contract/job.js';
import { ApiError } from './problem.js';
import type { Services } from './services.js';

type Login = NonNullable<JobView['login']>;
/** A host and a worker's record of its key. */
type KnownHost = readonly [host: JobHost<SshTarget>, record: HostKeyRecord];

const byOwnKey = (job: string): string =>
  `with a key of yours that the hosts let in: jobctl ssh ${job} --identity FILE --login USER`;

/**
 * Returns the login for a job's present hosts: the job's own key, derived from the installation's secret for this answer and
 * stored nowhere. The caller has checked and recorded the right to it. The installation's key is never given, because it opens
 * more than one job.
 * @throws ApiError `refused` with the remedy; JobNotFound
 */
export async function hostAccess({ client, store, jobKeys }: Services, job: string): Promise<HostAccess> {
  const { endedAt, phase } = await client.row(job);
  if (endedAt !== undefined)
    throw refusal(job, `it has ended (${phase}): its hosts are gone`, 'its logs and outputs stay');
  const view = await client.describe(job);
  const { login } = view;
  if (login === undefined || view.run === undefined)
    throw refusal(
      job,
      'the worker that answers is of an older jobctl, which does not tell of keys',
      'update the workers',
    );
  const hosts = vmsOf(view, login);
  const { privateKey, publicKey } = keyOf(view, login, jobKeys);
  const known = await recorded(store, job, hosts);
  refuseOsLogin(job, known, login);
  return { user: login.user, privateKey, publicKey, hosts: known.map(shown) };
}

/** @throws ApiError if the job has no hosts now, or its machines were not created with its key */
function vmsOf(view: JobView, login: Login): readonly JobHost<SshTarget>[] {
  const { id, phase, why } = view;
  const hosts = presentHosts(view, login);
  const wrong = hosts.map(hostProblem).find((problem) => problem !== undefined);
  if (wrong !== undefined)
    throw refusal(id, `what it says of its hosts is not believed: ${wrong}`, 'tell the operator');
  if (hosts.length === 0)
    throw refusal(
      id,
      `it has no hosts now: it is ${phase}${why === undefined ? '' : ` (${why})`}`,
      `see what it waits for: jobctl why ${id}`,
    );
  const made = hosts.filter((host): host is JobHost<SshTarget> => host.target.reach === 'ssh');
  if (made.length < hosts.length)
    throw refusal(
      id,
      'its hosts are pods, which let in no key: they are reached by exec, with your own rights in Kubernetes',
      `jobctl exec ${id} -- CMD by your kubeconfig, or kubectl exec`,
    );
  if (made.every(({ target }) => target.own === undefined)) return made;
  throw refusal(
    id,
    "its hosts are a pool's own machines, which let in the installation's key and no job's",
    `log in ${byOwnKey(id)}`,
  );
}

/** @throws ApiError if the job has no job key, or this server cannot derive it */
function keyOf({ id, run = '', spec }: JobView, login: Login, jobKeys: Services['jobKeys']): JobKey {
  if (spec.ssh !== undefined)
    throw refusal(
      id,
      `its hosts let in the key that its job file names (ssh.private_key: ${spec.ssh.privateKey})`,
      `name a file that holds that key: jobctl ssh ${id} --identity FILE`,
    );
  const key = jobKeys.find({ id, run }, login.publicKey);
  if (key !== undefined) return key;
  const { secretIds } = jobKeys;
  const has = secretIds.length === 0 ? 'it has none' : `it has ${secretIds.join(', ')}`;
  throw refusal(
    id,
    `its hosts let in the key ${publicLineFingerprint(login.publicKey) ?? login.publicKey}, which is made from no job-key secret of this server (${has})`,
    `an operator gives the server the secrets that the workers have: ssh.jobKeySecret in serve.json; or log in ${byOwnKey(id)}`,
  );
}

async function recorded(
  store: StoreReader,
  job: string,
  hosts: readonly JobHost<SshTarget>[],
): Promise<readonly KnownHost[]> {
  const records = await Promise.all(hosts.map(({ target }) => readHostKey(store, ...hostKeyPlace(target))));
  return hosts.map((host, at) => {
    const record = records[at];
    if (record !== undefined) return [host, record];
    throw refusal(
      job,
      `the key of host ${host.number} is not recorded yet, so another machine could pass for it`,
      'a worker records it when it connects first, as set-up begins; try again then',
    );
  });
}

/** If a host let in another user than the job's, it asks Google (OS Login), and the key that it was made with does not count. */
function refuseOsLogin(job: string, hosts: readonly KnownHost[], { user }: Login): void {
  if (hosts.every(([, record]) => (record.user ?? user) === user)) return;
  throw refusal(
    job,
    'its hosts ask Google who may log in (OS Login), and let in no key of a job',
    'let Google know a key of yours (gcloud compute os-login ssh-keys add --key-file FILE.pub), and name it: --identity FILE --login USER',
  );
}

const shown = ([{ number, node, target }, { publicKey }]: KnownHost): HostAccess['hosts'][number] => ({
  number,
  node,
  slice: target.slice,
  index: target.index,
  address: target.address,
  ...(target.internalAddress === undefined ? {} : { internalAddress: target.internalAddress }),
  hostKey: publicKey,
});

const refusal = (job: string, why: string, remedy: string): ApiError =>
  new ApiError('refused', `job ${job}: ${why}`, remedy);

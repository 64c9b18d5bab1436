import type { FastifyRequest } from 'fastify';
import type { ApiEdit } from '../../contract/api/changes.js';
import type { JobView } from '../../contract/job.js';
import { JOB_VERBS } from '../../contract/job-requests.js';
import type { JobEdit } from '../../client/job-calls.js';
import { isOver } from '../../client/job-rows.js';
import { purgeJob } from '../../client/job-records.js';
import { withJob } from '../submit.js';
import { ApiError } from '../problem.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import type { Serve, Served } from './serve.js';
import { type HostKeyRecord, readHostKey } from '../../cloud/hosts/host-key-record.js';
import { hostKeyPlace, type SshTarget } from '../../cloud/hosts/port.js';
import { wayOf } from '../../cloud/hosts/reaches.js';
import { publicLineFingerprint } from '../../cloud/hosts/private-key.js';
import { hostProblem, type JobHost, presentHosts } from '../../cloud/hosts/present-hosts.js';
import type { JobKey } from '../../cloud/job-keys/port.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { HostAccess } from '../../contract/api/hosts.js';

/** The changes that a person can request of one job. Each is allowed, recorded, and sent to the job in the caller's name. */
export function registerJobChanges(serve: Serve, services: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const { client, dear, gate, store } = services;

  serve('cancel', async ({ call, params: { id }, body }) => ({
    state: await client.cancel(id, { by: call.caller.id, ...present(body) }),
  }));

  for (const verb of JOB_VERBS) {
    if (verb !== 'resume' && verb !== 'restart') {
      serve(verb, async ({ call, params: { id }, body }) => {
        const { verb: _, ...wish }: Partial<typeof body> & { readonly verb?: unknown } = body;
        return { message: await client[verb](id, call.caller.id, wish as never) };
      });
      continue;
    }
    const edited = async ({ call, params: { id }, body }: Served<'resume' | 'restart'>) => {
      // An edit runs another command in the owner's name and with their secrets, so it needs more than the right to a restart.
      await gate.job(call, isEdit(body) ? [verb, 'edit'] : verb, id);
      const edit = await withJob(dear, body, call.caller.id);
      // The thread of all jobs' workflows checks the edit too, so its cost is checked and counted here first.
      const { job, set } = edit;
      const { problems } = isEdit(edit) ? await dear.run('edit', present({ job, set }), call.caller.id) : {};
      if (problems !== undefined) throw new ApiError('invalid', problems);
      return { message: await client[verb](id, call.caller.id, editOf(edit)) };
    };
    serve(verb, edited, { asksItself: true, turn: true, rateLimit: editRate(limits) });
  }

  serve('priority', async ({ call, params: { id }, facts: { pool, owner }, body: { priority } }) => ({
    // The pool compares the name with the job's user and its own admins. The access table has allowed the caller, so the call
    // is made in the user's name; the pool's history records the caller.
    message: await client.quota(pool).setPriority(id, priority, owner, call.caller.id),
  }));

  serve('delete', async ({ params: { id } }) => {
    const row = await client.row(id);
    if (!isOver(row))
      throw new ApiError(
        'refused',
        `job ${id} is ${row.phase}: an open job writes into what would be deleted`,
        `end it first: POST /v1/jobs/${id}/cancel`,
      );
    const open = await client.openSlices(id);
    if (open.length > 0)
      throw new ApiError(
        'refused',
        `job ${id}: its slices are still being deleted: ${open.join(', ')}`,
        'repeat in a minute',
      );
    const { objects, bytes } = await purgeJob(store, id);
    return { message: `deleted ${objects} objects, ${bytes} bytes, of job ${id}`, objects, bytes };
  });

  serve('hostAccess', ({ params: { id } }) => hostAccess(services, id));
}

/** The keys that were sent: zod's types of the other keys allow `undefined`. */
const present = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };

/** A subject may make as many edits per minute as submits, counted apart. A restart without changes has the usual limit. */
const editRate = (limits: ServerConfig['limits']) => {
  const isEditing = ({ body }: FastifyRequest): boolean => isEdit((body as ApiEdit | null | undefined) ?? {});
  return {
    max: (request: FastifyRequest) => (isEditing(request) ? limits.submitsPerMinute : limits.requestsPerMinute),
    timeWindow: 60_000,
    keyGenerator: (request: FastifyRequest) =>
      `${request.caller?.id ?? request.ip}${isEditing(request) ? ' edits' : ''}`,
  };
};

const isEdit = ({ job, file, set, files }: ApiEdit): boolean =>
  job !== undefined || file !== undefined || (set?.length ?? 0) > 0 || files !== undefined;

const editOf = ({ files: uploaded, ...edit }: Omit<ApiEdit, 'file' | 'env'>): JobEdit =>
  present({ ...edit, uploaded }) as JobEdit;

type Login = NonNullable<JobView['login']>;
/** A host and a worker's record of its key. */
type KnownHost = readonly [host: JobHost<SshTarget>, record: HostKeyRecord];

const byOwnKey = (job: string): string =>
  `with a key of yours that the hosts let in: jobctl ssh ${job} --identity FILE --login USER`;

/**
 * Returns the login for a job's present hosts: the job's own key, derived from the installation's secret for this answer and
 * stored nowhere. The caller of this function has checked and recorded the right to it. The installation's key is never given,
 * because it opens more than one job.
 * @throws ApiError `refused` with the remedy; JobNotFound
 */
async function hostAccess({ client, store, jobKeys }: Services, job: string): Promise<HostAccess> {
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

const hasLogin = (host: JobHost): host is JobHost<SshTarget> => host.target.reach === 'ssh';

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
  const made = hosts.filter(hasLogin);
  const [without] = hosts.flatMap(({ target }) => wayOf(target).withoutKey ?? []);
  if (without !== undefined) throw refusal(id, ...without(id));
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
  const key = jobKeys.find(login.landlord ?? { id, run }, login.publicKey);
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

/** Refuses hosts that let in another user than the job's: they ask Google (OS Login), and the job's key does not count there. */
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

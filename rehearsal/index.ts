import { join, resolve } from 'node:path';
import { writeCredentialsFile } from './access/credentials-file.js';
import { startMetadataServer } from './access/metadata-server.js';
import type { AuthenticationOptions, OpenedAccess } from './access/open-access.js';
import { openAccess } from './access/open-access.js';
import { addTokenService, giveToken } from './access/token-service.js';
import { startAdminServer } from './admin/server.js';
import type { Core } from './core.js';
import { startCore } from './core.js';
import type { FleetSurroundings } from './fleet.js';
import { Journal } from './journal.js';
import type { RehearsedKubernetes } from './kubernetes/cluster.js';
import type { RefusalOf } from './kubernetes/server.js';
import { addNeighbours } from './neighbours/server.js';
import type { ProjectFacts } from './project/facts.js';
import { RehearsedProject } from './project/rehearsed-project.js';
import type { Guard } from './loopback-server.js';
import { pickSshPort } from './ssh-port.js';
import { lockStateDir } from './state-lock.js';
import { storeRights } from './store/authorization.js';
import { startStoreServer } from './store/server.js';
import type { StoreHooks } from './store/server.js';
import { StoreError } from './store/store-error.js';
import { STATUS_CODES } from './tpu/api-error.js';
import { tpuAuthorization } from './tpu/authorization.js';
import type { TpuCloud } from './tpu/cloud.js';
import { takeRefusal } from './tpu/faults.js';
import { createGateway } from './tpu/gateway.js';
import { startGrpcServer } from './tpu/grpc-server.js';
import { startRestServer } from './tpu/rest-server.js';
import type { Settings } from './tpu/settings.js';
import { isolationOf } from './vm/isolation.js';

export type { AuthenticationOptions } from './access/open-access.js';
export type { PrincipalRequest } from './access/principal.js';
export type { ProjectRequest } from './project/facts.js';
export type { Settings } from './tpu/settings.js';

export interface RehearsalOptions {
  /** Everything that outlives the process: resources, VM disks, objects, the journal. */
  readonly stateDir: string;
  /** The second octet of the hosts' addresses, 127.S.a.b. 77 if not given; another for each rehearsal of one computer. */
  readonly subnetOctet?: number;
  /** Of every host. 22 if that can be had, else from 2222 on. */
  readonly sshPort?: number;
  /** 0 or none: any. */
  readonly tpuPort?: number;
  readonly restPort?: number;
  readonly storePort?: number;
  readonly adminPort?: number;
  readonly metadataPort?: number;
  /** Of the rehearsed Kubernetes; 0: any. Absent: there is none. */
  readonly kubernetesPort?: number;
  /** Laid over the settings that the state folder remembers. */
  readonly delays?: Partial<Settings>;
  /** Whole; what is drawn (queue times, ids) follows from it. A state folder that is there goes on with its own. */
  readonly seed?: number | undefined;
  /** Cloud ms per wall ms, 0.001 to 10,000,000; 1 if it was never set. */
  readonly timeScale?: number | undefined;
  /** Names of this computer that callers may use beside loopback's: calls under any other name are refused. */
  readonly hostNames?: readonly string[] | undefined;
  /**
   * Whose calls are taken. `token`: who sends the rehearsal's token, or one that it gave out. `login`: also whoever is a process of
   * this login, by the kernel's word. The store takes both in either case: Google's libraries send it no token.
   * `login` if not given.
   */
  readonly callers?: 'token' | 'login' | undefined;
  /** Given, and be it empty: TLS on every API, and each call needs a token whose principal may do it. Absent: neither TLS nor rights. */
  readonly authentication?: AuthenticationOptions;
}

export interface RehearsalEndpoints {
  /** `host:port` of the gRPC API. */
  readonly tpu: string;
  /** URLs without a trailing slash. `rest` stands for Cloud TPU and for each of its neighbours: Resource Manager, Compute .. */
  readonly rest: string;
  readonly store: string;
  readonly admin: string;
  readonly sshPort: number;
  /** The rehearsal's token, and the header with it for `curl -H @FILE`: mode 0600, another one after each start. */
  readonly tokenFile: string;
  readonly headerFile: string;
  /** Of the rehearsed Kubernetes, where there is one: its API server, and a file with what kubectl needs. */
  readonly kubernetes?: string;
  readonly kubeconfig?: string;
  /** With authentication alone: what clients must trust, for NODE_EXTRA_CA_CERTS and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH. */
  readonly caFile?: string;
  /** .. `host:port` of a metadata server that gives tokens of the current principal, for GCE_METADATA_HOST. */
  readonly metadataHost?: string;
  /** .. the same as a login, for GOOGLE_APPLICATION_CREDENTIALS. */
  readonly credentialsFile?: string;
}

export interface Rehearsal {
  readonly endpoints: RehearsalEndpoints;
  /** Kills every VM and closes every port; the state stays. Repeating is harmless. */
  stop(): Promise<void>;
}

/** Starts the rehearsal cloud, or goes on where the one before it in this state folder was. Rejects with what to do. */
export async function startRehearsal(options: RehearsalOptions): Promise<Rehearsal> {
  const stateDir = resolve(options.stateDir);
  const unlock = lockStateDir(stateDir);
  const closers: Closers = [unlock];
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= closeAll(closers));
  try {
    return { endpoints: await assemble(stateDir, options, closers), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.toReversed()) await close();
}

type Closers = (() => Promise<void> | void)[];

/** What every server of one rehearsal shares. */
interface Site {
  readonly stateDir: string;
  readonly options: RehearsalOptions;
  readonly closers: Closers;
  readonly journal: Journal;
  readonly record: Journal['record'];
  readonly access: OpenedAccess;
  readonly guard: Guard;
  readonly project: RehearsedProject;
  readonly facts: () => ProjectFacts;
}

async function assemble(stateDir: string, options: RehearsalOptions, closers: Closers): Promise<RehearsalEndpoints> {
  const subnetOctet = options.subnetOctet ?? 77;
  const sshPort = options.sshPort ?? (await pickSshPort(subnetOctet));
  const site = await openSite(stateDir, options, closers);
  // The store first: every VM knows its address from its first login on.
  const store = await openStore(site);
  const settings = options.delays ?? {};
  const { seed, timeScale } = options;
  const wires: { rest?: string } = {};
  const place = {
    subnetOctet,
    sshPort,
    storeUrl: store.url,
    restUrl: () => wires.rest,
    surroundings: surroundings(site),
    facts: site.facts,
  };
  const core = await startCore(stateDir, { ...place, settings, seed, timeScale }, site.journal);
  closers.push(core.stop);
  store.refuseAs(core.cloud);
  const api = await startApi(site, core);
  wires.rest = api.rest;
  const { confinement } = core.fleet;
  const facts = {
    pid: process.pid,
    startedAt: Date.now(),
    stateDir,
    isolation: isolationOf(confinement.kind),
    confinement: confinement.kind,
    confinementReason: confinement.reason,
    subnetOctet,
    sshPort,
  };
  const kubernetes = await openKubernetes(site, core.cloud, subnetOctet, store.url);
  // Plain HTTP in any case: Google has no such interface.
  const guard = { hostNames: site.guard.hostNames };
  const admin = await startAdminServer({ ...core, ...site, guard, facts, kubernetes }, options.adminPort ?? 0);
  closers.push(admin.close);
  const cluster = kubernetes && { kubernetes: kubernetes.url, kubeconfig: kubernetes.kubeconfig };
  const { tokenFile, headerFile } = site.access.own;
  const endpoints = { ...api, store: store.url, admin: admin.url, sshPort, tokenFile, headerFile, ...cluster };
  return { ...endpoints, ...(await startCredentials(site, api.rest)) };
}

async function openSite(stateDir: string, options: RehearsalOptions, closers: Closers): Promise<Site> {
  const journal = new Journal(join(stateDir, 'journal.jsonl'));
  closers.push(() => journal.close());
  const { authentication, callers, hostNames = [] } = options;
  const access = await openAccess(join(stateDir, 'access'), authentication, callers !== 'token');
  const guard = { hostNames: hostNames.map((name) => name.toLowerCase()), tls: access.tls };
  const project = new RehearsedProject(join(stateDir, 'project'));
  const record = journal.record.bind(journal);
  return { stateDir, options, closers, journal, record, access, guard, project, facts: () => project.facts };
}

/** What TPU VMs see of the project. A service account that no principal is has the rights of the current one. */
function surroundings({ access: { control }, record, facts }: Site): FleetSurroundings {
  return {
    project: facts,
    token(email) {
      const principal = control.principal(email) ?? control.principal('current');
      return principal && giveToken({ access: control, record }, principal, 'metadata');
    },
  };
}

/** It takes calls before there is a cloud whose refusals it could know. */
async function openStore({ stateDir, options, closers, record, access, guard }: Site): Promise<{
  readonly url: string;
  readonly refuseAs: (cloud: TpuCloud) => void;
}> {
  let refusal: StoreHooks['refusal'] = () => undefined;
  const hooks: StoreHooks = {
    record,
    refusal: (method, name) => refusal(method, name),
    rights: storeRights(access.control),
  };
  const store = await startStoreServer(join(stateDir, 'store'), options.storePort ?? 0, hooks, guard);
  closers.push(store.close);
  return { url: store.url, refuseAs: (cloud) => (refusal = storeRefusals(cloud)) };
}

/** Cloud TPU on both wires, and what stands beside it. */
async function startApi(
  { options, closers, record, access, guard, facts }: Site,
  { cloud, compute, fleet, listHistory, changed }: Core,
): Promise<Pick<RehearsalEndpoints, 'tpu' | 'rest'>> {
  const { control } = access;
  const gateway = createGateway({
    cloud,
    site: {
      hostKeys: (name) => fleet.vmsOf(name).map((vm) => vm.hostKey),
      facts,
      shown: (kind, now) => listHistory.shown(kind, now),
    },
    authorize: tpuAuthorization(control, facts),
    record,
    changed,
  });
  const grpc = await startGrpcServer(gateway, options.tpuPort ?? 0, guard);
  closers.push(grpc.close);
  const rest = await startRestServer(gateway, {
    port: options.restPort ?? 0,
    guard,
    async addOthers(app) {
      await addTokenService(app, { access: control, record });
      addNeighbours(app, {
        access: control,
        facts,
        record,
        compute: {
          cloud: compute,
          hostKey: (path) => fleet.vmsOf(path)[0]?.hostKey,
          refusal: (method, name) => takeRefusal(cloud.state, method, name, cloud.now()),
          changed,
        },
      });
    },
  });
  closers.push(rest.close);
  return { tpu: `127.0.0.1:${grpc.port}`, rest: rest.url };
}

async function openKubernetes(
  { stateDir, options, closers, record, guard: { hostNames } }: Site,
  cloud: TpuCloud,
  subnetOctet: number,
  storeUrl: string,
): Promise<RehearsedKubernetes | undefined> {
  const { kubernetesPort: port } = options;
  if (port === undefined) return undefined;
  const [{ startKubernetes }, { rehearsedRefusal }] = await Promise.all([
    import('./kubernetes/cluster.js'),
    import('./kubernetes/refused-calls.js'),
  ]);
  // As on VMs: Google's client libraries then go to the rehearsed store, without a token.
  const environment = { STORAGE_EMULATOR_HOST: storeUrl };
  const folder = join(stateDir, 'kubernetes');
  const refusalOf: RefusalOf = (method, path) => {
    const refusal = takeRefusal(cloud.state, method, path, cloud.now());
    if (refusal === undefined) return undefined;
    return { error: rehearsedRefusal(refusal.status, refusal.message), afterEffect: refusal.afterEffect };
  };
  const kubernetes = await startKubernetes({ folder, port, subnetOctet, hostNames, environment, record, refusalOf });
  closers.push(() => kubernetes.close());
  return kubernetes;
}

/** Where clients find what to trust and whom to be; nothing without authentication. */
async function startCredentials(
  { stateDir, options, closers, record, access, guard, facts }: Site,
  tokenService: string,
): Promise<Pick<RehearsalEndpoints, 'caFile' | 'metadataHost' | 'credentialsFile'>> {
  if (access.tls === undefined) return {};
  const metadata = await startMetadataServer({ access: access.control, record }, facts, {
    port: options.metadataPort ?? 0,
    hostNames: guard.hostNames,
  });
  closers.push(metadata.close);
  const credentialsFile = join(stateDir, 'access', 'credentials.json');
  writeCredentialsFile(credentialsFile, tokenService, access.control.state.key);
  return { caFile: access.tls.caFile, metadataHost: metadata.host, credentialsFile };
}

/** The admin's refusals, for calls of the store: by the names of the JSON API's methods, such as `objects.insert`. */
function storeRefusals(
  cloud: TpuCloud,
): (method: string, name: string) => { readonly error: StoreError; readonly afterEffect: boolean } | undefined {
  return (method, name) => {
    const refusal = takeRefusal(cloud.state, method, name, cloud.now());
    if (refusal === undefined) return undefined;
    // What Cloud TPU answers with 400, Cloud Storage answers with 412 (conditionNotMet).
    const httpStatus = refusal.status === 'FAILED_PRECONDITION' ? 412 : STATUS_CODES[refusal.status][1];
    return { error: new StoreError(httpStatus, 'rehearsed', refusal.message), afterEffect: refusal.afterEffect };
  };
}

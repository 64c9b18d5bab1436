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
import { machineNodes, type RehearsedMachine } from './machines.js';
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
  /** Second octet of the hosts' addresses, 127.S.a.b; 77 by default. Each rehearsal on one computer needs a different one. */
  readonly subnetOctet?: number;
  /** SSH port of every host. Default: 22 if it is available, else the first free port from 2222. */
  readonly sshPort?: number;
  /** 0 or absent: any free port. The same holds for the four ports below. */
  readonly tpuPort?: number;
  readonly restPort?: number;
  readonly storePort?: number;
  readonly adminPort?: number;
  readonly metadataPort?: number;
  /** Port of the rehearsed Kubernetes; 0: any free port. Absent: no Kubernetes. */
  readonly kubernetesPort?: number;
  /** Machines of the user's own, beside the cloud's VMs; `machineKey`, an OpenSSH public key, logs in there. Absent: none. */
  readonly machines?: readonly RehearsedMachine[] | undefined;
  readonly machineKey?: string | undefined;
  /** Override the settings that the state folder remembers. */
  readonly delays?: Partial<Settings>;
  /** Whole number that determines random draws (queue times, ids). An existing state folder keeps its own. */
  readonly seed?: number | undefined;
  /** Cloud ms per wall ms, 0.001 to 10,000,000; 1 if it was never set. */
  readonly timeScale?: number | undefined;
  /** Names of this computer that callers may use beside those of loopback. Calls under any other name are refused. */
  readonly hostNames?: readonly string[] | undefined;
  /**
   * Accepted callers. `token`: callers that send the rehearsal's token, or one that it issued. `login`: also every process of
   * this login, as reported by the kernel. The store accepts both in either case, because Google's libraries send it no token.
   * Default: `login`.
   */
  readonly callers?: 'token' | 'login' | undefined;
  /**
   * If present, even empty: TLS on every API, and each call needs a token with the right to make it. Absent: no TLS, no rights.
   */
  readonly authentication?: AuthenticationOptions;
}

export interface RehearsalEndpoints {
  /** `host:port` of the gRPC API. */
  readonly tpu: string;
  /** URLs without a trailing slash. `rest` serves Cloud TPU and each of its neighbours: Resource Manager, Compute Engine .. */
  readonly rest: string;
  readonly store: string;
  readonly admin: string;
  readonly sshPort: number;
  /** Files with the rehearsal's token, and with the header for `curl -H @FILE`. Mode 0600; the token is new at each start. */
  readonly tokenFile: string;
  readonly headerFile: string;
  /** URL of the rehearsed Kubernetes API server, and the path of its kubeconfig. Absent without Kubernetes. */
  readonly kubernetes?: string;
  readonly kubeconfig?: string;
  /** With authentication only: file with the CA, for NODE_EXTRA_CA_CERTS and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH. */
  readonly caFile?: string;
  /**
   * With authentication only: `host:port` of a metadata server that issues the current principal's tokens, for GCE_METADATA_HOST.
   */
  readonly metadataHost?: string;
  /** With authentication only: credentials file of the current principal, for GOOGLE_APPLICATION_CREDENTIALS. */
  readonly credentialsFile?: string;
}

export interface Rehearsal {
  readonly endpoints: RehearsalEndpoints;
  /** Kills every VM and closes every port; the state stays. Repeating is harmless. */
  stop(): Promise<void>;
}

/** Starts the rehearsal cloud, or continues the one in this state folder. Rejects with an error that says what to do. */
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

/** The parts that all servers of one rehearsal share. */
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
  // The store starts first: VMs need its address from their first login on.
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
    machines: machineNodes(options.machines ?? [], options.machineKey ?? ''),
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

/** The project as TPU VMs see it. A service account that is not a principal has the rights of the current principal. */
function surroundings({ access: { control }, record, facts }: Site): FleetSurroundings {
  return {
    project: facts,
    token(email) {
      const principal = control.principal(email) ?? control.principal('current');
      return principal && giveToken({ access: control, record }, principal, 'metadata');
    },
  };
}

/** The store takes calls before the cloud exists; `refuseAs` connects it to the cloud's refusals later. */
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

/** Starts Cloud TPU over gRPC and REST, with its neighbours. */
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
  // The same variable as on VMs: Google's client libraries then go to the rehearsed store, without a token.
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

/**
 * Starts the metadata server and writes the credentials file. Returns what clients need to find their CA and identity; nothing
 * without authentication.
 */
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

/** The admin's refusals of store calls, by the JSON API's method names, such as `objects.insert`. */
function storeRefusals(
  cloud: TpuCloud,
): (method: string, name: string) => { readonly error: StoreError; readonly afterEffect: boolean } | undefined {
  return (method, name) => {
    const refusal = takeRefusal(cloud.state, method, name, cloud.now());
    if (refusal === undefined) return undefined;
    // Cloud TPU answers a failed precondition with 400, Cloud Storage with 412 (conditionNotMet).
    const httpStatus = refusal.status === 'FAILED_PRECONDITION' ? 412 : STATUS_CODES[refusal.status][1];
    return { error: new StoreError(httpStatus, 'rehearsed', refusal.message), afterEffect: refusal.afterEffect };
  };
}

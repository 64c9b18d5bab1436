import { machineKind, type MachineRef } from '../../domain/machines.js';
import type { GoogleRest } from '../google-project/rest.js';
import type { GuestAttributesPort } from '../machines/port.js';
import type { SshTarget } from './port.js';

/** Refs to Google's machines: hosts of another kind have no OS Login. */
type GoogleRef = Extract<MachineRef, { readonly googleProject: string }>;

/** Requests to Google about one project, with the worker's account. */
export type ProjectRequests = Pick<GoogleRest, 'get' | 'post' | 'identity'>;

/** Time for which an answer about a node is kept: the node's hosts refuse the login one after the other, and are tried again. */
const KNOWN_MS = 60_000;

interface Metadata {
  readonly commonInstanceMetadata?: { readonly items?: readonly { readonly key: string; readonly value?: string }[] };
}

interface ImportAnswer {
  readonly loginProfile?: {
    readonly posixAccounts?: readonly { readonly primary?: boolean; readonly username?: string }[];
  };
}

/**
 * OS Login: if the metadata of a VM or of its project contain `enable-oslogin`, the VM ignores keys in its metadata `ssh-keys`.
 * The VM asks Google who may log in, under a user name that Google makes. Checked only after a host has refused the login.
 */
export class OsLogin {
  readonly #requests: (googleProject: string) => ProjectRequests;
  readonly #nodes: Pick<GuestAttributesPort, 'readNodeMetadata'>;
  /** Keyed by node id and key. */
  readonly #users = new Map<string, { readonly at: number; readonly user: Promise<string | undefined> }>();

  constructor(
    requests: (googleProject: string) => ProjectRequests,
    nodes: Pick<GuestAttributesPort, 'readNodeMetadata'>,
  ) {
    this.#requests = requests;
    this.#nodes = nodes;
  }

  /**
   * Adds the key to the login profile of the worker's account and returns the account's user name on the host; undefined if OS
   * Login is off.
   * @throws Error that says that it is on and why it cannot be used
   */
  userOf({ ref, uid }: SshTarget, publicKey: string): Promise<string | undefined> {
    // OS Login belongs to Google: hosts of another kind have none.
    if (ref === undefined || !('googleProject' in ref)) return Promise.resolve(undefined);
    const name = `${uid} ${publicKey}`;
    const known = this.#users.get(name);
    if (known && Date.now() - known.at < KNOWN_MS) return known.user;
    const user = this.#ask(ref, publicKey);
    this.#users.set(name, { at: Date.now(), user });
    return user;
  }

  async #ask(ref: GoogleRef, publicKey: string): Promise<string | undefined> {
    const requests = this.#requests(ref.googleProject);
    const where = await this.#whereEnabled(ref, requests);
    if (where === undefined) return undefined;
    try {
      const { email } = await requests.identity();
      if (email === undefined) throw new Error("the credentials tell no account's address");
      const path = `/v1/users/${encodeURIComponent(email)}:importSshPublicKey?projectId=${ref.googleProject}`;
      const { loginProfile } = await requests.post<ImportAnswer>('oslogin', path, { key: publicKey });
      const accounts = loginProfile?.posixAccounts ?? [];
      const user = (accounts.find(({ primary }) => primary) ?? accounts[0])?.username;
      if (user === undefined) throw new Error(`the login profile of ${email} has no POSIX account`);
      return user;
    } catch (error) {
      throw new Error(
        `OS Login is on (${where}), so the key in the metadata 'ssh-keys' counts for nothing, and it cannot be used: ${(error as Error).message}; ` +
          `the worker's account needs roles/compute.osAdminLogin there, or set enable-oslogin=FALSE in the job's ${machineKind(ref.kind).section.name}.metadata`,
        { cause: error },
      );
    }
  }

  /** The node's setting overrides its project's. Unreadable metadata count as off: the refusal of the login stands. */
  async #whereEnabled(ref: GoogleRef, requests: ProjectRequests): Promise<string | undefined> {
    const metadata = await this.#nodes.readNodeMetadata(ref).catch((): Readonly<Record<string, string>> => ({}));
    const node = metadata['enable-oslogin'];
    if (node !== undefined) return isOn(node) ? `metadata of node ${ref.name}` : undefined;
    const path = `/compute/v1/projects/${ref.googleProject}`;
    const { commonInstanceMetadata } = await requests.get<Metadata>('compute', path).catch((): Metadata => ({}));
    const project = commonInstanceMetadata?.items?.find(({ key }) => key === 'enable-oslogin')?.value;
    return isOn(project) ? `metadata of project ${ref.googleProject}` : undefined;
  }
}

const isOn = (value: string | undefined): boolean => /^(true|y|yes|1)$/i.test(value ?? '');

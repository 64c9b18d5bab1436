import { tokenInFile } from '../../cloud/access-token.js';

/** What of POST /admin tests use. */
type AdminVerb =
  | 'capacity'
  | 'clock'
  | 'configure'
  | 'fail-request'
  | 'force'
  | 'hold'
  | 'hosts'
  | 'kubernetes'
  | 'list-lag'
  | 'maintenance'
  | 'preempt'
  | 'project'
  | 'refuse'
  | 'release'
  | 'send-back'
  | 'warn';

/** The rehearsal's admin interface, as tests speak to it. */
export class RehearsalAdmin {
  readonly #url: string;
  readonly #tokenFile: string | undefined;

  /** @param tokenFile of a stack of `dev up`, whose rehearsal takes no call without a token */
  constructor(url: string, tokenFile?: string) {
    this.#url = url;
    this.#tokenFile = tokenFile;
  }

  /** The rehearsal has another token after each start. */
  #ask(path: string, init: RequestInit = {}): Promise<Response> {
    const token = tokenInFile(this.#tokenFile);
    const own = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return fetch(`${this.#url}/admin/${path}`, { ...init, headers: { ...own, ...(init.headers as object) } });
  }

  async post(verb: AdminVerb, body: object): Promise<void> {
    const response = await this.#ask(verb, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok)
      throw new Error(`admin ${verb} ${JSON.stringify(body)}: ${response.status} ${await response.text()}`);
  }

  /** Of the rehearsed Kubernetes. */
  async nodes(): Promise<readonly object[]> {
    const settings = (await (await this.#ask('kubernetes')).json()) as { nodes: readonly object[] };
    return settings.nodes;
  }

  setNodes(nodes: readonly object[]): Promise<void> {
    return this.post('kubernetes', { nodes });
  }

  async stopRefusing(): Promise<void> {
    await this.#ask('refuse', { method: 'DELETE' });
  }

  async status(): Promise<CloudStatus> {
    return (await (await this.#ask('status')).json()) as CloudStatus;
  }

  async journal(): Promise<readonly CloudEvent[]> {
    const text = await (await this.#ask('journal?after=0')).text();
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CloudEvent]));
  }
}

export interface CloudStatus {
  /** Of Compute Engine. */
  readonly vms: readonly { readonly name: string; readonly state: string; readonly machineType: string }[];
  readonly queuedResources: readonly { readonly name: string; readonly state: string }[];
  readonly nodes: readonly {
    readonly name: string;
    readonly state: string;
    readonly hosts: readonly { readonly init?: number; readonly process: string }[];
  }[];
}

export interface CloudEvent {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: {
    readonly from?: string;
    readonly to?: string;
    readonly chips?: number;
    readonly method?: string;
    readonly code?: string;
    /** Of a call that was refused. */
    readonly message?: string;
    /** Of an operation that failed. */
    readonly error?: { readonly message?: string };
    /** As the state was entered. */
    readonly resource?: { readonly spot?: object };
  };
}

/**
 * The most chips that existed at one time: of every queued resource from its creation until it was gone, granted or not,
 * and of every node without one. It reads the cloud's own journal and shares nothing with what it judges.
 */
export function mostChipsAtOnce(events: readonly CloudEvent[]): number {
  const alive = new Map<string, number>();
  let most = 0;
  for (const { kind, subject, details } of events) {
    if (kind !== 'queued-resource-state' && kind !== 'node-state') continue;
    const key = subject.split('/').at(-1) as string;
    const own = `${kind}:${key}`;
    if (details.to === 'gone') alive.delete(own);
    else alive.set(own, details.chips ?? 0);
    const names = new Set([...alive.keys()].map((name) => name.slice(name.indexOf(':') + 1)));
    const sum = [...names].reduce(
      (total, name) =>
        total + Math.max(alive.get(`queued-resource-state:${name}`) ?? 0, alive.get(`node-state:${name}`) ?? 0),
      0,
    );
    most = Math.max(most, sum);
  }
  return most;
}

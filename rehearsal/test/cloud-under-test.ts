import { readFileSync } from 'node:fs';
import { v2 } from '@google-cloud/tpu';
import type { protos } from '@google-cloud/tpu';
import { PassThroughClient } from 'google-auth-library';
import { grpc } from 'google-gax';
import type { Rehearsal, RehearsalEndpoints, RehearsalOptions } from '../index.js';
import { startRehearsal } from '../index.js';
import type { Scratch, UserKey } from './scratch.js';
import { makeUserKey, scratchFolder, SUBNET_OCTET } from './scratch.js';
import { until } from '../../test/until.js';
import type { SshPlace } from './ssh-client.js';

export type TpuClient = InstanceType<typeof v2.TpuClient>;
export type Node = protos.google.cloud.tpu.v2.INode;

export const PARENT = 'projects/p/locations/us-central1-a';
export const SSH_PORT = 2222;

export interface JournalLine {
  readonly seq: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What grpc-js gives to a function that may change a call, as README.md says. */
interface Call {
  readonly metadata: grpc.Metadata;
}

/** Google's own client, pointed at a rehearsal. @param tokenFile of one that takes no call without its token */
export function tpuClient(endpoints: Pick<RehearsalEndpoints, 'tpu'>, tokenFile?: string): TpuClient {
  const withToken = (call: Call): Call => {
    if (tokenFile !== undefined) call.metadata.set('authorization', `Bearer ${readFileSync(tokenFile, 'utf8')}`);
    return call;
  };
  return new v2.TpuClient({
    'grpc.callInvocationTransformer': withToken as never,
    apiEndpoint: '127.0.0.1',
    port: Number(endpoints.tpu.split(':')[1]),
    sslCreds: grpc.credentials.createInsecure(),
    // gax types its own copy of the auth library; the client is the same to it.
    authClient: new PassThroughClient() as never,
  });
}

/** A rehearsal with a client of each kind; verbs of the admin interface as methods. */
export class CloudUnderTest {
  // Made at the first start: files are loaded, and describes run, also for tests that are not.
  #scratch: Scratch | undefined;
  #userKey: UserKey | undefined;
  #rehearsal: Rehearsal | undefined;
  #client: TpuClient | undefined;

  async start(options: Partial<RehearsalOptions> = {}): Promise<void> {
    this.#scratch ??= scratchFolder('cloud');
    this.#userKey ??= makeUserKey(this.#scratch.path);
    const base = { stateDir: `${this.#scratch.path}/state`, subnetOctet: SUBNET_OCTET, sshPort: SSH_PORT };
    this.#rehearsal = await startRehearsal({ ...base, ...options });
    this.#client = tpuClient(this.#rehearsal.endpoints);
  }

  /** Graceful, state kept: `start` goes on with it. */
  async halt(): Promise<void> {
    await this.#client?.close();
    await this.#rehearsal?.stop();
  }

  async stop(): Promise<void> {
    await this.halt();
    this.#scratch?.remove();
    this.#scratch = undefined;
    this.#userKey = undefined;
  }

  get #key(): UserKey {
    if (this.#userKey === undefined) throw new TypeError('the cloud under test was not started');
    return this.#userKey;
  }

  get endpoints(): RehearsalEndpoints {
    if (this.#rehearsal === undefined) throw new TypeError('the cloud under test was not started');
    return this.#rehearsal.endpoints;
  }

  get client(): TpuClient {
    if (this.#client === undefined) throw new TypeError('the cloud under test was not started');
    return this.#client;
  }

  nodeBody(acceleratorType = 'v5litepod-8', more: Node = {}): Node {
    const metadata = { 'ssh-keys': `alice:${this.#key.publicKey}` };
    return { acceleratorType, runtimeVersion: 'v2-alpha-tpuv5-lite', metadata, labels: { team: 'vision' }, ...more };
  }

  /** Queues a slice whose node has the same name. @returns the operation's name. */
  async queue(id: string, node: Node = this.nodeBody()): Promise<string> {
    const tpu = { nodeSpec: [{ parent: PARENT, nodeId: id, node }] };
    const request = { parent: PARENT, queuedResourceId: id, queuedResource: { tpu, spot: {} } };
    const [operation] = await this.client.createQueuedResource(request);
    return operation.name ?? '';
  }

  async queuedState(id: string): Promise<string> {
    const found = await this.client
      .getQueuedResource({ name: `${PARENT}/queuedResources/${id}` })
      .catch(goneIfNotFound);
    return found === 'gone' ? 'gone' : String(found[0].state?.state);
  }

  async node(id: string): Promise<Node | undefined> {
    const found = await this.client.getNode({ name: `${PARENT}/nodes/${id}` }).catch(goneIfNotFound);
    return found === 'gone' ? undefined : found[0];
  }

  async becomes(id: string, state: string): Promise<void> {
    await until(`queued resource ${id} to be ${state}`, async () => (await this.queuedState(id)) === state);
  }

  async nodeBecomes(id: string, state: string): Promise<void> {
    await until(`node ${id} to be ${state}`, async () => String((await this.node(id))?.state ?? 'gone') === state);
  }

  async deleteQueued(id: string, force: boolean): Promise<void> {
    await this.client.deleteQueuedResource({ name: `${PARENT}/queuedResources/${id}`, force });
  }

  async deleteNode(id: string): Promise<void> {
    await this.client.deleteNode({ name: `${PARENT}/nodes/${id}` });
  }

  async place(id: string, host = 0, user = 'alice'): Promise<SshPlace> {
    const address = (await this.node(id))?.networkEndpoints?.[host]?.ipAddress ?? 'none';
    return { address, port: SSH_PORT, key: this.#key, user };
  }

  async admin(
    verb: string,
    body: object,
    method = 'POST',
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
    const content =
      method === 'POST' ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {};
    const response = await fetch(`${this.endpoints.admin}/admin/${verb}`, { method, ...content });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async journal(after = 0): Promise<readonly JournalLine[]> {
    const text = await (await fetch(`${this.endpoints.admin}/admin/journal?after=${after}`)).text();
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JournalLine]));
  }
}

/** The canonical code of a failed call, and its text. */
export async function failure(call: Promise<unknown>): Promise<{ readonly code: number; readonly text: string }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as { readonly code: number; readonly details: string },
  );
  if (error === undefined) throw new Error('the call succeeded, a refusal was expected');
  return { code: error.code, text: error.details };
}

function goneIfNotFound(error: { readonly code?: number }): 'gone' {
  if (error.code === 5) return 'gone';
  throw error;
}

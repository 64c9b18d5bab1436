import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { SshTarget, StoredSource } from '../../cloud/hosts/port.js';
import { createStore } from '../../cloud/store/gcs.js';
import type { PrincipalRequest } from '../../rehearsal/index.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { PARENT } from '../../rehearsal/test/cloud-under-test.js';
import { until } from '../until.js';
import type { TestHost } from './ssh-host.js';
import { makeKeyPair } from './ssh-host.js';

const BUCKET = 'jobs';
const OWNER = 'owner@rehearsal.example.com';
export const VM_ACCOUNT = 'vm@rehearsal.iam.gserviceaccount.com';

/** What VMs' service accounts may do. */
export const MAY_READ = { roles: ['roles/storage.objectViewer'] } as const;
export const MAY_NOT = { roles: [] } as const;

type Rights = Pick<PrincipalRequest, 'roles' | 'scopes' | 'denied'>;

/** Cloud Storage over TLS that asks who reads, and hosts whose service account has rights of its own. */
export class StoreWithRights {
  readonly cloud = new AuthenticatedCloud();
  /** A service account's key file: of a worker that can sign. */
  keyFile = '';

  async start(): Promise<void> {
    await this.cloud.start();
    const body = { name: BUCKET };
    const token = await this.cloud.token();
    await this.cloud.ask(`${this.cloud.endpoints.store}/storage/v1/b?project=p`, { method: 'POST', token, body });
    const key = await this.cloud.ask(`${this.cloud.endpoints.store}/_rehearsal/service-account-key`, { token });
    this.keyFile = join(this.cloud.endpoints.caFile ?? '', '..', 'key.json');
    writeFileSync(this.keyFile, key.text);
  }

  /** From now on the service account of VMs may do this and no more; undefined: they have none. */
  async vmsMay(rights: Rights | undefined): Promise<void> {
    const principals = [
      { email: OWNER, roles: ['roles/owner'] },
      { email: VM_ACCOUNT, ...rights },
    ];
    await this.cloud.admin('access', { principals, current: rights === undefined ? null : VM_ACCOUNT });
    await this.cloud.ask(`${this.cloud.endpoints.admin}/admin/fail`, { method: 'DELETE' });
  }

  /** A TPU VM with the service account. */
  async createVm(nodeId: string): Promise<{ target: SshTarget; port: number; privateKey: string }> {
    const client = this.cloud.client(await this.cloud.token(OWNER));
    const key = makeKeyPair();
    const node = {
      acceleratorType: 'v5litepod-8',
      runtimeVersion: 'v2-alpha-tpuv5-lite',
      metadata: { 'ssh-keys': `alice:${key.public}` },
      serviceAccount: { email: VM_ACCOUNT },
    };
    try {
      const [operation] = await client.createNode({ parent: PARENT, nodeId, node });
      const [{ networkEndpoints }] = await operation.promise();
      const address = networkEndpoints?.[0]?.ipAddress ?? '';
      const target: SshTarget = { reach: 'ssh', uid: nodeId, slice: 0, index: 0, address, user: 'alice' };
      return { target, port: this.cloud.endpoints.sshPort, privateKey: key.private };
    } finally {
      await client.close();
    }
  }

  /** The environment of a host in this cloud. */
  get hostEnvironment(): Record<string, string> {
    return { GCE_METADATA_HOST: this.cloud.endpoints.metadataHost ?? '' };
  }

  /** As a person makes curl trust an authority of their own. */
  trustOn({ home }: TestHost): void {
    writeFileSync(join(home, 'ca.pem'), readFileSync(this.cloud.endpoints.caFile ?? ''));
    appendFileSync(join(home, '.curlrc'), `cacert = ${join(home, 'ca.pem')}\n`);
  }

  async remove(name: string): Promise<void> {
    const url = `${this.cloud.endpoints.store}/storage/v1/b/${BUCKET}/o/${encodeURIComponent(name)}`;
    await this.cloud.ask(url, { method: 'DELETE', token: await this.cloud.token(OWNER) });
  }

  /**
   * Puts a file of `bytes` there, or other content under its name.
   * @param endpoint by which hosts reach the store
   */
  async file(
    name: string,
    { bytes = 400_000, other = false, endpoint = this.cloud.endpoints.store } = {},
  ): Promise<CountedSource> {
    const content = randomBytes(bytes / 2).toString('hex');
    const stored = other ? randomBytes(bytes / 2).toString('hex') : content;
    const url = `${this.cloud.endpoints.store}/upload/storage/v1/b/${BUCKET}/o?uploadType=media&name=${encodeURIComponent(name)}`;
    const { status } = await this.cloud.ask(url, {
      method: 'POST',
      token: await this.cloud.token(OWNER),
      body: stored,
    });
    if (status !== 200) throw new Error(`upload of ${name}: HTTP ${status}`);
    return new CountedSource(Buffer.from(content), name, endpoint);
  }
}

/** The worker's side of a file in the store: how much of it went through the worker. */
export class CountedSource implements StoredSource {
  readonly size: number;
  readonly sha256: string;
  readonly stored: { -readonly [K in keyof StoredSource['stored']]: StoredSource['stored'][K] };
  /** Bytes that the worker read, to send them over SSH. */
  sent = 0;
  readonly #content: Buffer;

  constructor(content: Buffer, name: string, endpoint: string) {
    const store = createStore({ endpoint, bucket: BUCKET });
    this.#content = content;
    this.size = content.length;
    this.sha256 = createHash('sha256').update(content).digest('hex');
    const signedUrl = (): Promise<string | undefined> => store.signedUrl(name, 60_000);
    this.stored = { called: name, place: `gs://${BUCKET}/${name}`, url: store.downloadUrl(name), signedUrl };
  }

  get text(): string {
    return this.#content.toString();
  }

  async *read(start: number): AsyncGenerator<Buffer> {
    const rest = this.#content.subarray(start);
    this.sent += rest.length;
    yield rest;
  }

  /** A module that is ready when the host has this file, and no other. */
  get module(): ModulePlan {
    const files = [{ path: 'arrived', content: this, mode: 0o600 }];
    const script = `[ "$(sha256sum < arrived | cut -c 1-64)" = ${this.sha256} ]`;
    return { name: 'demo', fingerprint: this.sha256, check: 'true', steps: [{ name: 'compare', script, files }] };
  }
}

/** Runs with the credentials that a worker finds; none where the file is not named. */
export async function asWorker(credentials: string, work: () => Promise<void>): Promise<void> {
  const names = ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_PROJECT'] as const;
  const before = names.map((name) => process.env[name]);
  Object.assign(process.env, { GOOGLE_APPLICATION_CREDENTIALS: credentials, GOOGLE_CLOUD_PROJECT: 'p' });
  try {
    await work();
  } finally {
    for (const [index, name] of names.entries()) {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** Waits until so many bytes of a file are on a host, which has no other file under way. */
export async function partOf({ home }: TestHost, bytes: number): Promise<void> {
  const folder = join(home, '.jobctl/files');
  await until(`${bytes} bytes in ${folder}`, () => {
    const part = readdirSync(folder).find((name) => name.endsWith('.part'));
    return part !== undefined && statSync(join(folder, part)).size >= bytes;
  });
}

import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { v2 } from '@google-cloud/tpu';
import { grpc } from 'google-gax';
import { PassThroughClient } from 'google-auth-library';
import type { PrincipalRequest, ProjectRequest, Rehearsal, RehearsalOptions } from '../index.js';
import { startRehearsal } from '../index.js';
import type { JournalLine, TpuClient } from './cloud-under-test.js';
import { SSH_PORT } from './cloud-under-test.js';
import type { Scratch } from './scratch.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Undefined if it is no JSON. */
  readonly json: unknown;
}

export interface Asked {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

/** A rehearsal that asks who calls. The certificates are trusted by the calls made here, not by this process. */
export class AuthenticatedCloud {
  readonly #scratch: Scratch = scratchFolder('access');
  #rehearsal: Rehearsal | undefined;

  async start(options: Partial<RehearsalOptions> = { authentication: {} }): Promise<void> {
    const base = { stateDir: `${this.#scratch.path}/state`, subnetOctet: SUBNET_OCTET, sshPort: SSH_PORT };
    this.#rehearsal = await startRehearsal({ ...base, ...options });
  }

  /** State kept: `start` goes on with it. */
  async halt(): Promise<void> {
    await this.#rehearsal?.stop();
  }

  async stop(): Promise<void> {
    await this.halt();
    this.#scratch.remove();
  }

  get endpoints(): Rehearsal['endpoints'] {
    if (this.#rehearsal === undefined) throw new TypeError('the rehearsal was not started');
    return this.#rehearsal.endpoints;
  }

  get ca(): string {
    return readFileSync(this.endpoints.caFile ?? '', 'utf8');
  }

  /** Makes this one the current principal, with nothing but what is given. @returns a token of it. */
  async become(principal: Omit<PrincipalRequest, 'email'> = {}): Promise<string> {
    const email = 'alice@example.com';
    await this.admin('access', { principals: [{ email, ...principal }], current: email });
    return this.token();
  }

  async token(email = 'current'): Promise<string> {
    return ((await this.admin('token', { email })) as { readonly access_token: string }).access_token;
  }

  /** Lays `patch` over the defaults. */
  async project(patch: DeepPartial<ProjectRequest>): Promise<void> {
    await this.ask(`${this.endpoints.admin}/admin/project`, { method: 'DELETE' });
    await this.admin('project', patch);
  }

  async admin(verb: string, body: object): Promise<unknown> {
    const answer = await this.ask(`${this.endpoints.admin}/admin/${verb}`, { method: 'POST', body });
    if (answer.status !== 200) throw new Error(`/admin/${verb}: HTTP ${answer.status}: ${answer.text}`);
    return answer.json;
  }

  async journal(kind: string): Promise<readonly JournalLine[]> {
    const { text } = await this.ask(`${this.endpoints.admin}/admin/journal`);
    const lines = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JournalLine]));
    return lines.filter((line) => line.kind === kind);
  }

  /** One request; the certificates are checked. */
  ask(url: string, { method = 'GET', token, headers, body }: Asked = {}): Promise<HttpAnswer> {
    const isTls = url.startsWith('https:');
    const content = typeof body === 'string' ? body : body && JSON.stringify(body);
    const allHeaders = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(typeof body === 'object' && { 'content-type': 'application/json' }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const options = { method, headers: allHeaders, ...(isTls && { ca: this.ca }) };
      const sent = (isTls ? httpsRequest : httpRequest)(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
        });
      });
      sent.on('error', reject);
      sent.end(content);
    });
  }

  /** Google's own client over TLS, with this token in each call, or with none. */
  client(token?: string): TpuClient {
    const ssl = grpc.credentials.createSsl(Buffer.from(this.ca));
    const withToken = grpc.credentials.createFromMetadataGenerator((_context, done) => {
      const metadata = new grpc.Metadata();
      metadata.set('authorization', `Bearer ${token}`);
      done(null, metadata);
    });
    return new v2.TpuClient({
      apiEndpoint: '127.0.0.1',
      port: Number(this.endpoints.tpu.split(':')[1]),
      sslCreds: token === undefined ? ssl : grpc.credentials.combineChannelCredentials(ssl, withToken),
      // gax types its own copy of the auth library; the client is the same to it.
      authClient: new PassThroughClient() as never,
    });
  }

  /** The environment of a process that is a user's: this trust, these credentials, no other ones. */
  userEnvironment(credentials: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return {
      PATH: process.env['PATH'] ?? '',
      HOME: this.#scratch.path,
      // Else the auth library runs gcloud to learn it.
      GOOGLE_CLOUD_PROJECT: 'p',
      NODE_EXTRA_CA_CERTS: this.endpoints.caFile ?? '',
      GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: this.endpoints.caFile ?? '',
      // Node warns of the address in place of a name that grpc-js gives for a certificate: both are in ours.
      NODE_NO_WARNINGS: '1',
      ...credentials,
    };
  }
}

type DeepPartial<T> = T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | null } : T;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

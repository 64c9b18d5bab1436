import { Storage } from '@google-cloud/storage';
import { PassThroughClient } from 'google-auth-library';
import type { StoreServer } from '../store/server.js';
import { startStoreServer } from '../store/server.js';
import type { Scratch } from './scratch.js';
import { scratchFolder } from './scratch.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined where the answer is no JSON. */
  readonly json: Record<string, unknown> | undefined;
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readonly<Record<string, unknown>>;
}

/** The rehearsal's Cloud Storage alone, where everybody may do everything. */
export class StoreUnderTest {
  readonly #scratch: Scratch = scratchFolder('store');
  #server: StoreServer | undefined;
  /** Epoch ms; what the store takes for the time. */
  now: () => number = Date.now;

  async start(): Promise<void> {
    this.#server = await startStoreServer(this.folder, 0, {
      record: () => undefined,
      refusal: () => undefined,
      rights: { authorize: () => undefined, granted: (_authorization, permissions) => permissions },
      now: () => this.now(),
    });
  }

  /** State kept: `start` goes on with it. */
  async halt(): Promise<void> {
    await this.#server?.close();
  }

  async stop(): Promise<void> {
    await this.halt();
    this.#scratch.remove();
  }

  get folder(): string {
    return this.#scratch.path;
  }

  get url(): string {
    if (this.#server === undefined) throw new TypeError('the store under test was not started');
    return this.#server.url;
  }

  client(): Storage {
    // Its own authentication would look for a metadata server.
    const authClient = new PassThroughClient() as never;
    return new Storage({ apiEndpoint: this.url, projectId: 'p', authClient });
  }

  /** @param path behind the address, or a whole URL. */
  async ask(verb: string, path: string, { headers = {}, body }: Ask = {}): Promise<Answer> {
    const content =
      typeof body === 'string' || Buffer.isBuffer(body) || body === undefined ? body : JSON.stringify(body);
    const url = path.startsWith('http') ? path : `${this.url}${path}`;
    const sent = content === undefined ? {} : { body: content as string };
    const type = content === body ? {} : { 'content-type': 'application/json' };
    const response = await fetch(url, { method: verb, headers: { ...type, ...headers }, redirect: 'manual', ...sent });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  async bucket(name: string, resource: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const made = await this.ask('POST', '/storage/v1/b?project=p', { body: { name, ...resource } });
    if (made.status !== 200) throw new Error(`bucket ${name}: HTTP ${made.status}: ${made.text}`);
  }

  /** @returns the generation. */
  async put(bucket: string, name: string, content: string | Buffer): Promise<string> {
    const path = `/upload/storage/v1/b/${bucket}/o?uploadType=media&name=${encodeURIComponent(name)}`;
    const made = await this.ask('POST', path, { body: content, headers: { 'content-type': 'text/plain' } });
    if (made.status !== 200) throw new Error(`object ${name}: HTTP ${made.status}: ${made.text}`);
    return String(made.json?.['generation']);
  }

  /** Its bytes as text. */
  async read(bucket: string, name: string): Promise<string> {
    return (await this.ask('GET', `/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}?alt=media`)).text;
  }
}

/** What the JSON API says of a refusal: its status, its reason and its text. */
export function refusalOf({ status, json }: Answer): readonly [status: number, reason: string, text: string] {
  const error = (json?.['error'] ?? {}) as { message?: string; errors?: readonly { reason?: string }[] };
  return [status, error.errors?.[0]?.reason ?? '', error.message ?? ''];
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

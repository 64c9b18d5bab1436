import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface KeptSecret {
  name: string;
  createTime: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  versions: string[];
}

/**
 * The calls of Secret Manager v1 that a store makes, as cloud.google.com/secret-manager/docs/reference/rest documents them: the
 * real service cannot be asked here.
 */
export class SecretManagerServer {
  readonly secrets = new Map<string, KeptSecret>();
  /** Answers every call with this instead. */
  refusal: { readonly status: number; readonly message: string } | undefined;
  /** Somebody else changes a secret right after it was looked at. */
  changesAfterNextLook = false;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<SecretManagerServer> {
    const made = new SecretManagerServer();
    await new Promise<void>((resolve) => made.#server.listen(0, '127.0.0.1', resolve));
    return made;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '', this.endpoint);
    const { status, message } = this.refusal ?? {};
    const [code, body] =
      status === undefined
        ? this.#call(request.method ?? '', url, text === '' ? {} : (JSON.parse(text) as Body))
        : [status, { error: { code: status, message } }];
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #call(method: string, url: URL, body: Body): [number, object] {
    const path = url.pathname.replace(/^\/v1\//, '');
    const id = url.searchParams.get('secretId');
    const [, name = path, verb = ''] = /^(.*?)(:addVersion|\/versions\/latest:access)?$/.exec(path) ?? [];
    if (method === 'POST' && id !== null) return this.#create(`${path}/${id}`, body);
    if (path.endsWith('/secrets')) return this.#list(url.searchParams);
    const secret = this.secrets.get(name);
    if (secret === undefined) return missing(name);
    if (verb === ':addVersion') {
      secret.versions.push(body.payload?.data ?? '');
      return [200, { name: `${name}/versions/${secret.versions.length}` }];
    }
    if (verb !== '') {
      const data = secret.versions.at(-1);
      return data === undefined ? missing(`${name}/versions/latest`) : [200, { payload: { data } }];
    }
    const etag = url.searchParams.get('etag');
    if (etag !== null && etag !== etagOf(secret))
      return [400, { error: { code: 400, message: 'The etag does not match.', status: 'FAILED_PRECONDITION' } }];
    if (method === 'DELETE') this.secrets.delete(name);
    if (method === 'PATCH' && url.searchParams.get('updateMask') === 'annotations')
      secret.annotations = body.annotations ?? {};
    const seen = { ...secret, etag: etagOf(secret) };
    if (method === 'GET' && this.changesAfterNextLook) {
      this.changesAfterNextLook = false;
      secret.annotations = { ...secret.annotations, changed: 'by somebody' };
    }
    return [200, seen];
  }

  #create(name: string, { replication, labels }: Body): [number, object] {
    if (replication === undefined) return [400, { error: { code: 400, message: 'replication is missing' } }];
    if (this.secrets.has(name)) return [409, { error: { code: 409, message: `Secret [${name}] already exists.` } }];
    const secret = { name, createTime: new Date().toISOString(), ...(labels && { labels }), versions: [] };
    this.secrets.set(name, secret);
    return [200, secret];
  }

  /** Two a page, so that a reader has to turn pages. */
  #list(query: URLSearchParams): [number, object] {
    const [, key = '', value] = /^labels\.(\w+)=(\w+)$/.exec(query.get('filter') ?? '') ?? [];
    const all = [...this.secrets.values()].filter(({ labels }) => labels?.[key] === value);
    const from = Number(query.get('pageToken') ?? 0);
    const next = from + 2 < all.length ? { nextPageToken: String(from + 2) } : {};
    return [200, { secrets: all.slice(from, from + 2), ...next }];
  }
}

interface Body {
  readonly replication?: object;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly payload?: { readonly data?: string };
}

const etagOf = (secret: object): string => `"${Buffer.from(JSON.stringify(secret)).toString('base64')}"`;

const missing = (name: string): [number, object] => [404, { error: { code: 404, message: `[${name}] not found.` } }];

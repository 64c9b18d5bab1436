import { readFileSync } from 'node:fs';
import { request } from 'node:https';

export class KubernetesAnswer {
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    [this.status, this.text] = [status, text];
  }

  /** What the JSON of the answer has at a path such as `items.0.metadata.name`. */
  at(path: string): unknown {
    return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], JSON.parse(this.text));
  }

  /** Of a list. */
  get names(): readonly string[] {
    return (this.at('items') as readonly { readonly metadata: { readonly name: string } }[]).map(
      ({ metadata }) => metadata.name,
    );
  }
}

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } },
  ];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

/** One call of the API server, with the kubeconfig that the rehearsal has written. */
export class KubernetesClient {
  readonly #server: string;
  readonly #ca: Buffer;
  readonly #token: string;

  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    this.#server = clusters[0].cluster.server;
    this.#ca = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64');
    this.#token = users[0].user.token;
  }

  call(method: string, path: string, body?: object, more: Record<string, string> = {}): Promise<KubernetesAnswer> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const own = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' };
    // Node frames no body of a DELETE by itself.
    const headers = { ...own, 'content-length': Buffer.byteLength(text), ...more };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#server}${path}`, { method, ca: this.#ca, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject).on('end', () => {
          resolve(new KubernetesAnswer(response.statusCode ?? 0, Buffer.concat(chunks).toString()));
        });
      });
      sent.on('error', reject).end(text);
    });
  }

  get(path: string, more: Record<string, string> = {}): Promise<KubernetesAnswer> {
    return this.call('GET', path, undefined, more);
  }
}

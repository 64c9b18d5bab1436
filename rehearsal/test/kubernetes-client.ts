import { readFileSync } from 'node:fs';
import { request } from 'node:https';

export interface KubernetesAnswer {
  readonly status: number;
  readonly body: any;
}

/** One call of the API server, with the kubeconfig that the rehearsal has written. */
export class KubernetesClient {
  readonly #server: string;
  readonly #ca: Buffer;
  readonly #token: string;

  constructor(kubeconfig: string) {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'));
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
          const answer = Buffer.concat(chunks).toString();
          const isJson = response.headers['content-type'] === 'application/json';
          resolve({
            status: response.statusCode ?? 0,
            body: isJson && !answer.includes('}\n{') ? JSON.parse(answer) : answer,
          });
        });
      });
      sent.on('error', reject).end(text);
    });
  }

  get(path: string, more: Record<string, string> = {}): Promise<KubernetesAnswer> {
    return this.call('GET', path, undefined, more);
  }
}

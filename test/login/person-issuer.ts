import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';
import { KeptGrants } from './kept-grants.js';

export const CLIENT_ID = 'jobctl-login-test';
/** Clients of the page: a public one, and one whose secret its server keeps. */
export const PAGE_CLIENT = 'jobctl-page';
export const SECRET_CLIENT = { id: 'jobctl-page-with-secret', secret: 'a-secret/of+the server' };
export const SCOPES = ['openid', 'email', 'offline_access'];

const OF_THE_PAGE = {
  application_type: 'native',
  redirect_uris: ['http://127.0.0.1/ui/login', 'http://127.0.0.1/ui/login/company'],
} as const;

/** A real OpenID provider (npm's `oidc-provider`) on loopback, where people log in by its own pages. Refresh tokens are good for one use. */
export class PersonIssuer {
  readonly url: string;
  /** Of ID tokens, from the next one on. */
  lifetimeS = 3_600;
  /** How long the token endpoint takes: who does not wait for another's call then makes one of its own. */
  tokensAfterMs = 0;
  /** Calls of the token endpoint, by grant. */
  readonly grants: string[] = [];
  readonly #server: Server;
  readonly #grants = new KeptGrants();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<PersonIssuer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = new PersonIssuer(server);
    await issuer.rotateKeys();
    return issuer;
  }

  /** Another key signs from now on, and the one before is known no more. */
  async rotateKeys(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: `key-${Date.now()}` };
    const provider = new Provider(this.url, {
      jwks: { keys: [key] },
      clients: [
        {
          client_id: CLIENT_ID,
          token_endpoint_auth_method: 'none',
          application_type: 'native',
          redirect_uris: ['http://127.0.0.1/callback'],
          grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        },
        { client_id: PAGE_CLIENT, token_endpoint_auth_method: 'none', ...OF_THE_PAGE },
        { client_id: SECRET_CLIENT.id, client_secret: SECRET_CLIENT.secret, ...OF_THE_PAGE },
      ],
      features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      rotateRefreshToken: true,
      ttl: { IdToken: () => this.lifetimeS },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => ({ sub, email: `${sub}@example.org`, email_verified: true }),
      }),
      cookies: { keys: ['test'] },
      adapter: this.#grants.adapterOf,
    });
    provider.on('grant.success', ({ oidc }) => this.grants.push(String(oidc.params?.['grant_type'])));
    provider.on('grant.error', ({ oidc }) => this.grants.push(`${String(oidc.params?.['grant_type'])} refused`));
    this.#server.removeAllListeners('request');
    const answer = provider.callback();
    this.#server.on('request', (request, response) => {
      const waitMs = request.url === '/token' ? this.tokensAfterMs : 0;
      void (waitMs === 0 ? answer(request, response) : sleep(waitMs).then(() => answer(request, response)));
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

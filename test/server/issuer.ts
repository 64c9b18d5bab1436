import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

export const CLIENT_ID = 'jobctl-test';

export interface Claims {
  readonly email: string;
  readonly groups?: readonly string[];
  readonly emailVerified?: boolean;
  readonly audience?: string | readonly string[];
  readonly issuer?: string;
  /** Seconds from now; negative: it has expired. */
  readonly lifetimeS?: number;
  readonly more?: Readonly<Record<string, unknown>>;
}

/**
 * A real OpenID provider (npm's `oidc-provider`) on loopback: discovery, keys, logins. `token` signs an ID token with the
 * provider's own key, for subjects whom no test wants to log in one by one.
 */
export class TestIssuer {
  readonly url: string;
  readonly #server: Server;
  #keys: JWK[] = [];

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(): Promise<TestIssuer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = new TestIssuer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await issuer.rotate();
    return issuer;
  }

  /** A new key signs from now on; the one before is gone, as after an emergency. */
  async rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.#keys = [
      { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: `key-${Date.now()}-${this.#keys.length}` },
    ];
    const provider = new Provider(this.url, {
      jwks: { keys: this.#keys },
      clients: [
        {
          client_id: CLIENT_ID,
          token_endpoint_auth_method: 'none',
          redirect_uris: ['http://127.0.0.1/callback'],
          application_type: 'native',
        },
      ],
      features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true } },
      cookies: { keys: ['test'] },
    });
    this.#server.removeAllListeners('request');
    const answer = provider.callback();
    this.#server.on('request', (request, response) => void answer(request, response));
  }

  async token(
    {
      email,
      groups = [],
      emailVerified = true,
      audience = CLIENT_ID,
      issuer = this.url,
      lifetimeS = 3_600,
      more,
    }: Claims,
    key = this.#keys[0],
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ email, email_verified: emailVerified, groups: [...groups], ...more })
      .setProtectedHeader({ alg: 'RS256', kid: key?.kid ?? '' })
      .setIssuer(issuer)
      .setAudience(typeof audience === 'string' ? audience : [...audience])
      .setSubject(email)
      .setIssuedAt(now - 4_000)
      .setExpirationTime(now + lifetimeS)
      .sign(await importOf(key));
  }

  /** Of nobody: the id of the issuer's key, and another key. */
  async forged(claims: Claims): Promise<string> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    return this.token(claims, { ...(await exportJWK(privateKey)), alg: 'RS256', kid: this.#keys[0]?.kid ?? '' });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

const importOf = async (key: JWK | undefined) => (await import('jose')).importJWK(key ?? {}, 'RS256');

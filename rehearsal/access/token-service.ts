import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessControl, GivenToken } from './access-control.js';
import { isEqual } from './equal-text.js';
import type { Principal } from './principal.js';

export interface TokenHooks {
  readonly access: AccessControl;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
}

const REFRESH_PREFIX = '1//rehearsal-';
/** Length of 32 bytes in base64url. */
const PROOF_LENGTH = 43;

/**
 * A principal's refresh token. The name `current` means the current principal at the time of each request.
 * @param key signs tokens
 */
export function refreshTokenOf(email: string, key: string): string {
  const proof = createHmac('sha256', key).update(`refresh ${email}`).digest('base64url');
  return `${REFRESH_PREFIX}${proof}-${email}`;
}

/** Email of a refresh token's principal; undefined if the token is not one of ours. */
function loggedInBy(token: string, key: string): string | undefined {
  // The proof may contain dashes, but has a fixed length.
  const email = token.slice(REFRESH_PREFIX.length + PROOF_LENGTH + 1);
  return isEqual(token, refreshTokenOf(email, key)) ? email : undefined;
}

/** Google's text for each login that gives no token (reported in google-auth-library-nodejs #1961 and others, 2025). */
const LOGIN_ERRORS = {
  expired: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
  'reauthentication-needed': {
    error: 'invalid_grant',
    error_description: 'reauth related error (invalid_rapt)',
    error_uri: 'https://support.google.com/a/answer/9368756',
    error_subtype: 'invalid_rapt',
  },
} as const;

/** Issues a token and journals it, so that a test sees when a client took a new one. */
export function giveToken({ access, record }: TokenHooks, principal: Principal, by: 'metadata' | 'login'): GivenToken {
  const given = access.giveToken(principal);
  record('token', principal.email, { by, serial: access.state.lastToken, seconds: given.expires_in });
  return given;
}

/**
 * Google's token endpoints: they exchange a refresh token for an access token, and identify a token's principal. In a separate
 * scope, because no other call takes forms.
 */
export async function addTokenService(server: FastifyInstance, hooks: TokenHooks): Promise<void> {
  await server.register(async (app) => addEndpoints(app, hooks));
}

function addEndpoints(app: FastifyInstance, hooks: TokenHooks): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(body as string)));
  });
  // Endpoints of a person's login (oauth2.googleapis.com), and of one through another company's (sts.googleapis.com).
  for (const path of ['/token', '/v1/oauthtoken']) app.post(path, (request, reply) => refresh(hooks, request, reply));
  app.route({
    method: ['GET', 'POST'],
    url: '/tokeninfo',
    handler: (request, reply) => tokenInfo(hooks, request, reply),
  });
}

function refresh(hooks: TokenHooks, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { grant_type: grant, refresh_token: token = '' } = (request.body ?? {}) as Readonly<Record<string, string>>;
  if (grant !== 'refresh_token') {
    return reply
      .status(400)
      .send({ error: 'unsupported_grant_type', error_description: `Invalid grant_type: ${grant}` });
  }
  const email = loggedInBy(token, hooks.access.state.key);
  const principal = email === undefined ? undefined : hooks.access.principal(email);
  if (principal === undefined)
    return reply.status(400).send({ error: 'invalid_grant', error_description: 'Bad Request' });
  if (principal.login !== 'ok') return reply.status(400).send(LOGIN_ERRORS[principal.login]);
  return reply.send({ ...giveToken(hooks, principal, 'login'), scope: scopesOf(principal).join(' ') });
}

function tokenInfo({ access }: TokenHooks, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const given = { ...(request.query as object), ...(request.body as object | undefined) };
  const { access_token: named } = given as { readonly access_token?: string };
  const caller = access.bearer(named ?? (request.headers.authorization ?? '').replace(/^Bearer +/i, ''));
  if (caller.kind === 'nobody') {
    return reply.status(400).send({ error: 'invalid_token', error_description: 'Invalid Value' });
  }
  const { principal, until } = caller;
  return reply.send({
    scope: [...scopesOf(principal), 'https://www.googleapis.com/auth/userinfo.email'].join(' '),
    exp: String(Math.floor(until / 1000)),
    expires_in: String(Math.floor((until - Date.now()) / 1000)),
    email: principal.email,
    email_verified: 'true',
    access_type: 'offline',
  });
}

export function scopesOf({ scopes }: Principal): readonly string[] {
  return scopes.map((scope) => `https://www.googleapis.com/auth/${scope}`);
}

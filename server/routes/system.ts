import { z } from 'zod';
import type { App } from '../bare-app.js';
import { type ServerConfig, secretText } from '../config.js';
import { mayReadMetrics } from '../request-guards.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { ACCESS_VERBS } from '../../contract/access.js';
import { resolveProject } from '../../quota/membership.js';
import { isSecretOf } from '../../domain/secrets.js';
import { PageLogins } from '../identity/page-logins.js';
import type { Handler, Serve } from './serve.js';

const OPEN = { config: { isOpen: true as const } };

/** Time for which a result of the readiness check is kept: every check calls Temporal and the store, and anyone may ask. */
const READY_MS = 2_000;

/** Routes that need no login: probes, metrics, the OpenAPI document. */
export function registerSystem(
  app: App,
  { notReady, metrics }: Services,
  { listen: { metricsToken } }: Pick<ServerConfig, 'listen'>,
): void {
  const token = metricsToken === undefined ? undefined : secretText(metricsToken, 'listen.metricsToken').trim();
  const readiness = shared(notReady, READY_MS);
  const health = { hide: true, response: { 200: z.object({ ok: z.literal(true) }) } };
  app.get('/healthz', { ...OPEN, schema: health }, () => ({ ok: true as const }));
  const ready = {
    hide: true,
    response: {
      200: z.object({ ready: z.literal(true) }),
      503: z.object({ ready: z.literal(false), reason: z.string() }),
    },
  };
  app.get('/readyz', { ...OPEN, schema: ready }, async (_request, reply) => {
    const reason = await readiness();
    return reason === undefined ? { ready: true as const } : reply.status(503).send({ ready: false as const, reason });
  });
  app.get('/metrics', { ...OPEN, schema: { hide: true } }, async (request, reply) => {
    if (!mayReadMetrics(request, token))
      throw new ApiError(
        'unauthenticated',
        'metrics are for this computer, or for the token of listen.metricsToken',
        'let Prometheus send it: authorization.credentials_file',
      );
    return reply.type('text/plain; version=0.0.4').send(await metrics.text());
  });
  app.get('/openapi.json', { ...OPEN, schema: { hide: true } }, () => app.swagger());
}

/** Shares one look among all callers, while it runs and for `keptMs` after its end. */
function shared<T>(look: () => Promise<T>, keptMs: number): () => Promise<T> {
  let last: { readonly found: Promise<T>; until: number } | undefined;
  return () => {
    if (last !== undefined && performance.now() < last.until) return last.found;
    const next = { found: look(), until: Infinity };
    last = next;
    const over = (): void => void (next.until = performance.now() + keptMs);
    next.found.then(over, over);
    return next.found;
  };
}

/** Routes for logins, the caller's identity and rights, and the audit log. */
export function registerWho(
  serve: Serve,
  services: Services,
  { issuers, publicUrl, limits }: Pick<ServerConfig, 'issuers' | 'publicUrl' | 'limits'>,
): void {
  const { gate, facts, audit, secrets, rules, verifier } = services;
  const logins = new PageLogins({ issuers, publicUrl });
  const settings = issuers.map(({ issuer, audiences: [clientId = ''], clientSecret, scopes }) => {
    const name = logins.nameOf(issuer);
    return {
      ...{ issuer, clientId, scopes },
      ...(clientSecret === undefined ? {} : { clientSecret: secretText(clientSecret, 'issuers.clientSecret') }),
      ...(name === undefined ? {} : { page: { name } }),
    };
  });
  serve('login', () => ({ issuers: settings }));

  // Open calls of which each may be a call of this server to the issuer.
  const byAddress = { rateLimit: { max: limits.refusedLoginsPerMinute, timeWindow: 60_000 } };
  serve('beginLogin', async ({ body }) => ({ url: await logins.begin(body) }), byAddress);
  serve(
    'endLogin',
    async ({ body, request }) => {
      const token = await logins.end(body);
      // Who is let in is decided by the same rules as for a token that was pasted, and is told now.
      const { id } = await verifier.verify(token);
      request.log.info({ requestId: request.id, subject: id, issuer: body.issuer }, 'logged in by the page');
      return { token };
    },
    byAddress,
  );

  serve('pageSession', ({ body: { code } }) => {
    if (services.openPage === undefined)
      throw new ApiError('not-found', 'this is no page of `jobctl ui`', 'log in: jobctl login --print-token');
    const token = services.openPage(code);
    if (token !== undefined) return { token };
    throw new ApiError(
      'unauthenticated',
      'The link was used before, or is older than ten minutes.',
      'If you have not used it, somebody else has: end `jobctl ui`, and start it again for another link.',
    );
  });

  serve('whoami', ({ call: { caller } }) => {
    const { kind, id, groups, issuer, expiresAt } = caller;
    return { kind, id, groups: [...groups], issuer, expiresAt };
  });

  serve('accessExplain', async ({ call: { caller }, query: { verb, user, job, project, pool } }) => {
    if (user !== undefined && user !== caller.id)
      throw new ApiError(
        'forbidden',
        `what ${user} may do is told to ${user} alone: groups stand in their token`,
        `${user} runs: jobctl access explain`,
      );
    const object =
      job === undefined
        ? { pool, owner: caller.id, ...(project === undefined ? {} : { project }) }
        : await facts.of(job);
    const verbs = ACCESS_VERBS.filter((each) => verb === undefined || each === verb);
    if (verbs.length === 0)
      throw new ApiError('invalid', `verb '${verb}' is none of the access table`, `known: ${ACCESS_VERBS.join(', ')}`);
    const rows = await Promise.all(
      verbs.map(async (each) => ({ verb: each, ...(await gate.ask(caller, each, object)) })),
    );
    return { rows };
  });

  const secretNames: Handler<'secretNames'> = async ({ call, query }) => {
    const { pool } = query;
    const { config } = await rules.of(pool);
    const asked = { user: call.caller.id, project: query.project, mode: 'verified' } as const;
    const choice = resolveProject(config, asked);
    const project = asked.project ?? (choice.ok ? choice.project : undefined);
    if (project === undefined) throw new ApiError('invalid', choice.ok ? '' : choice.message, 'name one: project=');
    await gate.about(call, 'secret-names', { pool, project });
    const found = (await secrets?.list()) ?? [];
    return {
      secrets: found
        .filter(({ name }) => isSecretOf(project, name))
        .map(({ name, fingerprint, putAt }) => ({ name, fingerprint, putAt })),
    };
  };
  serve('secretNames', secretNames, { asksItself: true });

  serve('audit', async ({ query: { user, job, since, limit, pool } }) => {
    const until = Date.now();
    const matches = (line: {
      readonly subject: string;
      readonly job?: string | undefined;
      readonly pool?: string | undefined;
    }): boolean =>
      (user === undefined || line.subject === user) &&
      (job === undefined || line.job === job) &&
      (line.pool ?? pool) === pool;
    const { lines, ...more } = await audit.read({ since: since ?? until - 86_400_000, until, limit, matches });
    return { lines: [...lines], ...more };
  });
}

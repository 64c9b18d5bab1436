import { z } from 'zod';
import type { App } from '../bare-app.js';
import { type ServerConfig, secretText } from '../config.js';
import { mayReadMetrics } from '../request-guards.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';

const OPEN = { config: { isOpen: true as const } };

/** Every look calls Temporal and the store, and anyone may ask. */
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

/** Shares one look among all callers while it runs and for `keptMs` after it. */
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

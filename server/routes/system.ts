import { z } from 'zod';
import type { App } from '../app.js';
import type { Services } from '../services.js';

const OPEN = { config: { isOpen: true as const } };

/** What needs no token: probes, metrics, the OpenAPI document. */
export function registerSystem(app: App, { notReady, metrics }: Services): void {
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
    const reason = await notReady();
    return reason === undefined ? { ready: true as const } : reply.status(503).send({ ready: false as const, reason });
  });
  app.get('/metrics', { ...OPEN, schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await metrics.text()),
  );
  app.get('/openapi.json', { ...OPEN, schema: { hide: true } }, () => app.swagger());
}

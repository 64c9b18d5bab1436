import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { dumpOf } from '../dump.js';
import { blocks } from './journal.js';
import type { AdminParts } from './parts.js';

/** `GET /admin/dump`: the whole state at one moment, as JSON lines. */
export function addDump(app: FastifyInstance, { cloud, clock }: AdminParts): void {
  app.get('/admin/dump', (_request, reply) => {
    // Built at once: lines sent one by one would show several moments.
    const lines = Array.from(dumpOf(cloud.state, clock), (line) => JSON.stringify(line));
    return reply.type('application/x-ndjson').send(Readable.from(blocks(lines)));
  });
}

import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Journal } from '../journal.js';
import { AdminError, parse } from './admin-error.js';

/** The longest that a call waits for an event, seconds of real time. */
const MAX_WAIT_S = 60;

const count = z.string().regex(/^\d+$/, 'is not a whole number').transform(Number);
const journalQuery = z.strictObject({
  /** Sequence number after which to begin. */
  after: count.default(0),
  /** Most lines to return; absent: all. */
  limit: count.optional(),
  /** Seconds to wait for an event if there is none yet. */
  wait: count.refine((seconds) => seconds <= MAX_WAIT_S, `is more than ${MAX_WAIT_S} s`).optional(),
});

/** `GET /admin/journal?after=&limit=&wait=`: JSON lines as stored in the file. */
export function addJournal(app: FastifyInstance, journal: Journal): void {
  const waiting = new Set<() => void>();
  app.addHook('preClose', () => {
    for (const end of waiting) end();
  });
  app.get('/admin/journal', async (request, reply) => {
    const { after, limit, wait } = parse(journalQuery, request.query);
    if (limit === 0) throw new AdminError(400, 'limit: 0 lines are none; leave it out for all');
    if (wait !== undefined && journal.lastSeq <= after) await nextEvent(journal, wait * 1000, waiting);
    return reply.type('application/x-ndjson').send(Readable.from(blocks(journal.linesAfter(after, limit))));
  });
}

/** Resolves at the next event, after `ms`, or when the server closes. */
function nextEvent(journal: Journal, ms: number, waiting: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stopListening();
      waiting.delete(end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const stopListening = journal.onEvent(end);
    waiting.add(end);
  });
}

const BLOCK_CHARACTERS = 65_536;

/** Joins lines into blocks, so that a long answer is not sent in one packet per line. */
export function* blocks(lines: Iterable<string>): Generator<string> {
  let block = '';
  for (const line of lines) {
    block += `${line}\n`;
    if (block.length < BLOCK_CHARACTERS) continue;
    yield block;
    block = '';
  }
  yield block;
}

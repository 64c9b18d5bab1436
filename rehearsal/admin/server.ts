import type { FastifyInstance, FastifyReply } from 'fastify';
import fastify from 'fastify';
import { listenFailure } from '../listen-failure.js';
import { callHeaders } from '../access/access-control.js';
import { isOwnLogin } from '../access/own-login.js';
import { type Guard, loopbackServer, urlOf } from '../loopback-server.js';
import { AdminError } from './admin-error.js';
import { addDump } from './dump.js';
import { endRefusals } from './fault-verbs.js';
import type { GoogleParts } from './google.js';
import { addGoogleVerbs } from './google.js';
import { addJournal } from './journal.js';
import { addKubernetes, type KubernetesParts } from './kubernetes.js';
import type { AdminParts } from './parts.js';
import type { ScriptParts } from './script.js';
import { addScript } from './script.js';
import { shownClock } from './setting-verbs.js';
import { statusOf } from './status.js';
import { runVerb, VERBS } from './verbs.js';

export interface AdminServerParts extends ScriptParts, GoogleParts, KubernetesParts {
  /** Shown in the status: isolation, ports and the like. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly guard: Pick<Guard, 'hostNames'>;
  /** Why the state cannot be saved; undefined if it can. */
  readonly trouble: () => string | undefined;
}

export interface AdminServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the admin interface, where tests and people inject faults. README.md has a line for each verb. */
export async function startAdminServer(parts: AdminServerParts, port: number): Promise<AdminServer> {
  const app = fastify({
    forceCloseConnections: true,
    serverFactory: (handler) => loopbackServer(parts.guard, handler),
  });
  app.removeContentTypeParser('text/plain');
  app.addHook('onRequest', async ({ raw, url }) => {
    const headers = callHeaders(raw.headers, () => isOwnLogin(raw.socket));
    if (url !== READY && !parts.access.control.isOwner(headers)) throw unknownCaller(parts.access.own.headerFile);
  });
  app.setErrorHandler((error, _request, reply) => sendError(reply, error));
  app.setNotFoundHandler((request) => {
    const text =
      `${request.method} ${request.url} is not there; verbs: ${Object.keys(VERBS).join(', ')} ` +
      '(POST); status, journal, dump, clock, script, access, project, kubernetes (GET)';
    throw new AdminError(404, text);
  });
  app.get(READY, (_request, reply) => {
    const trouble = parts.trouble();
    return reply.status(trouble === undefined ? 200 : 503).send(readiness(trouble));
  });
  app.get('/admin/status', () => statusOf(parts));
  app.get('/admin/clock', () => shownClock(parts));
  addJournal(app, parts.journal);
  addDump(app, parts);
  addVerbs(app, parts);
  await addScript(app, parts);
  addGoogleVerbs(app, parts);
  addKubernetes(app, parts);
  await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('admin interface', port, error, '--admin-port');
  });
  return { url: urlOf(app.server), close: () => app.close() };
}

/** In the worker's format, so that `jobctl dev status` shows the reasons of both. */
const readiness = (trouble?: string) => ({
  ready: trouble === undefined,
  reasons: trouble === undefined ? [] : [trouble],
});

/** Needs no token: a client that waits for a rehearsal may reach a stranger's server, which must not learn the token. */
const READY = '/admin/ready';

function unknownCaller(headerFile: string): AdminError {
  const text = `the token of this rehearsal is missing or wrong; curl -H @${headerFile} sends it`;
  return new AdminError(401, text);
}

function addVerbs(app: FastifyInstance, parts: AdminParts): void {
  for (const verb of Object.keys(VERBS)) {
    app.post(`/admin/${verb}`, async (request) => {
      // Carries out due events first, so that the verb meets the cloud as it is now.
      void parts.changed().catch(() => undefined);
      const result = await runVerb(parts, verb, request.body ?? {});
      await parts.changed();
      return result;
    });
  }
  for (const path of ['/admin/refuse', '/admin/fail']) {
    app.delete(path, async () => {
      const result = endRefusals(parts);
      parts.journal.record('admin', 'refuse', { deleted: 'all' });
      await parts.changed();
      return result;
    });
  }
}

function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const status = error instanceof AdminError ? error.httpStatus : (error as { statusCode?: number }).statusCode;
  return reply.status(status ?? 500).send({ error: error instanceof Error ? error.message : String(error) });
}

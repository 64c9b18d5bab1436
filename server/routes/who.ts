import {
  auditLinesSchema,
  auditQuery,
  explainedSchema,
  explainQuery,
  loginSchema,
  secretNamesSchema,
  whoSchema,
} from '../../contract/api/callers.js';
import { ACCESS_VERBS } from '../../domain/access/table.js';
import { resolveProject } from '../../quota/membership.js';
import { isSecretOf } from '../../domain/secret-reference.js';
import { type App, callOf } from '../bare-app.js';
import type { ServerConfig } from '../config.js';
import { secretText } from '../key-text.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { PROBLEMS, route } from './answers.js';

/** Routes for logins, the caller's identity and rights, and the audit log. */
export function registerWho(app: App, services: Services, { issuers }: Pick<ServerConfig, 'issuers'>): void {
  const { gate, facts, audit, secrets, rules } = services;
  const settings = issuers.map(({ issuer, audiences: [clientId = ''], clientSecret, scopes }) => ({
    issuer,
    clientId,
    scopes,
    ...(clientSecret === undefined ? {} : { clientSecret: secretText(clientSecret, 'issuers.clientSecret') }),
  }));
  const login = { tags: ['access'], summary: 'How to log in', security: [], response: { 200: loginSchema } };
  app.get('/v1/login', { config: { isOpen: true }, schema: login }, () => ({ issuers: settings }));

  const who = { tags: ['access'], summary: 'Who the token is of', response: { ...PROBLEMS, 200: whoSchema } };
  app.get('/v1/whoami', route('whoami', who), (request) => {
    const { kind, id, groups, issuer, expiresAt } = callOf(request).caller;
    return { kind, id, groups: [...groups], issuer, expiresAt };
  });

  const explain = {
    tags: ['access'],
    summary: 'What the access table allows, and why not',
    querystring: explainQuery,
    response: { ...PROBLEMS, 200: explainedSchema },
  };
  app.get('/v1/access/explain', route('explain', explain), async (request) => {
    const { caller } = callOf(request);
    const { verb, user, job, project, pool } = request.query;
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

  const names = {
    tags: ['access'],
    summary: "Names of a project's secrets",
    querystring: explainQuery
      .pick({ project: true, pool: true })
      .describe('Without a project: the only one of the caller.'),
    response: { ...PROBLEMS, 200: secretNamesSchema },
  };
  app.get('/v1/secrets', route('secret-names', names), async (request) => {
    const { pool } = request.query;
    const call = callOf(request);
    const { config } = await rules.of(pool);
    const asked = { user: call.caller.id, project: request.query.project, mode: 'verified' } as const;
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
  });

  const log = {
    tags: ['access'],
    summary: 'The audit log',
    querystring: auditQuery.extend({ pool: explainQuery.shape.pool }),
    response: { ...PROBLEMS, 200: auditLinesSchema },
  };
  app.get('/v1/audit', route('audit', log), async (request) => {
    const { user, job, since, limit, pool } = request.query;
    await gate.about(callOf(request), 'audit', { pool });
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

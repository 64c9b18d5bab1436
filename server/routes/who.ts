import { ACCESS_VERBS } from '../../domain/access/table.js';
import { resolveProject } from '../../quota/membership.js';
import { isSecretOf } from '../../domain/secret-reference.js';
import { type ServerConfig, secretText } from '../config.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import type { Handler, Serve } from './serve.js';

/** Routes for logins, the caller's identity and rights, and the audit log. */
export function registerWho(serve: Serve, services: Services, { issuers }: Pick<ServerConfig, 'issuers'>): void {
  const { gate, facts, audit, secrets, rules } = services;
  const settings = issuers.map(({ issuer, audiences: [clientId = ''], clientSecret, scopes }) => ({
    issuer,
    clientId,
    scopes,
    ...(clientSecret === undefined ? {} : { clientSecret: secretText(clientSecret, 'issuers.clientSecret') }),
  }));
  serve('login', () => ({ issuers: settings }));

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

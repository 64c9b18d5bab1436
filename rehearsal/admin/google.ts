import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { OpenedAccess } from '../access/open-access.js';
import { applyAuthentication, authenticationSchema } from '../access/open-access.js';
import type { Journal } from '../journal.js';
import { isObject } from '../json.js';
import type { RehearsedProject } from '../project/rehearsed-project.js';
import { AdminError, parse, wrongBody } from './admin-error.js';

export interface GoogleParts {
  readonly access: OpenedAccess;
  readonly project: RehearsedProject;
  readonly journal: Journal;
}

const accessRequest = authenticationSchema.extend({
  /** False: every caller may do everything again; TLS stays as at the start. */
  enforced: z.boolean().optional(),
  /** Revokes all tokens issued so far. */
  revokeTokens: z.boolean().optional(),
});

const tokenRequest = z.strictObject({ email: z.string().default('current') });

/** Verbs for access rights, and for the project's facts in Google's other APIs. */
export function addGoogleVerbs(app: FastifyInstance, parts: GoogleParts): void {
  const { access, project } = parts;
  app.get('/admin/access', () => shownAccess(access));
  app.post('/admin/access', (request) => changeAccess(parts, request.body ?? {}));
  app.post('/admin/token', (request) => giveToken(parts, request.body ?? {}));
  app.get('/admin/project', () => project.facts);
  app.post('/admin/project', (request) => changeProject(parts, request.body));
  app.delete('/admin/project', () => resetProject(parts));
}

async function changeAccess({ access, journal }: GoogleParts, body: unknown): Promise<object> {
  const { enforced, revokeTokens, ...named } = parse(accessRequest, body);
  const { control } = access;
  try {
    applyAuthentication(control.state, named);
  } catch (error) {
    throw error instanceof RangeError ? new AdminError(400, error.message) : error;
  }
  if (enforced !== undefined) control.state.isEnforced = enforced;
  if (revokeTokens === true) control.revokeTokens();
  journal.record('admin', 'access', { ...(body as object) });
  await access.save();
  return shownAccess(access);
}

function shownAccess({ control }: OpenedAccess): object {
  const { isEnforced, current, principals, lastToken, revokedUpTo } = control.state;
  return { enforced: isEnforced, current, principals: Object.values(principals), lastToken, revokedUpTo };
}

async function giveToken({ access }: GoogleParts, body: unknown): Promise<object> {
  const { email } = parse(tokenRequest, body);
  const principal = access.control.principal(email);
  if (principal === undefined) throw new AdminError(404, `no principal '${email}'`);
  const given = access.control.giveToken(principal);
  await access.save();
  return given;
}

async function changeProject({ project, journal }: GoogleParts, patch: unknown): Promise<object> {
  if (!isObject(patch)) throw new AdminError(400, 'wanted a JSON object that is laid over the facts');
  try {
    await project.change(patch);
  } catch (error) {
    throw error instanceof z.ZodError ? wrongBody(error) : error;
  }
  journal.record('admin', 'project', { ...patch });
  return project.facts;
}

async function resetProject({ project, journal }: GoogleParts): Promise<object> {
  await project.reset();
  journal.record('admin', 'project', { deleted: 'all' });
  return project.facts;
}

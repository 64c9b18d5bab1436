import type { FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import { listenFailure } from '../listen-failure.js';
import { loopbackServer } from '../loopback-server.js';
import type { ProjectFacts } from '../project/facts.js';
import { METADATA_NAMES } from './foreign-request.js';
import { isOwnLogin, NOT_OWN_LOGIN } from './own-login.js';
import type { Principal } from './principal.js';
import type { TokenHooks } from './token-service.js';
import { giveToken, scopesOf } from './token-service.js';

export interface MetadataServer {
  /** `host:port`, for GCE_METADATA_HOST. */
  readonly host: string;
  close(): Promise<void>;
}

const FLAVOR = 'Metadata-Flavor';
const ROOT = '/computeMetadata/v1';

/**
 * Starts the part of a Compute Engine VM's metadata server that Google's client libraries ask for application-default
 * credentials. It gives tokens of the current principal to processes of this login. Plain HTTP, as Google's.
 * @param port 0: any free port
 */
export async function startMetadataServer(
  hooks: TokenHooks,
  facts: () => ProjectFacts,
  { port, hostNames }: { readonly port: number; readonly hostNames: readonly string[] },
): Promise<MetadataServer> {
  const app = fastify({
    forceCloseConnections: true,
    serverFactory: (handler) => loopbackServer({ hostNames: [...hostNames, ...METADATA_NAMES] }, handler),
  });
  app.addHook('onRequest', async ({ raw: { socket } }, reply) => {
    if (!isOwnLogin(socket)) await reply.status(403).send(NOT_OWN_LOGIN);
  });
  app.addHook(
    'onSend',
    async (_request, reply) => void reply.header(FLAVOR, 'Google').header('Server', 'Metadata Server'),
  );
  app.get('/', (_request, reply) => reply.type('application/text').send('computeMetadata/\n'));
  app.get(`${ROOT}/*`, (request, reply) => answer(hooks, facts(), request, reply));
  app.get(ROOT, (request, reply) => answer(hooks, facts(), request, reply));
  const url = await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('metadata server', port, error, '--metadata-port');
  });
  return { host: new URL(url).host, close: () => app.close() };
}

function answer(hooks: TokenHooks, facts: ProjectFacts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.headers[FLAVOR.toLowerCase()] !== 'Google') {
    return reply.status(403).send(`Missing required header "${FLAVOR}": "Google"\n`);
  }
  const path = new URL(request.url, 'http://metadata').pathname.slice(ROOT.length).replace(/\/$/, '');
  const principal = hooks.access.principal('current');
  const value = projectValue(path, facts) ?? (principal && accountValue(path, principal, hooks));
  if (value === undefined) return reply.status(404).send(`${ROOT}${path} is not found\n`);
  return typeof value === 'string' ? reply.type('application/text').send(value) : reply.send(value);
}

function projectValue(path: string, facts: ProjectFacts): string | undefined {
  const values: Readonly<Record<string, string>> = {
    '': 'instance/\nproject/\n',
    '/instance': 'id\nname\nservice-accounts/\nzone\n',
    '/instance/id': '4520031799277581759',
    '/instance/name': 'rehearsed-vm',
    '/instance/zone': `projects/${facts.number}/zones/${Object.keys(facts.zones)[0] ?? 'us-central1-a'}`,
    '/project/project-id': facts.id,
    '/project/numeric-project-id': facts.number,
    '/universe/universe-domain': 'googleapis.com',
  };
  return values[path];
}

/** Values of the VM's service account. The account does not exist while there is no current principal. */
function accountValue(path: string, principal: Principal, hooks: TokenHooks): string | object | undefined {
  const { email } = principal;
  if (path === '/instance/service-accounts') return `default/\n${email}/\n`;
  const field = /^\/instance\/service-accounts\/([^/]+)(?:\/([a-z]+))?$/.exec(path);
  if (field === null || (field[1] !== 'default' && decodeURIComponent(field[1] ?? '') !== email)) return undefined;
  switch (field[2]) {
    case undefined:
      return { aliases: ['default'], email, scopes: scopesOf(principal) };
    case 'aliases':
      return 'default\n';
    case 'email':
      return email;
    case 'scopes':
      return `${scopesOf(principal).join('\n')}\n`;
    case 'token':
      return giveToken(hooks, principal, 'metadata');
    default:
      return undefined;
  }
}

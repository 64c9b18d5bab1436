import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from './config.js';
import { ApiError } from './problem.js';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Refuses calls that a browser was led to: an unknown `Host` means DNS rebinding, and a foreign `Origin` means another page.
 * There are no cookies, so this is a second protection: without a token nothing is answered anyway.
 */
export function hostGuard({ listen, publicUrl }: Pick<ServerConfig, 'listen' | 'publicUrl'>) {
  const known = new Set([...listen.hosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])]);
  const isOurs = (host: string): boolean => known.has(host) || LOOPBACK.has(host.replace(/:\d+$/, ''));
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    const { host = '', origin } = request.headers;
    if (!isOurs(host)) {
      // A load balancer's probe knows only the address.
      if (request.routeOptions.config?.isOpen === true && /^\/(healthz|readyz)$/.test(request.url)) return;
      throw new ApiError(
        'forbidden',
        `Host '${host}' is not this server`,
        'the server knows publicUrl and listen.hosts of its configuration',
      );
    }
    if (origin !== undefined && !isOurs(hostOf(origin)))
      throw new ApiError('forbidden', `calls of pages of '${origin}' are not answered`);
  };
}

function hostOf(origin: string): string {
  try {
    return new URL(origin).host;
  } catch {
    return '';
  }
}

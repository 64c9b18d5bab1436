import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { App } from './bare-app.js';
import { ApiError } from './problem.js';

/** Path of the page. Below it each path without a file is a screen of it. */
export const PAGE_PATH = '/ui';

/**
 * Lets the page run and style itself by its own files, and call this server. No other host, no frame around it, no form,
 * no script or style inside of the HTML, and no text that becomes a script (docs/adr/0164).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};
/** The name of a file with the hash of its content in it: it never changes. */
const HASHED = /-[A-Z0-9]{8}\.(?:js|css)$/;

class PageFile {
  readonly type: string;
  readonly plain: Buffer;
  #packed: Buffer | undefined;

  constructor(name: string, plain: Buffer) {
    this.type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    this.plain = plain;
  }

  get packed(): Buffer {
    return (this.#packed ??= gzipSync(this.plain, { level: 9 }));
  }
}

/** The files of the page, which the build leaves in jobctl's package. All are read once: they are half a megabyte. */
function pageFiles(): ReadonlyMap<string, PageFile> {
  const folder = folderOfPage();
  if (folder === undefined) return new Map();
  return new Map(readdirSync(folder).map((name) => [name, new PageFile(name, readFileSync(join(folder, name)))]));
}

/** Undefined: the page was not built. */
function folderOfPage(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve('jobctl/internal/ui/index.html'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Serves the page. Its files are open, as they are in the package that anybody can install; what it shows is not. */
export function registerPage(app: App): void {
  const files = pageFiles();
  const open = { config: { isOpen: true as const }, schema: { hide: true } };
  app.get(PAGE_PATH, open, (_request, reply) => reply.redirect(`${PAGE_PATH}/`, 308));
  app.get<{ Params: { '*': string } }>(`${PAGE_PATH}/*`, open, (request, reply) => {
    const name = request.params['*'];
    // A screen has no dot at its end that a file has, and a file that is gone must not be answered with HTML.
    const isScreen = !HASHED.test(name) && !files.has(name);
    const file = files.get(isScreen ? 'index.html' : name);
    if (file === undefined)
      throw new ApiError(
        'not-found',
        isScreen ? 'this server was built without its page' : `the page has no file '${name.slice(0, 100)}'`,
        isScreen ? 'npm run build' : 'load the page again',
      );
    const isPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    void reply
      .headers(HEADERS)
      .header('cache-control', HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache')
      .header('vary', 'accept-encoding')
      .type(file.type);
    if (isPacked) void reply.header('content-encoding', 'gzip');
    return reply.send(isPacked ? file.packed : file.plain);
  });
}

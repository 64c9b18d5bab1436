/** Parses a request's target, `/path?query`, with or without scheme and authority. The path stays as sent. */
export function parseTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const local = target.replace(/^https?:\/\/[^/?]*/i, '');
  const cut = local.indexOf('?');
  const path = cut < 0 ? local : local.slice(0, cut);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(cut < 0 ? '' : local.slice(cut + 1)) };
}

/** A request's target, `/path?query` or with scheme and authority before it. The path stays as it was sent. */
export function parseTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const local = target.replace(/^https?:\/\/[^/?]*/i, '');
  const cut = local.indexOf('?');
  const path = cut < 0 ? local : local.slice(0, cut);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(cut < 0 ? '' : local.slice(cut + 1)) };
}

import type { StoreAnswer } from './call.js';

export function json(content: unknown): StoreAnswer {
  return { kind: 'json', json: content };
}

/** JSON API: a list that is empty is left out of its answer. */
export function listed(
  kind: string,
  lists: Readonly<Record<string, readonly unknown[]>>,
  nextPageToken?: string,
): StoreAnswer {
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0);
  return json({ kind, ...(nextPageToken !== undefined && { nextPageToken }), ...Object.fromEntries(filled) });
}

export function noContent(): StoreAnswer {
  return { kind: 'bytes', status: 204, headers: {}, content: Buffer.alloc(0) };
}

// gs:// URLs, local paths and wildcards, as gsutil(1) and `gcloud storage` understand them.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { list } from './client.mjs';

/** A refusal by a command. Its message follows the tool's own prefix. */
export class Refusal extends Error {
  constructor(kind, url, message) {
    super(message ?? `${kind}: ${url}`);
    this.kind = kind; // 'no-match', 'no-bucket' or 'usage'
    this.url = url;
  }
}

/** Parses `gs://bucket/object`, `-` or a path. */
export function parse(text) {
  const match = /^gs:\/\/([^/]*)\/?(.*)$/s.exec(text);
  return match === null ? { text, path: text } : { text, bucket: match[1], name: match[2] };
}

export const isCloud = (url) => url.bucket !== undefined;
export const hasWildcard = (text) => /[*?[]/.test(text);

/** `*` stops at a slash, `**` does not. */
export function pattern(glob) {
  const source = glob.replaceAll(/\*\*|\*|\?|\[[^\]]*\]|[.+^${}()|\\\]]/g, (part) => {
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    return part.startsWith('[') ? part : `\\${part}`;
  });
  return new RegExp(`^${source}$`, 's');
}

/** Objects that a URL names; with `recursive` also those below it, as in a folder. @returns {Promise<object[]>} by name */
export async function objectsOf(url, recursive) {
  const literal = hasWildcard(url.name) ? url.name.slice(0, url.name.search(/[*?[]/)) : url.name.replace(/\/$/, '');
  const { items } = await list(url.bucket, literal);
  const folder = url.name === '' ? '' : `${url.name.replace(/\/$/, '')}/`;
  const matches = hasWildcard(url.name) ? pattern(url.name) : undefined;
  // With `recursive`, a wildcard that matches a folder means the folder's contents.
  const inFolder = matches && recursive ? pattern(`${url.name.replace(/\/$/, '')}/**`) : undefined;
  return items.filter(({ name }) => {
    if (matches !== undefined) return matches.test(name) || inFolder?.test(name) === true;
    return name === url.name || (recursive && name.startsWith(folder));
  });
}

/** Files below a folder, as paths relative to it. Links to folders are not followed. */
export function filesBelow(folder, below = '') {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? filesBelow(folder, path) : [path];
  });
}

export function isFolder(path) {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
export function exists(path) {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

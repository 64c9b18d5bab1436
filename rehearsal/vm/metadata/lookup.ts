import type { MetadataTree, MetadataValue } from './instance.js';

/**
 * The value at a path such as `instance/attributes/tpu-env`, or undefined. Keys are written with dashes on a path and in
 * camel case in the tree; attributes and service accounts have the same name in both.
 */
export function lookUp(tree: MetadataTree, path: readonly string[]): MetadataValue | undefined {
  let value: MetadataValue | undefined = tree;
  for (const segment of path) {
    if (typeof value !== 'object') return undefined;
    value = entries(value).find(([key, , literal]) => key === segment || literal === segment)?.[1];
  }
  return value;
}

/** As `?alt=text` and a plain GET write it: a value, or what is in a folder, one a line. */
export function listing(value: MetadataValue): string {
  if (typeof value !== 'object') return String(value);
  if (isList(value) && value.every((each) => typeof each !== 'object'))
    return value.map((each) => `${each}\n`).join('');
  return entries(value)
    .map(([key, child]) => `${key}${isFolder(child) ? '/' : ''}\n`)
    .join('');
}

/** As `?recursive=true&alt=text` writes a folder: a path and a value, one a line. */
export function flatText(value: MetadataValue, path = ''): string {
  if (!isFolder(value)) return `${path} ${listing(value).trimEnd().replaceAll('\n', '\\n')}\n`;
  return entries(value as object as MetadataTree)
    .map(([key, child]) => flatText(child, path === '' ? key : `${path}/${key}`))
    .join('');
}

/** A list of words is a value; anything else that has parts is a folder. */
export function isFolder(value: MetadataValue): boolean {
  return (
    typeof value === 'object' && !(isList(value) && value.length > 0 && value.every((each) => typeof each !== 'object'))
  );
}

type Entry = readonly [path: string, value: MetadataValue, literal: string];

function entries(value: MetadataTree | readonly MetadataValue[]): readonly Entry[] {
  if (isList(value)) return value.map((each, index) => [String(index), each, String(index)]);
  return Object.entries(value).map(([key, child]) => [dashed(key), child, key]);
}

/** `machineType` -> `machine-type`; what has dashes, dots or an @ already is a name of somebody's own. */
function dashed(key: string): string {
  return /^[a-z]+([A-Z][a-z]+)+$/.test(key) ? key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) : key;
}

function isList(value: MetadataValue): value is readonly MetadataValue[] {
  return Array.isArray(value);
}

import type { MetadataTree, MetadataValue } from './instance.js';

/**
 * The value at a path such as `instance/attributes/tpu-env`, or undefined. Keys have dashes in a path and camel case in the tree;
 * attributes and service accounts have the same name in both.
 */
export function lookUp(tree: MetadataTree, path: readonly string[]): MetadataValue | undefined {
  let value: MetadataValue | undefined = tree;
  for (const segment of path) {
    if (typeof value !== 'object') return undefined;
    value = entries(value).find(([key, , literal]) => key === segment || literal === segment)?.[1];
  }
  return value;
}

/** Text of `?alt=text` and of a plain GET: a value, or the contents of a folder, one per line. */
export function listing(value: MetadataValue): string {
  if (typeof value !== 'object') return String(value);
  if (isList(value) && value.every((each) => typeof each !== 'object'))
    return value.map((each) => `${each}\n`).join('');
  return entries(value)
    .map(([key, child]) => `${key}${isFolder(child) ? '/' : ''}\n`)
    .join('');
}

/** Text of a folder for `?recursive=true&alt=text`: a path and a value per line. */
export function flatText(value: MetadataValue, path = ''): string {
  if (!isFolder(value)) return `${path} ${listing(value).trimEnd().replaceAll('\n', '\\n')}\n`;
  return entries(value as object as MetadataTree)
    .map(([key, child]) => flatText(child, path === '' ? key : `${path}/${key}`))
    .join('');
}

/** A list of words is a value; any other value with parts is a folder. */
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

/** `machineType` -> `machine-type`. A key that has dashes, dots or an @ already is a user's name and stays. */
function dashed(key: string): string {
  return /^[a-z]+([A-Z][a-z]+)+$/.test(key) ? key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) : key;
}

function isList(value: MetadataValue): value is readonly MetadataValue[] {
  return Array.isArray(value);
}

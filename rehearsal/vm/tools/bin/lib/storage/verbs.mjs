// ls, cat, rm, du, stat and the verbs of buckets. Scripts read their output on stdout.
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import * as client from './client.mjs';
import { hasWildcard, objectsOf, parse, pattern, Refusal } from './urls.mjs';

const print = (text) => process.stdout.write(`${text}\n`);

/** @param options {{long: boolean, recursive: boolean}} */
export async function ls(words, { long, recursive }) {
  if (words.length === 0) return (await client.listBuckets()).forEach(({ name }) => print(`gs://${name}/`));
  for (const word of words) {
    const url = parse(word);
    if (url.bucket === undefined) throw new Refusal('usage', word, `Invalid URL ${word}: must be gs://..`);
    const found = await (hasWildcard(url.name) || recursive ? below(url) : inside(url));
    if (found.objects.length + found.folders.length === 0 && url.name !== '') throw new Refusal('no-match', word);
    found.objects.forEach((object) => print(line(url.bucket, object, long)));
    found.folders.forEach((folder) => print(`${long ? ' '.repeat(33) : ''}gs://${url.bucket}/${folder}`));
    if (long) total(found.objects);
  }
}

const line = (bucket, { name, size, updated }, long) =>
  long
    ? `${String(size).padStart(10)}  ${updated.replace(/\.\d+Z$/, 'Z')}  gs://${bucket}/${name}`
    : `gs://${bucket}/${name}`;

function total(objects) {
  const bytes = objects.reduce((sum, { size }) => sum + Number(size), 0);
  print(`TOTAL: ${objects.length} objects, ${bytes} bytes (${bytes} B)`);
}

/** One level: the object with this name, and the direct contents of the folder with this name. */
async function inside(url) {
  if (url.name === '' || url.name.endsWith('/')) {
    const { items, prefixes } = await client.list(url.bucket, url.name, '/');
    return { objects: items, folders: prefixes };
  }
  const { items, prefixes } = await client.list(url.bucket, url.name, '/');
  const object = items.filter(({ name }) => name === url.name);
  if (!prefixes.includes(`${url.name}/`)) return { objects: object, folders: [] };
  const folder = await client.list(url.bucket, `${url.name}/`, '/');
  return { objects: [...object, ...folder.items], folders: folder.prefixes };
}

async function below(url) {
  const objects = await objectsOf(url, !hasWildcard(url.name));
  // gs://b/* names folders too.
  const { prefixes } =
    hasWildcard(url.name) && !url.name.includes('**') ? await client.list(url.bucket, '', '/') : { prefixes: [] };
  return { objects, folders: prefixes.filter((folder) => pattern(url.name).test(folder.slice(0, -1))) };
}

async function matching(word, recursive) {
  const url = parse(word);
  if (url.bucket === undefined) throw new Refusal('usage', word, `Invalid URL ${word}: must be gs://..`);
  const found = await objectsOf(url, recursive);
  if (found.length === 0) throw new Refusal('no-match', word);
  return found.map((object) => ({ bucket: url.bucket, ...object }));
}

export async function cat(words, range) {
  for (const word of words) {
    for (const { bucket, name } of await matching(word, false)) {
      const { body } = await client.read(bucket, name, range);
      if (body !== null) await pipeline(Readable.fromWeb(body), process.stdout, { end: false });
    }
  }
}

/** @param options {{recursive: boolean, say: (text: string) => void}} */
export async function rm(words, { recursive, say }) {
  for (const word of words) {
    const { bucket, name: asked } = parse(word);
    const found = await matching(word, recursive).catch((error) => {
      if (recursive && asked === '' && error instanceof Refusal) return [];
      throw error;
    });
    for (const { name } of found) {
      say(`Removing gs://${bucket}/${name}...`);
      await client.remove(bucket, name);
    }
    // `rm -r gs://bucket` removes the bucket too.
    if (recursive && asked === '') await client.deleteBucket(bucket);
  }
}

export async function du(words, summary) {
  for (const word of words) {
    const found = await matching(word, true);
    const bytes = found.reduce((sum, { size }) => sum + Number(size), 0);
    if (!summary) found.forEach(({ bucket, name, size }) => print(`${String(size).padEnd(12)} gs://${bucket}/${name}`));
    print(`${String(bytes).padEnd(12)} ${word.replace(/\/$/, '')}`);
  }
}

export async function stat(words) {
  for (const word of words) {
    for (const { bucket, name, updated, size, generation, crc32c, md5Hash } of await matching(word, false)) {
      print(`gs://${bucket}/${name}:`);
      const rows = {
        'Update time': updated,
        'Content-Length': size,
        'Hash (crc32c)': crc32c,
        'Hash (md5)': md5Hash,
        Generation: generation,
      };
      Object.entries(rows).forEach(([key, value]) => print(`    ${`${key}:`.padEnd(24)}${value ?? ''}`));
    }
  }
}

/** Describes buckets and objects as gcloud does, as YAML. */
export async function describe(words) {
  for (const word of words) {
    const { bucket, name } = parse(word);
    if (bucket === undefined) throw new Refusal('usage', word, `Invalid URL ${word}: must be gs://..`);
    const resource = name === '' ? await client.getBucket(bucket) : (await matching(word, false))[0];
    print(yaml(resource, ''));
  }
}

function yaml(value, indent) {
  const rows = Object.entries(value).map(([key, each]) =>
    typeof each === 'object' ? `${indent}${key}:\n${yaml(each, `${indent}  `)}` : `${indent}${key}: ${each}`,
  );
  return rows.join('\n');
}

// cp, mv and rsync between buckets and this VM's files.
import { createReadStream, createWriteStream, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as client from './client.mjs';
import { exists, filesBelow, isCloud, isFolder, objectsOf, parse, Refusal } from './urls.mjs';

/** @typedef {{ text: string, source: object, relative: string }} Item one file or object; relative: below the source that was named */

/** The items that one source names. @returns {Promise<Item[]>} */
async function itemsOf(source, recursive) {
  if (source.path === '-') return [{ source, relative: 'stdin', text: '-' }];
  if (!isCloud(source)) return localItems(source, recursive);
  const found = await objectsOf(source, recursive);
  return found
    .filter(({ name }) => !name.endsWith('/'))
    .map(({ name }) => ({
      source: { bucket: source.bucket, name },
      text: `gs://${source.bucket}/${name}`,
      relative: recursive && name !== source.name ? relativeName(source, name) : name.slice(name.lastIndexOf('/') + 1),
    }));
}

/** For the source gs://b/a/dir, gs://b/a/dir/x/y becomes dir/x/y; for a whole bucket it becomes x/y. */
function relativeName(source, name) {
  if (source.name === '') return name;
  const folder = source.name.replace(/\/$/, '');
  const depth = folder.split('/').length - 1;
  return name.split('/').slice(depth).join('/');
}

function localItems(source, recursive) {
  if (!exists(source.path)) throw new Refusal('no-match', source.text);
  if (!isFolder(source.path)) return [{ source, text: `file://${source.path}`, relative: basename(source.path) }];
  if (!recursive) throw new Refusal('is-folder', source.text);
  const root = source.path.replace(/\/+$/, '') || '/';
  return filesBelow(root).map((path) => {
    const own = join(root, path);
    return { source: { path: own }, text: `file://${own}`, relative: join(basename(root), path) };
  });
}

/** Destination of one item. `isFolderLike`: the destination names a place for several items. */
function targetOf(destination, item, isFolderLike) {
  if (isCloud(destination)) {
    const folder = destination.name === '' ? '' : `${destination.name.replace(/\/$/, '')}/`;
    return { bucket: destination.bucket, name: isFolderLike ? `${folder}${item.relative}` : destination.name };
  }
  return { path: isFolderLike ? join(destination.path, item.relative) : destination.path };
}

async function namesFolder(destination) {
  if (destination.path === '-') return false;
  if (!isCloud(destination)) return isFolder(destination.path) || destination.path.endsWith('/');
  if (destination.name === '' || destination.name.endsWith('/')) return true;
  const { items, prefixes } = await client.list(destination.bucket, `${destination.name}/`, '/');
  return items.length + prefixes.length > 0;
}

/**
 * @param options {{recursive: boolean, noClobber: boolean, move: boolean, say: (text: string) => void, ifGenerationMatch?: string}}
 * @returns {Promise<number>} how many were copied.
 */
export async function copyAll(words, options) {
  const urls = words.map(parse);
  const destination = urls.pop();
  let isFolderLike = await namesFolder(destination);
  const items = (await Promise.all(urls.map((url) => itemsOf(url, options.recursive)))).flatMap((found, index) => {
    if (found.length === 0) throw new Refusal('no-match', urls[index].text);
    return found;
  });
  // A folder that is copied to a name that does not exist yet takes that name.
  const renamed = options.recursive && !isFolderLike && items.some((item) => item.relative.includes('/'));
  if (!renamed && items.length > 1 && destination.path !== '-')
    isFolderLike = isFolderLike || mustBeFolder(destination);
  for (const item of items) {
    const named = renamed ? { ...item, relative: item.relative.split('/').slice(1).join('/') } : item;
    const target = targetOf(destination, named, isFolderLike || renamed);
    if (options.noClobber && (await isThere(target))) continue;
    options.say(
      `Copying ${item.text} to ${isCloud(target) ? `gs://${target.bucket}/${target.name}` : `file://${target.path}`}`,
    );
    await copyOne(item.source, target, options);
    if (options.move) await removeSource(item.source);
  }
  return items.length;
}

function mustBeFolder(destination) {
  if (!isCloud(destination))
    throw new Refusal(
      'usage',
      destination.text,
      `Destination URL must name a directory, bucket, or bucket\nsubdirectory for the multiple source form of the cp command.`,
    );
  return true;
}

async function isThere(target) {
  if (!isCloud(target)) return exists(target.path);
  return (await client.list(target.bucket, target.name)).items.some(({ name }) => name === target.name);
}

async function removeSource(source) {
  if (isCloud(source)) await client.remove(source.bucket, source.name);
  else rmSync(source.path);
}

export async function copyOne(source, target, options = {}) {
  if (isCloud(source) && isCloud(target)) return client.copy(source.bucket, source.name, target.bucket, target.name);
  if (isCloud(target)) {
    if (source.path !== '-')
      return client.writeFile(target.bucket, target.name, source.path, options.ifGenerationMatch);
    const chunks = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    return client.write(target.bucket, target.name, Buffer.concat(chunks), options.ifGenerationMatch);
  }
  const content = isCloud(source)
    ? Readable.fromWeb((await client.read(source.bucket, source.name)).body ?? new ReadableStream())
    : createReadStream(source.path);
  if (target.path === '-') return pipeline(content, process.stdout, { end: false });
  mkdirSync(dirname(target.path), { recursive: true });
  const partial = `${target.path}_.gstmp`;
  await pipeline(content, createWriteStream(partial));
  renameSync(partial, target.path);
}

async function contentsOf(url, recursive) {
  if (!isCloud(url)) {
    if (!isFolder(url.path)) throw new Refusal('no-match', url.text);
    const paths = filesBelow(url.path).filter((path) => recursive || !path.includes('/'));
    return new Map(
      paths.map((path) => [
        path,
        { source: { path: join(url.path, path) }, size: statSync(join(url.path, path)).size },
      ]),
    );
  }
  const folder = url.name === '' ? '' : `${url.name.replace(/\/$/, '')}/`;
  const { items } = await client.list(url.bucket, folder);
  const named = items.filter(
    ({ name }) => !name.endsWith('/') && (recursive || !name.slice(folder.length).includes('/')),
  );
  return new Map(
    named.map(({ name, size, md5Hash }) => [
      name.slice(folder.length),
      { source: { bucket: url.bucket, name }, size: Number(size), md5Hash },
    ]),
  );
}

async function md5Of({ source, md5Hash }) {
  if (md5Hash !== undefined) return md5Hash;
  const hash = createHash('md5');
  for await (const chunk of createReadStream(source.path)) hash.update(chunk);
  return hash.digest('base64');
}

/** Makes `to` the same as `from`, by size and MD5. @param options {{recursive, deleteUnmatched, dryRun, exclude?: RegExp, say}} */
export async function synchronise(from, to, options) {
  const [source, destination] = [parse(from), parse(to)];
  const [wanted, there] = [
    await contentsOf(source, options.recursive),
    isCloud(destination) || isFolder(destination.path) ? await contentsOf(destination, options.recursive) : new Map(),
  ];
  for (const [path, item] of wanted) {
    if (options.exclude?.test(path)) continue;
    const known = there.get(path);
    if (known !== undefined && known.size === item.size && (await md5Of(known)) === (await md5Of(item))) continue;
    options.say(`${options.dryRun ? 'Would copy' : 'Copying'} ${from.replace(/\/$/, '')}/${path}`);
    if (!options.dryRun) await copyOne(item.source, targetOf(destination, { relative: path }, true));
  }
  if (!options.deleteUnmatched) return;
  for (const [path, item] of there) {
    if (wanted.has(path) || options.exclude?.test(path)) continue;
    options.say(`${options.dryRun ? 'Would remove' : 'Removing'} ${to.replace(/\/$/, '')}/${path}`);
    if (!options.dryRun) await removeSource(item.source);
  }
}

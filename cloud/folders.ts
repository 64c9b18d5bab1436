import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, and tries each of them once. Node's `recursive` option would retry for ever in a
 * folder that refuses with ENOENT, as those of /proc do. All our code makes folders with this function
 * (test/cloud/folders.test.ts).
 * @param mode of each folder that is created
 * @returns the first folder that was created, or undefined if `path` existed
 * @throws Node's errors: EEXIST if a file is in its place, ENOENT in a folder that takes no folders
 */
export function makeFolderSync(path: string, mode?: number): string | undefined {
  try {
    mkdirSync(path, mode);
    return path;
  } catch (error) {
    if (isFolderSync(path)) return undefined;
    if (!isParentMissing(error) || isFolderSync(dirname(path))) throw error;
  }
  const first = makeFolderSync(dirname(path), mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (!isFolderSync(path)) throw error;
  }
  return first ?? path;
}

/** Does the same as `makeFolderSync`. */
export async function makeFolder(path: string, mode?: number): Promise<string | undefined> {
  try {
    await mkdir(path, mode);
    return path;
  } catch (error) {
    if (await isFolder(path)) return undefined;
    if (!isParentMissing(error) || (await isFolder(dirname(path)))) throw error;
  }
  const first = await makeFolder(dirname(path), mode);
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (!(await isFolder(path))) throw error;
  }
  return first ?? path;
}

const isParentMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const isFolderSync = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

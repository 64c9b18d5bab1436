import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. Each is tried once: with `recursive`, Node never ends if a folder refuses with
 * ENOENT, as all of /proc do. The same as cloud/folders.ts, which this package may not import.
 * @param mode of each folder that is created
 * @returns the first folder created, or undefined if `path` existed
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

const isParentMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

const isFolderSync = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

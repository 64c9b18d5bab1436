import { execFileSync } from 'node:child_process';

/** The TypeScript files below these folders that git knows, without what a build left there. */
export const committedSources = (folders: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', ...folders.map((folder) => `${folder}/*.ts`)], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !file.includes('/dist/'));

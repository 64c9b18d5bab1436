import { execFileSync } from 'node:child_process';

/** The TypeScript files below these folders that git knows, without what a build left there. */
export const committedSources = (folders: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', ...folders.flatMap((folder) => [`${folder}/*.ts`, `${folder}/*.tsx`])], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && !file.includes('/dist/'));

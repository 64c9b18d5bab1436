import type { ReadFile } from './operator-file.js';

/** Judges a pool's files again only when one is another: every job that is submitted asks, and 100 projects cost 100 ms. */
export function unlessSame<Files extends readonly (ReadFile | undefined)[], Judged>(
  judge: (pool: string, ...files: Files) => Judged,
): (pool: string, ...files: Files) => Judged {
  const before = new Map<string, { readonly files: Files; readonly judged: Judged }>();
  return (pool, ...files) => {
    const known = before.get(pool);
    if (known && files.every((file, index) => isSame(file, known.files[index]))) return known.judged;
    const judged = judge(pool, ...files);
    before.set(pool, { files, judged });
    return judged;
  };
}

const isSame = (a: ReadFile | undefined, b: ReadFile | undefined): boolean =>
  a?.name === b?.name && a?.text === b?.text;

import { readFileSync } from 'node:fs';
import { transformSync } from '@swc/wasm-typescript';

/** The code of a source. Types become blanks, so lines and columns stay, and no source map is needed (docs/adr/0133, docs/adr/0156). */
export const withoutTypes = (path: string): string =>
  transformSync(readFileSync(path, 'utf8'), { mode: 'strip-only', filename: path }).code;

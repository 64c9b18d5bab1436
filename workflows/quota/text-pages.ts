import type { TextPage } from '../../quota/text-pages.js';

/** In characters: an answer is one payload, of 2 MB at most. */
const PAGE = 1_000_000;

/**
 * A query's answer in pages. The text is made once for each version, when its first page is asked for; the others are of that
 * text even if another version has come since, so that a pool in motion can be read.
 */
export class TextPages {
  readonly #text: () => string;
  #version: string | undefined;
  #made = '';

  constructor(text: () => string) {
    this.#text = text;
  }

  page(version: string, page: number): TextPage {
    if (this.#version === undefined || (page === 0 && version !== this.#version)) {
      this.#made = this.#text();
      this.#version = version;
    }
    return {
      version: this.#version,
      pages: Math.max(1, Math.ceil(this.#made.length / PAGE)),
      text: this.#made.slice(page * PAGE, (page + 1) * PAGE),
    };
  }
}

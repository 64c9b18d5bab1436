import type { TextPage } from '../messages.js';

/** In characters: an answer is one payload, of 2 MB at most. */
const PAGE = 1_000_000;

/** A query's answer in pages. The text is made once for each version, whoever asks for how many pages of it. */
export class TextPages {
  readonly #text: () => string;
  #version: string | undefined;
  #made = '';

  constructor(text: () => string) {
    this.#text = text;
  }

  page(version: string, page: number): TextPage {
    if (version !== this.#version) {
      this.#made = this.#text();
      this.#version = version;
    }
    return {
      version,
      pages: Math.max(1, Math.ceil(this.#made.length / PAGE)),
      text: this.#made.slice(page * PAGE, (page + 1) * PAGE),
    };
  }
}

/** One page of a text that is too long for one payload, as a workflow answers it. */
export interface TextPage {
  /** Pages of another version are of another text. */
  readonly version: string;
  readonly pages: number;
  readonly text: string;
}

/** Another reader, or another worker's cache, may make the text anew while we read ours. */
const MOST_TRIES = 5;

/**
 * The JSON value that is answered in pages.
 * @param ask for one page, from 0 on
 * @param what is asked, for the error
 * @throws Error where the text changed while it was read, `MOST_TRIES` times
 */
export async function readPages(ask: (page: number) => Promise<TextPage>, what: string): Promise<unknown> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const first = await ask(0);
    const pages = [first];
    for (let page = 1; page < first.pages; page++) pages.push(await ask(page));
    if (pages.every(({ version }) => version === first.version))
      return JSON.parse(pages.map(({ text }) => text).join('')) as unknown;
  }
  throw new Error(`${what}: the answer changed while it was read, ${MOST_TRIES} times`);
}

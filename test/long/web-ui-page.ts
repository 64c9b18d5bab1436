import { type Browser, chromium, type Page } from 'playwright-core';
import { until } from '../until.js';

/** Debian's Chromium, without a word to anybody but the page. */
const CHROMIUM = process.env['JOBCTL_CHROMIUM'] || '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** @param more flags */
export function startBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...more] });
}

/** The Temporal Web UI as an operator uses it: its list, a workflow's tabs, its buttons. Versions 2.42 and near. */
export class WebUi {
  readonly #page: Page;
  readonly #base: string;

  constructor(page: Page, uiUrl: string, namespace: string) {
    this.#page = page;
    this.#base = `${uiUrl}/namespaces/${namespace}/workflows`;
  }

  get page(): Page {
    return this.#page;
  }

  /** The workflow ids that the list shows for a query, once it shows `want` (a Web UI loads its rows after the page). */
  async list(query: string, want: readonly string[]): Promise<readonly string[]> {
    await this.#page.goto(`${this.#base}?query=${encodeURIComponent(query)}`);
    const rows = this.#page.locator('table a[href*="/workflows/"]');
    let ids: readonly string[] = [];
    await until(`the list of ${query} shows ${want.join(', ')}; it shows ${ids.join(', ')}`, async () => {
      const links = await Promise.all((await rows.all()).map((link) => link.getAttribute('href')));
      // `/namespaces/default/workflows/<id>/<run id>/..`
      ids = [...new Set(links.map((href) => decodeURIComponent(href?.split('/')[4] ?? '')))].sort();
      return ids.length === want.length && want.every((id) => ids.includes(id));
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows: ${ids.join(', ') || 'nothing'}`);
    });
    return ids;
  }

  async open(id: string): Promise<void> {
    await this.#page.goto(`${this.#base}/${encodeURIComponent(id)}`);
    await this.#page.getByRole('heading', { name: id }).first().waitFor();
  }

  /** The text of the tab's panel; frames, which show Markdown, included. */
  async openTab(name: 'User Metadata' | 'History' | 'Pending Activities'): Promise<void> {
    const tab = this.#page.getByRole('link', { name }).or(this.#page.getByRole('tab', { name }));
    await tab.first().click();
  }

  /** Current Details of the workflow, as they stand in the page, once they are what is waited for. */
  async details(id: string, isThere: (details: string) => boolean): Promise<string> {
    await this.open(id);
    await this.openTab('User Metadata');
    let details = '';
    return until(`the page of ${id} shows it`, async () => {
      // They are read when the page is loaded; `R` is the page's own key for reading them again.
      await this.#page.keyboard.press('r');
      details = await this.#rendered('background');
      return isThere(details) && details;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows:\n${details}`);
    });
  }

  /** The summary beside the details that are open. */
  summary(): Promise<string> {
    return until('the page shows a summary', () => this.#rendered('primary'));
  }

  /** Markdown is shown in frames, which are told apart by their colours alone. Empty: there is none. */
  async #rendered(theme: 'primary' | 'background'): Promise<string> {
    const frame = this.#page.frames().find((one) => one.url().endsWith(`overrideTheme=${theme}`));
    return (await frame?.locator('body').innerText()) ?? '';
  }

  /** All that the page shows, until it shows `text`. */
  async textWith(text: string): Promise<string> {
    let shown = '';
    await until(`the page shows '${text}'`, async () => {
      shown = await this.#page.locator('body').innerText();
      return shown.includes(text);
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it shows:\n${shown}`);
    });
    return shown;
  }

  /** The button of the page, and Confirm in the dialog that it opens. */
  async cancel(): Promise<void> {
    await this.#page.getByRole('button', { name: 'Request Cancellation' }).click();
    await this.#confirm('Confirm');
  }

  async terminate(): Promise<void> {
    await this.#page.getByRole('button', { name: 'More Actions' }).click();
    await this.#page.getByRole('menuitem', { name: 'Terminate' }).click();
    await this.#confirm('Terminate');
  }

  async #confirm(button: 'Confirm' | 'Terminate'): Promise<void> {
    await this.#page.locator('dialog[open]').getByRole('button', { name: button }).click();
  }
}

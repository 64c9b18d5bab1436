import assert from 'node:assert/strict';

/** A person with a browser, as far as the provider's own pages need one: it follows redirects, keeps cookies and sends forms. */
export class Person {
  readonly #name: string;
  readonly #cookies = new Map<string, string>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Logs in and agrees, until the provider sends the browser to another place. @returns that place's address */
  async logIn(address: string): Promise<string> {
    const origin = new URL(address).origin;
    let page = await this.#visit(address);
    for (let step = 0; step < 10; step++) {
      if (new URL(page.url).origin !== origin) return page.url;
      page = await this.#submit(page);
    }
    throw new Error(`the provider's pages do not end: ${page.text.slice(0, 500)}`);
  }

  /** The same, with the code that a device shows. */
  async enterCode(address: string, code: string): Promise<void> {
    let page = await this.#submit(await this.#visit(address), { user_code: code });
    for (let step = 0; step < 10 && /<form/.test(page.text); step++) page = await this.#submit(page);
    assert.match(page.text, /Success/i);
  }

  async #submit(page: Page, values: Readonly<Record<string, string>> = {}): Promise<Page> {
    const [form = ''] = /<form[^>]*>[\s\S]*?<\/form>/.exec(page.text) ?? [];
    const action = /action="([^"]*)"/.exec(form)?.[1];
    assert.ok(action, `no form in ${page.url}: ${page.text.slice(0, 500)}`);
    const fields = [...form.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
      const name = /name="([^"]*)"/.exec(input)?.[1];
      return name === undefined ? [] : [[name, /value="([^"]*)"/.exec(input)?.[1] ?? ''] as const];
    });
    const known = { login: this.#name, password: 'any', ...values };
    const body = new URLSearchParams(
      fields.map(([name, value]): [string, string] => [name, (known as Record<string, string>)[name] ?? value]),
    );
    return this.#visit(new URL(action.replaceAll('&amp;', '&'), page.url).href, body);
  }

  async #visit(address: string, body?: URLSearchParams): Promise<Page> {
    let url = address;
    let form = body;
    for (let hops = 0; hops < 10; hops++) {
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { cookie },
        ...(form === undefined ? {} : { method: 'POST', body: form }),
      });
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        this.#cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) return { url, text: await response.text() };
      url = new URL(location, url).href;
      form = undefined;
      // What lies elsewhere is the test's to visit.
      if (new URL(url).origin !== new URL(address).origin) return { url, text: '' };
    }
    throw new Error(`${address}: the redirects do not end at ${url}`);
  }
}

interface Page {
  readonly url: string;
  readonly text: string;
}

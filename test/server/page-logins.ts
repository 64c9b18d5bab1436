import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Person } from '../login/person.js';
import type { PersonIssuer } from '../login/person-issuer.js';
import { until } from '../until.js';
import { mustLookRight } from './page-looks.js';
import type { Walk } from './page-changes.js';

/** The name of the issuer in the page. */
export const ISSUER_NAME = 'company';
const BUTTON = `Log in with ${ISSUER_NAME}`;
const NOT_OURS = 'The answer belongs to no login of this tab';

export interface LoginWalk extends Walk {
  readonly issuer: PersonIssuer;
}

/** What a person does at the pages of the provider, until it sends the browser back. */
export async function logInAtIssuer(page: Page, name: string, url: string): Promise<void> {
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  // The provider asks what the page may know.
  await page.locator('form:not(:has(input[name=login])) button[type=submit]').click();
  await page.waitForURL((at) => at.href.startsWith(`${url}/ui/`));
}

/** Logins at an issuer, and logins that end in an open page. */
export function loginsByPage(walk: () => LoginWalk): void {
  const button = (page: Page) => page.getByRole('button', { name: BUTTON });
  const tokenIn = (page: Page): Promise<string> => page.evaluate(`sessionStorage.getItem('jobctl.token') ?? ''`);
  /** Another signature: the server refuses the token from now on. */
  const spoil = (page: Page): Promise<unknown> =>
    page.evaluate(
      `sessionStorage.setItem('jobctl.token', sessionStorage.getItem('jobctl.token').replace(/[^.]*$/, 'x'))`,
    );

  it('is logged in to by a button, comes back to what was asked for, and leaves no code in the address', async () => {
    const { page, stack } = walk();
    const asked = `${stack.url}/ui/jobs/trainer?tab=hosts`;
    await page.goto(asked);
    await button(page).waitFor();
    await mustLookRight(page, 'a login');
    await button(page).click();
    await logInAtIssuer(page, 'alice', stack.url);
    await page.getByRole('button', { name: 'Log out' }).waitFor();
    assert.equal(page.url(), asked);
    await page.getByText('alice@example.org').first().waitFor();
    await page.goBack();
    assert.ok(!page.url().includes('code='), page.url());
  });

  it('keeps what was typed when the login ends, and goes on once the same person is back from another tab', async () => {
    const { page, stack, shows } = walk();
    await page.goto(`${stack.url}/ui/jobs/trainer`);
    await button(page).click();
    await logInAtIssuer(page, 'alice', stack.url);
    await page.getByRole('button', { name: 'Priority' }).click();
    const question = page.getByRole('dialog', { name: /Priority/ });
    await question.locator('select, input').first().waitFor();
    await page.evaluate('window.marker = "the same page"');
    await spoil(page);
    const again = page.getByRole('dialog', { name: 'Your login has ended.' });
    await again.waitFor();
    await mustLookRight(page, 'a login that has ended');
    await page.keyboard.press('Escape');
    assert.ok(await again.isVisible(), 'it is not put away without a login');
    const opened = page.context().waitForEvent('page');
    await again.getByRole('button', { name: BUTTON }).click();
    const tab = await opened;
    // Who they are is known there, and not asked again.
    await tab.locator('form:not(:has(input[name=login])) button[type=submit]').click();
    await again.waitFor({ state: 'detached' });
    assert.ok(await question.isVisible());
    assert.equal(await page.evaluate('window.marker'), 'the same page');
    await until(
      'the other tab is closed, or says that it may be',
      async () => tab.isClosed() || tab.getByText('Close this tab').isVisible(),
    );
    await page.keyboard.press('Escape');
    await shows(/attempt \d/);
  });

  it('shows nothing of one person to the next', async () => {
    const { page, stack, logIn } = walk();
    await logIn('alice', '/ui/jobs/trainer');
    await page
      .getByText(/attempt \d/)
      .first()
      .waitFor();
    await spoil(page);
    const again = page.getByRole('dialog', { name: 'Your login has ended.' });
    await again.waitFor();
    await again.getByText('Paste a token instead').click();
    await again.getByLabel(/^Token of/).fill(await stack.issuer.token({ email: 'mallory@example.org' }));
    await again.getByRole('button', { name: 'Log in', exact: true }).click();
    await page
      .getByText(/may not read the logs/)
      .first()
      .waitFor();
    assert.equal(await page.locator('.line').count(), 0);
  });

  it('takes no answer that another site, another tab or another person made', async () => {
    const { page, stack, shows, issuer } = walk();
    for (const search of ['code=x&state=forged', 'error=x&error_description=call%20666&state=forged', 'code=x']) {
      await page.goto(`${stack.url}/ui/login?${search}`);
      await shows(NOT_OURS);
      assert.equal(await page.getByText('666').count(), 0);
      assert.equal(page.url(), `${stack.url}/ui/`);
    }
    // Mallory's own login, up to the address with her code, which she sends to somebody else.
    const state = 's'.repeat(32);
    const begun = await fetch(`${stack.url}/v1/page-login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ issuer: issuer.url, challenge: 'c'.repeat(43), state, nonce: 'n'.repeat(32) }),
    });
    const { url } = (await begun.json()) as { readonly url: string };
    await page.goto(await new Person('mallory').logIn(url));
    await shows(NOT_OURS);
    assert.equal(await tokenIn(page), '');
    // Beside a login of one's own that has begun.
    await button(page).click();
    await page.locator('input[name=login]').waitFor();
    await page.goto(`${stack.url}/ui/login/${ISSUER_NAME}?code=x&state=${state}`);
    await shows(NOT_OURS);
    await page.goto(`${stack.url}/ui/login?for=https%3A%2F%2Fevil.example`);
    await shows('This server has no such login.');
    assert.equal(await tokenIn(page), '');
  });

  it('says in words that the issuer gave no login', async () => {
    const { page, stack, shows } = walk();
    await page.goto(`${stack.url}/ui/`);
    await button(page).click();
    await page.getByRole('link', { name: /cancel/i }).click();
    await shows(/gave no login: it was refused there/);
    await button(page).waitFor();
  });
}

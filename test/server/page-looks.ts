import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

export const SIZES = [
  { width: 390, height: 844 },
  { width: 1024, height: 768 },
  { width: 1920, height: 1080 },
];
/** Windows in which the page is looked at, and the person's setting. */
export const LOOKS = [...SIZES.map((size) => [size, 'light'] as const), [SIZES[0]!, 'dark'] as const];

/** Nothing stands out of the page at its side, and axe finds nothing. */
export async function mustLookRight(page: Page, name: string): Promise<void> {
  const [wide, window] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]');
  assert.ok((wide ?? 0) <= (window ?? 0), `${name}: ${wide} pixels wide`);
  assert.deepEqual(await faultsOf(page), [], name);
}

interface Fault {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds against WCAG 2.2 A and AA, each with its places. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ readonly violations: readonly Fault[] }>(
    `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  );
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
        .join('; ')
        .slice(0, 600)}`,
  );
}

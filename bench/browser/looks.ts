import type { Browser, BrowserContext, Page } from 'playwright-core';
import { until } from '../../test/until.js';
import type { FakeServer } from './fake-server.js';

/** What the browser itself says of its work: paints, events, frames (W3C Paint, Event and Resource Timing). Times in ms. */

/** Runs in the page before anything else. */
const WATCH = `
  sessionStorage.setItem('jobctl.token', 'a.b.c');
  const seen = (window.bench = { events: [], updates: [], frames: [], rows: undefined });
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) if (interactionId) seen.events.push([interactionId, duration]);
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
  const target = () => document.querySelector('.rows .row, table a[href*="/workflows/"]');
  new MutationObserver(() => {
    if (seen.rows === undefined && target() !== null) requestAnimationFrame(() => (seen.rows ??= performance.now()));
    if (seen.arrived === undefined) return;
    const arrived = seen.arrived;
    seen.arrived = undefined;
    requestAnimationFrame(() => setTimeout(() => seen.updates.push(performance.now() - arrived)));
  }).observe(document, { childList: true, subtree: true, characterData: true });
  new PerformanceObserver((list) => {
    for (const { name, responseEnd } of list.getEntries()) if (name.includes('/v1/board')) seen.arrived = responseEnd;
  }).observe({ type: 'resource' });
  let last = 0;
  const frame = (at) => { if (last) seen.frames.push(at - last); last = at; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
`;

export interface FirstLook {
  readonly firstPaintMs: number;
  /** Until the first row is drawn. */
  readonly rowsMs: number;
}

async function openedAt(
  browser: Browser,
  url: string,
): Promise<{ readonly context: BrowserContext; readonly page: Page }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(WATCH);
  const page = await context.newPage();
  await page.goto(url);
  return { context, page };
}

/** Opens the address with an empty cache. */
export async function firstLook(browser: Browser, url: string): Promise<FirstLook> {
  const { context, page } = await openedAt(browser, url);
  await until('rows are drawn', () => page.evaluate<boolean>('bench.rows !== undefined'), 60_000);
  const [firstPaintMs = 0, rowsMs = 0] = await page.evaluate<number[]>(
    `[performance.getEntriesByName('first-contentful-paint')[0].startTime, bench.rows]`,
  );
  await context.close();
  return { firstPaintMs, rowsMs };
}

export interface BoardLook {
  /** From the key to the next paint, of each interaction that took 16 ms or more. */
  readonly interactionsMs: readonly number[];
  readonly keys: number;
  /** From the end of an answer in which each row is another to the paint that shows it. */
  readonly updatesMs: readonly number[];
}

const SEARCH = 'train-004';
const STEPS = 30;

/** Searches, goes through rows, and lets the board change `updates` times. */
export async function boardLook(browser: Browser, url: string, updates: number): Promise<BoardLook> {
  const { context, page } = await openedAt(browser, url);
  await page.locator('.rows .row').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type(SEARCH, { delay: 60 });
  for (const _ of SEARCH) await page.keyboard.press('Backspace', { delay: 30 });
  await page.keyboard.press('Escape');
  await page.getByRole('table', { name: 'Jobs' }).focus();
  for (let step = 0; step < STEPS; step++) await page.keyboard.press('j', { delay: 30 });
  await until('the board has changed', () => page.evaluate<boolean>(`bench.updates.length >= ${updates}`), 120_000);
  const [events, updatesMs] = await page.evaluate<[[number, number][], number[]]>('[bench.events, bench.updates]');
  await context.close();
  const longest = new Map<number, number>();
  for (const [id, duration] of events) longest.set(id, Math.max(longest.get(id) ?? 0, duration));
  return { interactionsMs: [...longest.values()], keys: 2 * SEARCH.length + STEPS + 2, updatesMs };
}

export interface LogLook {
  readonly linesPerSecond: number;
  /** Gaps between frames. */
  readonly framesMs: readonly number[];
  /** Lines that were sent and are not drawn at the end. */
  readonly behind: number;
}

const FOLLOW_MS = 6_000;

/** Follows a log at this rate and looks at the frames meanwhile. */
export async function logLook(browser: Browser, fake: FakeServer, linesPerSecond: number): Promise<LogLook> {
  fake.linesPerSecond = linesPerSecond;
  const { context, page } = await openedAt(browser, `${fake.url}/ui/jobs/train-00000`);
  await page.locator('.lines').waitFor();
  if (linesPerSecond > 0) await page.locator('.line').first().waitFor();
  await page.evaluate('bench.frames.length = 0');
  await page.waitForTimeout(FOLLOW_MS);
  const sent = fake.sentLines;
  const [framesMs, last] = await page.evaluate<[number[], string]>(
    `[bench.frames.slice(), [...document.querySelectorAll('.line .text')].at(-1)?.textContent ?? '']`,
  );
  await context.close();
  const drawn = Number(/^line (\d+)/.exec(last)?.[1] ?? -1) + 1;
  return { linesPerSecond, framesMs, behind: Math.max(0, sent - drawn) };
}

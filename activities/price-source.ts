import { log } from '@temporalio/activity';
import type { PriceList } from '../domain/counted/prices.js';
import { messageOf } from '../domain/errors.js';
import { formatProblems } from '../domain/problem.js';
import { parsePriceFile } from '../quota/files/price-file.js';
import type { ReadFile } from './operator-file.js';

/** The operator's price list as it is now; undefined: there is none. Never rejects: a price must not keep a job waiting. */
export type PriceSource = () => Promise<PriceList | undefined>;

/**
 * Reads the price file for each job that is accepted, since it may change at any time. While it is wrong or cannot be read, the
 * last good one of this process counts.
 */
export function priceSource(read: () => Promise<ReadFile | undefined>): PriceSource {
  let good: { readonly text: string; readonly list: PriceList } | undefined;
  return async () => {
    try {
      const file = await read();
      if (file === undefined || file.text === good?.text) return good?.list;
      const parsed = parsePriceFile(file.text, file.name);
      if (parsed.ok) good = { text: file.text, list: parsed.list };
      else log.warn(`the last good prices count: ${formatProblems(parsed.problems)}`);
    } catch (error) {
      log.warn(`the last good prices count: the price file cannot be read: ${messageOf(error)}`);
    }
    return good?.list;
  };
}

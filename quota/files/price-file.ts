import { z } from 'zod';
import { acceleratorNamed, canonicalGeneration } from '../../domain/accelerators.js';
import { MOST_POOL_FILE } from '../../domain/bounds.js';
import type { Price, PriceList } from '../../domain/counted/prices.js';
import { oneOf, section, text } from '../../domain/job-file/fields.js';
import { checkForm, Report } from '../../domain/job-file/report.js';
import type { Problem } from '../../domain/problem.js';
import { PRICINGS } from '../../domain/slice.js';
import { located, readToml, sizeProblem, TomlPositions } from './toml-text.js';

const PER = ['chip', 'host', 'slice'] as const;
const MOST_USD = 1_000_000;
const USD_ERROR = `a number of US dollars from 0 to ${MOST_USD}`;
const MOST_PRICES = 10_000;

/** A function: docs/adr/0012. Every key is optional, so that one missing key hides no other problem. */
const priceFileForm = () =>
  section({
    date: z.unknown().nullish(),
    source: text().max(200, { error: 'text of 200 characters at most' }).nullish(),
    price: z
      .array(
        section({
          machines: text().nullish(),
          zone: text().nullish(),
          pricing: oneOf(PRICINGS).nullish(),
          usd_per_hour: z
            .number({ error: USD_ERROR })
            .min(0, { error: USD_ERROR })
            .max(MOST_USD, { error: USD_ERROR })
            .nullish(),
          per: oneOf(PER).nullish(),
        }),
        { error: 'tables [[price]]' },
      )
      .max(MOST_PRICES, { error: `at most ${MOST_PRICES} tables [[price]]` })
      .nullish(),
  });

const PRICE_FILE = { schema: priceFileForm(), title: 'a price file' };

export type ParsedPriceFile =
  | { readonly ok: true; readonly list: PriceList }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

/** Reads an operator's price file (docs/counted.md). @param file the file's name, for messages */
export function parsePriceFile(source: string, file: string): ParsedPriceFile {
  const size = sizeProblem(source, MOST_POOL_FILE);
  if (size !== undefined) return { ok: false, problems: [{ file, path: [], ...size }] };
  const positions = new TomlPositions(source);
  const tree = readToml(source, positions);
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const { form, problems, dropped } = checkForm(PRICE_FILE, tree.value);
  const report = new Report(dropped);
  const date = dateOf(form.date);
  if (form.date === undefined || form.date === null)
    report.missing(['date'], 'the day of these prices: date = 2026-11-30');
  else if (date === undefined) report.wrong(['date'], form.date, 'no day', 'date = 2026-11-30, without quotes or with');
  if (!form.source) report.missing(['source'], 'where the prices are from: source = "our contract"');
  const prices = (form.price ?? []).flatMap(({ machines, zone, pricing, usd_per_hour: usd, per }, index): Price[] => {
    if (!machines) report.missing(['price', index, 'machines'], 'a type, such as machines = "v6e" or "a3-highgpu-8g"');
    if (usd === undefined || usd === null) report.missing(['price', index, 'usd_per_hour'], 'US dollars for one hour');
    if (!machines || usd === undefined || usd === null) return [];
    return [
      {
        machines: canonical(machines),
        ...(zone && { zone }),
        ...(pricing && { pricing }),
        usdPerHour: usd,
        per: per ?? 'chip',
      },
    ];
  });
  const all = [...problems, ...report.problems];
  if (all.length > 0) return { ok: false, problems: located(all, file, positions) };
  return { ok: true, list: { source: `${form.source}, ${date}`, prices } };
}

/** `v5e` and `v5litepod-8` as job files and quota have them; another word as it is. */
const canonical = (machines: string): string =>
  acceleratorNamed(machines)?.type ?? canonicalGeneration(machines.trim());

function dateOf(value: unknown): string | undefined {
  const written = value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value;
  const day = typeof written === 'string' ? /^\d{4}-\d\d-\d\d/.exec(written)?.[0] : undefined;
  return day === undefined || Number.isNaN(Date.parse(day)) ? undefined : day;
}

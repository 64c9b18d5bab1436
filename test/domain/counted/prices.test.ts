import assert from 'node:assert/strict';
import { costOf, type PriceList, priceOf, pricesFor, shownUsage } from '../../../domain/counted/prices.js';
import { noUsage, usageAt, usageWith } from '../../../domain/counted/usage.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { formatProblems } from '../../../domain/problem.js';
import { usdText } from '../../../domain/units.js';
import { parsePriceFile } from '../../../quota/files/price-file.js';

function spec(machines: object, more: object = {}): JobSpec {
  const resolved = resolveJob({ ...machines, command: { run: 'x' }, ...more });
  if (!resolved.ok) throw new Error(formatProblems(resolved.problems));
  return resolved.spec;
}
const tpu = (accelerator: string, more: object = {}) => spec({ tpu: { accelerator, zone: 'us-east5-b' } }, more);
const AT = { zone: 'us-east5-b', pricing: 'spot' };

function listOf(text: string): PriceList {
  const parsed = parsePriceFile(`date = 2026-11-01\nsource = "contract"\n${text}`, 'prices.toml');
  if (!parsed.ok) throw new Error(formatProblems(parsed.problems));
  return parsed.list;
}
const row = (text: string): string => `[[price]]\n${text.replaceAll('; ', '\n')}\n`;

describe('the price of a chip', () => {
  it('is that of the public list, by zone and pricing', () => {
    assert.equal(priceOf(tpu('v6e-8'), AT)?.usd, 1.215);
    assert.equal(priceOf(tpu('v6e-8', { slices: 4 }), AT)?.usd, 1.215);
    assert.equal(priceOf(tpu('v6e-8'), { ...AT, pricing: 'reserved' }), undefined);
    assert.match(priceOf(tpu('v6e-8'), AT)?.source ?? '', /2026/);
  });

  const CASES: Record<string, { rows: string; at?: typeof AT; of?: JobSpec; want: number | undefined }> = {
    'of a generation': { rows: row('machines = "v6e"; usd_per_hour = 0.9'), want: 0.9 },
    'by its other name': {
      rows: row('machines = "v5e"; usd_per_hour = 0.4'),
      of: tpu('v5litepod-8'),
      want: 0.4,
    },
    'of one size alone': { rows: row('machines = "v6e-16"; usd_per_hour = 0.9'), want: 1.215 },
    'of a slice, by its chips': { rows: row('machines = "v6e-8"; usd_per_hour = 8; per = "slice"'), want: 1 },
    'of a host, by its chips': {
      rows: row('machines = "v6e-16"; usd_per_hour = 8; per = "host"'),
      of: tpu('v6e-16', { slices: 2 }),
      want: 2,
    },
    'of a region': { rows: row('machines = "v6e"; zone = "us-east5"; usd_per_hour = 0.8'), want: 0.8 },
    'of another region': { rows: row('machines = "v6e"; zone = "us-east"; usd_per_hour = 0.8'), want: 1.215 },
    'of another pricing': { rows: row('machines = "v6e"; pricing = "reserved"; usd_per_hour = 0.5'), want: 1.215 },
    'by the first row that fits': {
      rows: row('machines = "v6e"; usd_per_hour = 0.7') + row('machines = "v6e-8"; usd_per_hour = 0.6'),
      want: 0.7,
    },
    'that is nothing, if the operator says so': { rows: row('machines = "v6e"; usd_per_hour = 0'), want: 0 },
    'of a GPU in a cluster': {
      rows: row('machines = "h100"; usd_per_hour = 16; per = "host"'),
      of: spec({ kubernetes: { image: 'r/i@sha256:'.padEnd(75, '0'), gpus: 8, gpu_type: 'h100' } }),
      at: { zone: 'default', pricing: 'ondemand' },
      want: 2,
    },
  };
  for (const [name, { rows, at = AT, of = tpu('v6e-8'), want }] of Object.entries(CASES))
    it(`is an operator's ${name}`, () => assert.equal(priceOf(of, at, listOf(rows))?.usd, want));

  it('carries only rows that may fit the job', () => {
    const list = listOf(row('machines = "v6e"; usd_per_hour = 1') + row('machines = "h100"; usd_per_hour = 2'));
    assert.equal(pricesFor(tpu('v6e-8'), list)?.prices.length, 1);
    assert.equal(pricesFor(tpu('v4-8'), list), undefined);
  });
});

describe('the cost of chips', () => {
  const charged = (pricing: string, chipMs: number) => ({ zone: 'us-east5-b', pricing, chipMs });

  it('is unknown, not 0, where no price is known', () => {
    assert.deepEqual(costOf(tpu('v6e-8'), [charged('reserved', 3_600_000)]), { unpricedMs: 3_600_000, sources: [] });
    const both = costOf(tpu('v6e-8'), [charged('reserved', 1), charged('spot', 7_200_000)]);
    assert.deepEqual([both.usd, both.unpricedMs], [2.43, 1]);
  });

  it('is shown with its parts, in chip-seconds', () => {
    const usage = usageAt(usageWith(noUsage(0), [{ part: 'useful', chips: 8, place: AT }], 0), 450_000);
    const shown = shownUsage(tpu('v6e-8'), usage, { lost: 'none' });
    assert.deepEqual([shown.charged, shown.parts.useful, shown.usd, shown.unit], [3600, 3600, 1.215, 'chip']);
  });
});

describe('a price file', () => {
  const HEAD = 'date = 2026-11-01\nsource = "contract"\n';
  const WRONG: Record<string, [string, RegExp]> = {
    'without a day': ['source = "x"\n', /date.*is missing|date: is missing/],
    'with a day that is none': ['date = "soon"\nsource = "x"\n', /'soon' is no day/],
    'without a source': ['date = 2026-11-01\n', /source/],
    'with a negative price': [
      `${HEAD}${row('machines = "v6e"; usd_per_hour = -1')}`,
      /usd_per_hour.*\n?.*number of US dollars/,
    ],
    'with a price that is no number': [`${HEAD}${row('machines = "v6e"; usd_per_hour = nan')}`, /usd_per_hour/],
    'with a price in quotes': [`${HEAD}${row('machines = "v6e"; usd_per_hour = "1"')}`, /number of US dollars/],
    'with an unknown pricing': [`${HEAD}${row('machines = "v6e"; pricing = "cheap"; usd_per_hour = 1')}`, /cheap/],
    'with an unknown key': [`${HEAD}${row('machines = "v6e"; eur_per_hour = 1')}`, /eur_per_hour/],
    'with a row that names no machines': [`${HEAD}${row('usd_per_hour = 1')}`, /machines/],
    'that is no TOML': ['date = \n', /not TOML/],
    'that is too long': ['#'.repeat(600_000), /characters/],
  };
  for (const [name, [text, want]] of Object.entries(WRONG))
    it(`${name} is refused, with its place`, () => {
      const parsed = parsePriceFile(text, 'prices.toml');
      assert.ok(!parsed.ok);
      assert.match(formatProblems(parsed.problems), want);
      assert.match(formatProblems(parsed.problems), /prices\.toml/);
    });

  it('names source and day beside each cost', () =>
    assert.equal(listOf(row('machines = "v6e"; usd_per_hour = 1')).source, 'contract, 2026-11-01'));
});

describe('dollars for people', () => {
  const TEXTS: readonly (readonly [number, string])[] = [
    ...([
      [0, '$0.00'],
      [12, '$12.00'],
      [0.996, '$1.00'],
      [0.01, '$0.01'],
    ] as const),
    ...([
      [0.00214, '$0.0021'],
      [0.000_9, '$0.00090'],
      [1e-30, '$0.00000000000000000000'],
    ] as const),
  ];
  for (const [usd, text] of TEXTS) it(`${usd} is ${text}`, () => assert.equal(usdText(usd), text));
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { globExpression } from '../store/glob.js';
import { compareNames, NameIndex } from '../store/name-index.js';
import { selectFields } from '../store/partial-response.js';
import { refusalOf, StoreUnderTest } from './store-under-test.js';

interface Page {
  readonly items?: readonly { readonly name: string; readonly generation: string }[];
  readonly prefixes?: readonly string[];
  readonly nextPageToken?: string;
}

const bytes = (text: string): Buffer => Buffer.from(text);

describe('listings of the rehearsal’s Cloud Storage', () => {
  const store = new StoreUnderTest();
  const NAMES = ['a', 'a/', 'a/b/c', 'a/b/d', 'a/e', 'b', 'b/x.txt', 'b/y.bin', 'é', '\uffee', '😀'];
  before(async () => {
    await store.start();
    await store.bucket('listed');
    for (const name of NAMES.toReversed()) await store.put('listed', name, 'x');
  });
  after(() => store.stop());

  async function page(query: string, bucket = 'listed'): Promise<Page> {
    const answer = await store.ask('GET', `/storage/v1/b/${bucket}/o?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.json as Page;
  }

  /** Items, then prefixes in brackets, over all pages. */
  async function listing(query: string, bucket?: string): Promise<readonly string[]> {
    const [items, prefixes]: [string[], string[]] = [[], []];
    for (let token: string | undefined = ''; token !== undefined;) {
      const next: Page = await page(`${query}&pageToken=${token}`, bucket);
      items.push(...(next.items ?? []).map((item) => item.name));
      prefixes.push(...(next.prefixes ?? []).map((prefix) => `[${prefix}]`));
      token = next.nextPageToken;
    }
    return [...items, ...prefixes];
  }

  const cases: Record<string, { readonly query: string; readonly want: readonly string[] }> = {
    'all names, in the order of their bytes': { query: '', want: NAMES },
    'by prefix': { query: 'prefix=a/b/', want: ['a/b/c', 'a/b/d'] },
    'with a delimiter': { query: 'delimiter=/', want: ['a', 'b', 'é', '\uffee', '😀', '[a/]', '[b/]'] },
    'with a delimiter behind a prefix': { query: 'delimiter=/&prefix=a/', want: ['a/', 'a/e', '[a/b/]'] },
    'with the names that end in the delimiter too': {
      query: 'delimiter=/&includeTrailingDelimiter=true',
      want: ['a', 'a/', 'b', 'é', '\uffee', '😀', '[a/]', '[b/]'],
    },
    'with a delimiter of more than a letter': {
      query: 'delimiter=b/',
      want: ['a', 'a/', 'a/e', 'b', 'é', '\uffee', '😀', '[a/b/]', '[b/]'],
    },
    'from a name on, up to another': { query: 'startOffset=a/b&endOffset=b', want: ['a/b/c', 'a/b/d', 'a/e'] },
    'by a glob': { query: 'matchGlob=**.txt', want: ['b/x.txt'] },
    'by a glob that stays in its folder': { query: 'matchGlob=a/*', want: ['a/', 'a/e'] },
    'with a word that flat buckets pass over': {
      query: 'prefix=b&includeFoldersAsPrefixes=true',
      want: ['b', 'b/x.txt', 'b/y.bin'],
    },
    'of nothing': { query: 'prefix=zzz', want: [] },
  };
  for (const [name, { query, want }] of Object.entries(cases)) {
    it(`tell names ${name}, on one page and on pages of one`, async () => {
      assert.deepEqual(await listing(query), want);
      assert.deepEqual(await listing(`${query}&maxResults=1`), want);
    });
  }

  it('are what a list made by hand is, for any names and any query', async () => {
    const part = fc.constantFrom('a', 'b', '/', '/', 'é', '\uffee', '😀');
    const name = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
    const query = fc.record({
      prefix: fc.constantFrom('', '', 'a', 'a/'),
      delimiter: fc.constantFrom('', '/', '/'),
      startOffset: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, name),
      endOffset: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, name),
      maxResults: fc.integer({ min: 1, max: 4 }),
    });
    let [run, interesting] = [0, 0];
    const property = fc.asyncProperty(
      fc.uniqueArray(name, { minLength: 4, maxLength: 12 }),
      query,
      async (names, asked) => {
        const bucket = `property-${(run += 1)}`;
        await store.bucket(bucket);
        for (const each of names) await store.put(bucket, each, 'x');
        const parameters = Object.entries(asked).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
        const want = byHand(names, asked);
        if (want.some((entry) => entry.startsWith('[')) && want.length > asked.maxResults) interesting += 1;
        assert.deepEqual(await listing(parameters.join('&'), bucket), want);
      },
    );
    await fc.assert(property, { numRuns: 60, seed: 5 });
    assert.ok(interesting > 5, `${interesting} runs had prefixes on more than a page`);
  });

  it('tell noncurrent versions where they are asked for, also in pages that cut one name', async () => {
    await store.bucket('versioned', { versioning: { enabled: true } });
    const generations = [];
    for (const content of ['1', '2', '3']) generations.push(await store.put('versioned', 'name', content));
    await store.put('versioned', 'other', 'x');
    await store.ask('DELETE', '/storage/v1/b/versioned/o/name');
    assert.deepEqual(await listing('', 'versioned'), ['other']);
    const seen = [];
    for (let token: string | undefined = ''; token !== undefined;) {
      const next: Page = await page(`versions=true&maxResults=2&pageToken=${token}`, 'versioned');
      seen.push((next.items ?? []).map((item) => item.generation));
      token = next.nextPageToken;
    }
    assert.deepEqual(
      seen.map((items) => items.length),
      [2, 2],
    );
    assert.deepEqual(seen.flat().slice(0, 3), generations);
    assert.deepEqual(await listing('delimiter=a', 'versioned'), ['other']);
  });

  const refused = [
    'maxResults=-1',
    'maxResults=many',
    'pageToken=x',
    'matchGlob=%5Ba',
    'matchGlob=%7Ba',
    'versions=perhaps',
  ];
  for (const query of refused) {
    it(`refuse ${query} with 400`, async () => {
      const [status, reason] = refusalOf(await store.ask('GET', `/storage/v1/b/listed/o?${query}`));
      assert.deepEqual([status, reason], [400, 'invalid']);
    });
  }

  it('answer the fields that are asked for, and no others', async () => {
    const answer = await store.ask(
      'GET',
      '/storage/v1/b/listed/o?prefix=a/b/&delimiter=/&fields=prefixes,items(name,size)',
    );
    assert.deepEqual(answer.json, {
      items: [
        { size: '1', name: 'a/b/c' },
        { size: '1', name: 'a/b/d' },
      ],
    });
    const refusal = refusalOf(await store.ask('GET', '/storage/v1/b/listed/o?fields=items(name'));
    assert.deepEqual(refusal, [400, 'invalidParameter', 'Invalid field selection items(name']);
  });
});

interface Asked {
  readonly prefix: string;
  readonly delimiter: string;
  readonly startOffset: string;
  readonly endOffset: string;
}

/** The rules of objects.list, with no thought for speed. */
function byHand(names: readonly string[], { prefix, delimiter, startOffset, endOffset }: Asked): readonly string[] {
  const [items, prefixes] = [new Set<string>(), new Set<string>()];
  for (const name of names.toSorted((a, b) => Buffer.compare(bytes(a), bytes(b)))) {
    const isBefore = Buffer.compare(bytes(name), bytes(startOffset)) < 0;
    const isBehind = endOffset !== '' && Buffer.compare(bytes(name), bytes(endOffset)) >= 0;
    if (!name.startsWith(prefix) || isBefore || isBehind) continue;
    const cut = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
    if (cut < 0) items.add(name);
    else prefixes.add(`[${name.slice(0, cut + 1)}]`);
  }
  return [...items, ...prefixes];
}

describe('names of objects', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\u{e000}', '\uffff', '😀', '\u{10ffff}', '\u007f', 'é') });

  it('are ordered as their bytes are', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.equal(Math.sign(compareNames(a, b)), Buffer.compare(bytes(a), bytes(b)));
      }),
    );
  });

  it('stay in order whatever is added and removed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), text)), (changes) => {
        const [index, names] = [new NameIndex([]), new Set<string>()];
        for (const [isAdded, name] of changes) {
          if (isAdded) index.add(name);
          else index.remove(name);
          if (isAdded) names.add(name);
          else names.delete(name);
        }
        const found = Array.from({ length: index.length }, (_, at) => index.at(at));
        assert.deepEqual(
          found,
          [...names].toSorted((a, b) => Buffer.compare(bytes(a), bytes(b))),
        );
      }),
    );
  });

  const globs: Record<string, { readonly yes: readonly string[]; readonly no: readonly string[] }> = {
    '*.txt': { yes: ['a.txt', '.txt'], no: ['d/a.txt', 'a.txt2', 'a_txt'] },
    '**/x': { yes: ['x', 'a/x', 'a/b/x'], no: ['ax', 'a/y'] },
    'a/**': { yes: ['a/', 'a/b/c'], no: ['a', 'b/a/'] },
    '?.[a-c]': { yes: ['x.a', 'é.c'], no: ['/.a', 'x.d', 'xx.a'] },
    '[!a]': { yes: ['b'], no: ['a', '/'] },
    '{a,b/*}.c': { yes: ['a.c', 'b/x.c'], no: ['b.c', 'a,b/x.c'] },
    'a+(b)|$': { yes: ['a+(b)|$'], no: ['aab', ''] },
  };
  for (const [glob, { yes, no }] of Object.entries(globs)) {
    it(`match the glob ${glob} as Google’s do`, () => {
      const expression = globExpression(glob);
      assert.deepEqual(
        [...yes, ...no].filter((name) => expression.test(name)),
        yes,
      );
    });
  }

  it('are picked out of an answer by field selections', () => {
    const answer = { kind: 'k', items: [{ name: 'n', metadata: { a: '1', b: '2' } }], nextPageToken: 't' };
    assert.deepEqual(selectFields(answer, 'items/metadata/a'), { items: [{ metadata: { a: '1' } }] });
    assert.deepEqual(selectFields(answer, 'kind,items(name)'), { kind: 'k', items: [{ name: 'n' }] });
    assert.deepEqual(selectFields(answer, '*'), answer);
    assert.deepEqual(selectFields(answer, 'items/*'), { items: answer.items });
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { addressOf, filtersOf, hostsOf, isFound, linePlace, lineText, screenOf, searchOf } from '../../ui/address.js';
import { pathOf } from '../../ui/path.js';
import { clock, duration, linkedParts, onClock, safeHref } from '../../ui/words.js';

const NONE = { text: '', phases: [], user: '', project: '', pool: '', isAll: false };

describe('addresses of the page', () => {
  it('name a screen, and are read back', () => {
    for (const screen of [
      { name: 'board' },
      { name: 'schedules' },
      { name: 'job', id: 'train-7f3k' },
      { name: 'group', id: 'a/../b?c#d%2e' },
      { name: 'pool', id: 'team@x+y' },
    ] as const)
      assert.deepEqual(screenOf(addressOf(screen)), screen);
  });

  it('that name nothing are no screen, whatever they are', () => {
    for (const path of ['/ui/jobs', '/ui/jobs/a/b', '/ui/x', '/ui/jobs/%', '/ui/__proto__/a', '/ui/schedules/a'])
      assert.deepEqual(screenOf(path), { name: 'nowhere' }, path);
  });

  it('keep all filters, and no filter is no search', () => {
    assert.equal(searchOf(NONE), '');
    const text = fc.string({ maxLength: 100 });
    const phases = fc.uniqueArray(fc.constantFrom('running', 'queued', 'setting-up'));
    const filters = fc.record({ text, phases, user: text, project: text, pool: text, isAll: fc.boolean() });
    fc.assert(fc.property(filters, (each) => assert.deepEqual(filtersOf(searchOf(each)), { ...each })));
  });

  it('give no phase that the server could not know', () =>
    assert.deepEqual(filtersOf('?phase=running,<b>,,queued;DROP').phases, ['running']));

  it('name a line of a log, or none', () => {
    const place = { attempt: 2, host: 0, offset: 12345 };
    assert.deepEqual(linePlace(lineText(place)), place);
    for (const text of [null, '', 'a1.h0', 'a1.h0.-1', 'a1.h0.1;2', 'a1.h0.1e9', `a1.h0.${'9'.repeat(20)}`])
      assert.equal(linePlace(text), undefined);
  });

  it('name hosts as people write them', () => {
    const cases: readonly (readonly [string | null, readonly number[] | undefined])[] = [
      [null, undefined],
      [' all ', undefined],
      ['0', [0]],
      ['3, 0-2,2', [0, 1, 2, 3]],
      ['x', undefined],
      ['5-2', undefined],
    ];
    for (const [text, hosts] of cases) assert.deepEqual(hostsOf(text), hosts, String(text));
    assert.equal(hostsOf('0-99999')?.length, 1_000);
  });

  it('of calls keep an id inside its place in the path', () => {
    assert.equal(pathOf('GET /v1/jobs/:id/why', '../../pools/x?y#z'), '/v1/jobs/..%2F..%2Fpools%2Fx%3Fy%23z/why');
    assert.equal(
      pathOf('GET /v1/board', '', { user: 'a&b=c', pool: '', limit: 2 }),
      '/v1/board?user=a%26b%3Dc&limit=2',
    );
  });
});

describe('a search of the board', () => {
  const row = { id: 'vit-b-4brh', user: 'ann@example.org', project: 'vision', slice: 'v5litepod-16', phase: 'queued' };
  it('finds every word, in ids, users, projects, types and reasons', () => {
    const waiting = { ...row, place: { why: 'the pool has 0 free' } };
    for (const text of ['', 'vit', 'VISION ann', '0 free', 'litepod-16 queued'])
      assert.ok(isFound(waiting, text), text);
    for (const text of ['vit speech', 'vit-c']) assert.ok(!isFound(waiting, text), text);
  });
});

describe('words of the page', () => {
  it('round durations down', () => {
    const cases: readonly (readonly [number, string])[] = [
      [-5, '0 s'],
      [59_999, '59 s'],
      [60_000, '1 min'],
      [3_600_000 * 3 + 300_000, '3 h 05'],
      [86_400_000 * 2 + 3_600_000 * 4, '2 d 04'],
    ];
    for (const [ms, words] of cases) assert.equal(duration(ms), words);
  });

  it("put the server's times on the reader's clock", () => {
    const at = Date.parse('2026-11-30T10:08:00Z');
    const words = `may run until ${new Date(at).toISOString()} at least`;
    assert.equal(onClock(words, at), `may run until ${clock(at, at)} at least`);
    assert.match(clock(at, at + 3 * 86_400_000), /^2026-11-30 \d\d:\d\d$/);
  });

  it('find addresses in a line, and nothing else', () => {
    const hrefs = (text: string): readonly (string | undefined)[] =>
      linkedParts(text).flatMap(({ href }) => href ?? []);
    assert.deepEqual(hrefs('View run at https://wandb.ai/a/b?x=1&y=2. Or (http://127.0.0.1:6006)'), [
      'https://wandb.ai/a/b?x=1&y=2',
      'http://127.0.0.1:6006/',
    ]);
    for (const text of ['no address', 'javascript://x', 'gs://bucket/a', 'https://', '<a href="x">'])
      assert.deepEqual(hrefs(text), [], text);
    for (const text of ['a https://x.y b', 'https://x', 'http://a http://b', ''])
      assert.equal(
        linkedParts(text)
          .map((part) => part.text)
          .join(''),
        text,
      );
  });

  it('make links of http and https alone', () => {
    assert.equal(safeHref('https://example.org/a'), 'https://example.org/a');
    for (const text of ['javascript:alert(1)', ' JavaScript:x', 'data:text/html,x', 'ftp://x', '//x', 'x'])
      assert.equal(safeHref(text), undefined, text);
  });
});

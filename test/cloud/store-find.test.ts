import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createStore } from '../../cloud/store/gcs.js';
import { MOST_PAGES } from '../../cloud/store/port.js';

/** Cloud Storage looks through names for a while and then gives a page, which may have none that the glob matches. */
describe('a search of names by a glob, of which pages come empty', () => {
  let server: Server;
  let asked: URLSearchParams[];
  let pages: readonly (readonly string[])[];
  const find = (glob: string, most: number) => {
    const { port } = server.address() as AddressInfo;
    return createStore({ endpoint: `http://127.0.0.1:${port}`, bucket: 'b' }).find(glob, most);
  };
  before(async () => {
    server = createServer((request, response) => {
      asked.push(new URL(request.url ?? '', 'http://h').searchParams);
      const page = pages[asked.length - 1] ?? [];
      const isLast = asked.length === pages.length;
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          items: page.map((name) => ({ name })),
          ...(isLast ? {} : { nextPageToken: `${asked.length}` }),
        }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  beforeEach(() => (asked = []));
  after(() => server.close());

  it('goes on behind them, asks for names alone, and below what the glob begins with', async () => {
    pages = [[], ['jobs/a/run'], [], ['jobs/z/run']];
    assert.deepEqual(await find('jobs/*/run', 10), { names: ['jobs/a/run', 'jobs/z/run'], isWhole: true });
    assert.deepEqual(
      asked.map((query) => query.get('pageToken')),
      [null, '1', '2', '3'],
    );
    for (const query of asked)
      assert.deepEqual(
        [query.get('prefix'), query.get('matchGlob'), query.get('fields')],
        ['jobs/', 'jobs/*/run', 'items(name),nextPageToken'],
      );
  });

  it('ends with as many as are wanted, and says that there may be more', async () => {
    pages = [['a/1', 'a/2'], ['a/3', 'a/4'], []];
    assert.deepEqual(await find('a/*', 3), { names: ['a/1', 'a/2', 'a/3'], isWhole: false });
    assert.equal(asked.length, 2);
    asked = [];
    pages = [
      ['a/1', 'a/2'],
      ['a/3', 'a/4'],
    ];
    assert.deepEqual(await find('a/*', 3), { names: ['a/1', 'a/2', 'a/3'], isWhole: false });
  });

  it('ends at all, however many pages there are', async () => {
    pages = Array.from({ length: 1_000 }, () => []);
    assert.deepEqual(await find('jobs/*/run', 10), { names: [], isWhole: false });
    assert.equal(asked.length, MOST_PAGES);
  });
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { init, parse } from 'es-module-lexer';

const BUNDLE = fileURLToPath(new URL('../../dist/cli', import.meta.url));
const NODE_MODULES = new URL('../../node_modules/', import.meta.url);

/** docs/adr/0160. `npm test` builds it before it begins. */
describe('the bundle of the command line', () => {
  let chunks: ReadonlyMap<string, string>;
  before(async () => {
    await init;
    const files = readdirSync(BUNDLE, { encoding: 'utf8', recursive: true }).filter((file) => file.endsWith('.js'));
    chunks = new Map(files.map((file) => [file, readFileSync(join(BUNDLE, file), 'utf8')]));
  });

  /** Each module in a chunk begins with a comment that names it. */
  const bundledPackages = (): readonly string[] => {
    const names = [...chunks.values()].flatMap((text) =>
      [...text.matchAll(/^\s*\/\/ .*node_modules\/((?:@[^/\s]+\/)?[^/\s]+)\//gm)].map(([, name = '']) => name),
    );
    return [...new Set(names)].toSorted();
  };
  /** A chunk and those that it loads with it. */
  const loadedWith = (first: string): ReadonlySet<string> => {
    const loaded = new Set<string>();
    const queue = [first];
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      if (loaded.has(file)) continue;
      loaded.add(file);
      const [imports] = parse(chunks.get(file) ?? '');
      queue.push(...imports.flatMap(({ n = '', d }) => (d === -1 && n.startsWith('.') ? [join(file, '..', n)] : [])));
    }
    return loaded;
  };

  it('goes along with the license of each package whose code is in it', () => {
    const notices = readFileSync(join(BUNDLE, 'THIRD-PARTY-NOTICES.txt'), 'utf8').split(`\n${'-'.repeat(80)}\n\n`);
    const packages = bundledPackages();
    assert.ok(
      ['zod', 'commander', '@temporalio/client'].every((name) => packages.includes(name)),
      packages.join(),
    );
    for (const name of packages) {
      const { version } = JSON.parse(readFileSync(new URL(`${name}/package.json`, NODE_MODULES), 'utf8')) as {
        version: string;
      };
      const notice = notices.find((text) => text.startsWith(`${name} ${version}, `));
      assert.match(notice ?? '', /copyright|license/i, `${name} ${version}: ${notice}`);
    }
  });

  it('loads nothing of a package that is in it from node_modules', () => {
    const packages = new Set(bundledPackages());
    const twice = [...chunks].flatMap(([file, text]) =>
      parse(text)[0].flatMap(({ n = '' }) => {
        const name = /^(?:@[^/]+\/)?[^/]+/.exec(n)?.[0] ?? '';
        return packages.has(name) ? [`${file}: ${n}`] : [];
      }),
    );
    assert.deepEqual(twice, []);
  });

  it('starts without what only some commands need', () => {
    const started = [...loadedWith('main.js')].map((file) => chunks.get(file) ?? '').join('\n');
    for (const dear of ['@temporalio/client', 'yaml', 'toml', 're2js'])
      assert.ok(!started.includes(`node_modules/${dear}/`), `${dear} is loaded by every command`);
    assert.match(started, /^\/\/ cli\/program\.js$/m);
  });
});

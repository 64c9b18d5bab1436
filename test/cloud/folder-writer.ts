import { openStore } from '../../cloud/store/open-store.js';

/** Counts up in one object of a store so many times, among others, and prints a dot for each that was written. */
const [bucket = '', times = '0'] = process.argv.slice(2);
const store = openStore({ bucket });
const padding = 'x'.repeat(64 * 1024);
for (let count = 0; count < Number(times);) {
  const found = await store.stat('count');
  const before = await store.read('count');
  // Half of it would be no JSON.
  const value = (JSON.parse(before?.toString() ?? '') as { readonly value: number }).value + 1;
  const content = JSON.stringify({ value, padding });
  if (found === undefined || (await store.write('count', content, found)).kind === 'conflict') continue;
  process.stdout.write('.');
  count += 1;
}

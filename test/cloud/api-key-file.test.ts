import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { ApiKeyFile, newSigningKey, signApiKey } from '../../cloud/temporal/login-files.js';

const DAY_MS = 86_400_000;
const LOOK_MS = 10_000;

describe('an API key in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-api-key-file-'));
  const file = join(folder, 'api-key');
  const key = newSigningKey();
  let changes: string[];
  let warnings: string[];
  let followed: ApiKeyFile;
  const put = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  const lasting = (days: number): string =>
    signApiKey(key, { subject: 'x', permissions: ['tpu:write'], expiresAt: Date.now() + days * DAY_MS });
  const follow = (text: string): void => {
    put(`${text}\n`);
    followed = ApiKeyFile.follow(file, { onChange: (now) => changes.push(now), warn: (line) => warnings.push(line) });
  };

  beforeEach(() => {
    [changes, warnings] = [[], []];
    mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.UTC(2026, 10, 24) });
  });
  afterEach(() => {
    followed.close();
    mock.timers.reset();
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is read again: a renewed key is told once, and is the current one', () => {
    const [old, renewed] = [lasting(90), lasting(91)];
    follow(old);
    mock.timers.tick(LOOK_MS);
    assert.deepEqual([followed.current, changes], [old, []]);
    put(renewed);
    mock.timers.tick(3 * LOOK_MS);
    assert.deepEqual([followed.current, changes, warnings], [renewed, [renewed], []]);
  });

  it('that is empty or away for a moment leaves the key that is known', () => {
    const old = lasting(90);
    follow(old);
    put('');
    mock.timers.tick(LOOK_MS);
    rmSync(file);
    mock.timers.tick(2 * LOOK_MS);
    assert.deepEqual([followed.current, changes], [old, []]);
    assert.equal(warnings.length, 1, 'once a day');
    assert.match(warnings[0] ?? '', /^the API key cannot be read again: ENOENT/);
  });

  it('warns once a day in the last two weeks, and not of a key that is no JWT', () => {
    follow(lasting(15));
    assert.deepEqual(warnings, []);
    mock.timers.tick(DAY_MS + LOOK_MS);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /api-key ends at 2026-12-09T00:00:00\.000Z: put a new one there/);
    mock.timers.tick(DAY_MS);
    mock.timers.tick(DAY_MS);
    assert.equal(warnings.length, 3);
    followed.close();
    follow('of.another.issuer');
    mock.timers.tick(DAY_MS);
    assert.equal(warnings.length, 3);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
interface Service {
  readonly volumes?: readonly string[];
}
const servicesOf = (file: string): Readonly<Record<string, Service>> =>
  (parse(readFileSync(join(ROOT, file), 'utf8'), { merge: true }) as { services: Record<string, Service> }).services;

/** What a service sees of this computer, by both files, where no variable is set. */
function foldersOf(service: string): readonly string[] {
  const files = ['docker-compose.yml', 'docker-compose.verified.yml'].map(servicesOf);
  const volumes = files.flatMap((services) => services[service]?.volumes ?? []);
  return volumes.map((volume) => volume.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').split(':', 1)[0] ?? '');
}

describe('H13: docker-compose.verified.yml', () => {
  it('shows the folder with the key that signs to the server alone', () => {
    const ofServer = foldersOf('server');
    assert.deepEqual(ofServer, ['./server-config', './api-keys/server']);
    const names = new Set([
      ...Object.keys(servicesOf('docker-compose.yml')),
      ...Object.keys(servicesOf('docker-compose.verified.yml')),
    ]);
    for (const name of names) {
      if (name === 'server') continue;
      // A folder shows what is below it, too.
      const seen = foldersOf(name);
      for (const own of ofServer)
        assert.ok(!seen.some((folder) => `${own}/`.startsWith(`${folder}/`)), `${name}: ${own}`);
    }
  });

  it('and that folder is in neither an image nor a commit', () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
    assert.ok(ignored.includes('server-config/'));
    const context = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    assert.equal(context.filter((line) => line !== '' && !line.startsWith('#'))[0], '*');
    assert.ok(!context.includes('!server-config'));
  });
});

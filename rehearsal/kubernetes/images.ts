import { fileURLToPath } from 'node:url';

/**
 * What an image brings that this computer's system has not: commands that come before the system's. An image is a name here; one whose
 * repository is called buildkit has BuildKit's stand-in (docs/adr/0074), and one that is called without-curl has no curl.
 * @returns the folder on this computer; undefined: the image brings nothing
 */
export function commandsOf(image: string): string | undefined {
  const [repository = ''] = image.split('@');
  const name = repository.slice(repository.lastIndexOf('/') + 1).replace(/:.*/, '');
  return name === 'buildkit' || name === 'without-curl'
    ? fileURLToPath(new URL(`images/${name}`, import.meta.url))
    : undefined;
}

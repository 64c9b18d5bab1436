import { fileURLToPath } from 'node:url';

/**
 * Commands that an image has and this computer's system lacks: they come before the system's. An image is only a name here. An
 * image whose repository is called buildkit has BuildKit's stand-in (docs/adr/0074), and one called without-curl has no curl.
 * @returns the folder on this computer, or undefined if the image adds nothing
 */
export function commandsOf(image: string): string | undefined {
  const [repository = ''] = image.split('@');
  const name = repository.slice(repository.lastIndexOf('/') + 1).replace(/:.*/, '');
  return name === 'buildkit' || name === 'without-curl'
    ? fileURLToPath(new URL(`images/${name}`, import.meta.url))
    : undefined;
}

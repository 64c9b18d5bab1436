import { fileURLToPath } from 'node:url';

/**
 * Commands that an image adds to those of this computer's system; they come first on the PATH. An image is only a name here. An
 * image whose repository is called buildkit has BuildKit's stand-in (docs/adr/0074), one with the word ray in its name, such as
 * ray-train, has Ray's, and one called without-curl has no curl.
 * @returns the folder on this computer, or undefined if the image adds nothing
 */
export function commandsOf(image: string): string | undefined {
  const [repository = ''] = image.split('@');
  const name = repository.slice(repository.lastIndexOf('/') + 1).replace(/:.*/, '');
  const folder = name.split(/[-_.]/).includes('ray') ? 'ray' : name;
  return folder === 'buildkit' || folder === 'ray' || folder === 'without-curl'
    ? fileURLToPath(new URL(`images/${folder}`, import.meta.url))
    : undefined;
}

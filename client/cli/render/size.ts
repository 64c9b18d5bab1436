/** `812 B`, `1.2 kB`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return power === 0 ? `${bytes} B` : `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power]}`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { formatPath, type Path, showValue } from '../../domain/problem.js';
import { ask, mustBeAskable } from '../terminal/ask.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import type { OutputFlag } from '../terminal/options.js';

/** A path in a job file that would be uploaded, and its place on this computer. */
export interface NamedPath {
  readonly at: Path;
  readonly path: string;
  /** Absolute. */
  readonly place: string;
}

/**
 * The paths outside the job file's folder, or outside the repository that contains it. The file's author chose them, and may be a
 * stranger (docs/adr/0093). Links are resolved. In a home folder the hidden folders (~/.ssh) are outside too.
 */
export function outsideFiles(file: string, named: readonly NamedPath[]): readonly NamedPath[] {
  const root = ownFolder(file);
  return named.flatMap(({ place, ...path }) => {
    const real = existsSync(place) ? realpathSync(place) : place;
    return isWithin(root, real) && !isHidden(root, real) ? [] : [{ ...path, place: real }];
  });
}

export const outsideText = ({ at, path, place }: NamedPath): string =>
  `${formatPath(at)}: ${showValue(path)} is ${place}, which is outside of the job file's folder and would be uploaded`;

/** Asks before files from outside leave this computer. @throws CliError if nobody agrees; nothing was uploaded then */
export async function agreeToOutside(
  outside: readonly NamedPath[],
  { allowOutside, output = 'text' }: Partial<OutputFlag> & { readonly allowOutside?: true | undefined },
): Promise<void> {
  if (outside.length === 0 || allowOutside === true) return;
  const places = outside.map(({ place }) => place).join(', ');
  const remedy = 'if you know the job file and want this: --allow-outside';
  mustBeAskable({ output }, `the job file would upload ${places}`, remedy);
  if (!(await ask(`Upload ${places}? [y/N] `))) throw new CliError(ExitCode.Refused, 'nothing was uploaded', remedy);
}

/** The folder to which a job file belongs. A file from a pipe is the user's own and belongs to the current folder. */
function ownFolder(file: string): string {
  const folder = realpathSync(statSync(file).isFile() ? dirname(file) : '.');
  for (let above = folder; ; above = dirname(above)) {
    // A home folder that is a repository (dotfiles) does not count.
    if (existsSync(join(above, '.git')) && !isWithin(above, realHome())) return above;
    if (above === dirname(above)) return folder;
  }
}

const realHome = (): string => (existsSync(homedir()) ? realpathSync(homedir()) : homedir());

const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
};

/** The path is below a hidden folder of the home, and the job file is not. */
function isHidden(root: string, path: string): boolean {
  const home = realHome();
  return isWithin(root, home) && isWithin(home, path) && relative(home, path).startsWith('.');
}

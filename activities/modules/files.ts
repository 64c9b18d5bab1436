import type { ModulePlan, ModuleStep } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/file-source.js';
import { archiveOf } from '../../domain/local-files.js';
import type { FileCopy } from '../../domain/setup-spec.js';
import { shellPath, shellQuote } from '../../domain/shell-quote.js';
import { ANOTHER_SECOND } from './another-second.js';
import { contentHashOf, fingerprintOf } from './fingerprint.js';
import type { ModuleFiles } from './sources.js';

const FORMAT = 1;

/**
 * Files and folders of the submitter's on every host. A folder's files are put over what is there: others of the host stay. The
 * check reads all of them, so one that was changed or lost on the host is put back.
 * @param name of the module, after which its working files on the host are named
 * @throws RangeError where the content of one was not given.
 */
export function filesModule(name: string, copies: readonly FileCopy[], files: ModuleFiles): ModulePlan {
  const contents = copies.map((copy) => ({ copy, ...contentOf(copy, files) }));
  const hashes = contents.map(({ copy, content, isFolder }) => [copy.to, contentHashOf(content), isFolder]);
  return {
    name,
    fingerprint: fingerprintOf(FORMAT, hashes),
    check: `cd "$HOME" && sha256sum --status -c ${manifestOf(name)}\n`,
    steps: copySteps(name, copies, files),
  };
}

/** One step for all of them, none where there is nothing to copy. */
export function copySteps(name: string, copies: readonly FileCopy[], files: ModuleFiles): readonly ModuleStep[] {
  if (copies.length === 0) return [];
  const placed = copies.map((copy, index) => {
    const { content, isFolder } = contentOf(copy, files);
    return { copy, isFolder, file: { path: `.jobctl/modules/${name}.files/${index}`, content, mode: 0o644 } };
  });
  const lines = placed.map(({ copy, isFolder, file }) => {
    const words = `"$HOME"/${shellQuote(file.path)} ${shellPath(copy.to.replace(/(.)\/+$/, '$1'))}`;
    return `${isFolder ? 'put_folder' : 'put_file'} ${words} || exit 1`;
  });
  const script = `${ANOTHER_SECOND}${FUNCTIONS}manifest=${manifestOf(name)}
another_second "$manifest" "$manifest.new" || exit 1
: > "$manifest.new" || exit 1
${lines.join('\n')}
touch "$manifest.new" && mv -f "$manifest.new" "$manifest" && rm -rf "$HOME"/${shellQuote(`.jobctl/modules/${name}.files`)}
`;
  return [{ name: 'copy', files: placed.map(({ file }) => file), script }];
}

const manifestOf = (name: string): string => `"$HOME"/${shellQuote(`.jobctl/modules/${name}.sha256`)}`;

function contentOf(copy: FileCopy, files: ModuleFiles): { content: Buffer | FileSource; isFolder: boolean } {
  const archive = files.get(archiveOf(copy.from));
  const content = archive ?? files.get(copy.from);
  if (content === undefined) throw new RangeError(`files: the content of '${copy.from}' was not given`);
  return { content, isFolder: archive !== undefined };
}

/**
 * Where the login user may not write, root does it. A file is there whole or not at all. Its time is that of now; an archive has
 * none.
 */
const FUNCTIONS = `cd "$HOME" || exit 1
root_for() { # FOLDER: by whom it can be written
  mkdir -p -- "$1" 2> /dev/null && [ -w "$1" ] && { as_root=; return; }
  as_root='sudo -n'
  $as_root mkdir -p -- "$1"
}
put_file() { # SOURCE TARGET
  root_for "$(dirname -- "$2")" || return 1
  [ ! -d "$2" ] || { echo "files: $2 is a folder on this host" >&2; return 1; }
  $as_root cp -- "$1" "$2.jobctl-new" && $as_root mv -f -- "$2.jobctl-new" "$2" && sha256sum -- "$2" >> "$manifest.new"
}
put_folder() { # ARCHIVE TARGET
  root_for "$2" && $as_root tar -xf "$1" -C "$2" -m --no-same-owner --overwrite || return 1
  tar --quoting-style=literal -tf "$1" | while IFS= read -r file; do
    [ ! -f "$2/$file" ] || sha256sum -- "$2/$file" >> "$manifest.new" || exit 1
  done
}
`;

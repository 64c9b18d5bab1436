import { z } from 'zod';
import { given, section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { archiveOf, baseName, type LocalFile } from '../local-files.js';
import type { Path } from '../problem.js';
import { shellPath, shellQuote } from '../shell-quote.js';
import { ANOTHER_SECOND } from './host-scripts.js';
import {
  findSubmittedFile,
  fingerprintOf,
  type ModulePlan,
  type ModuleStep,
  type PlanSources,
  setUpModule,
  type SubmittedFile,
  submittedFile,
} from './module.js';

/** A file or folder of the submitter. */
export interface FileCopy {
  readonly from: string;
  /** On the host: absolute, `~/..` or relative to the home folder. */
  readonly to: string;
}

export const fileList = () =>
  z.array(z.union([text(), section({ from: text(), to: text().nullish() })], { error: 'a path or {from, to}' }), {
    error: 'a list of files, each a path or {from, to}',
  });
type FileSections = z.infer<ReturnType<typeof fileList>>;

const FORMAT = 1;

/**
 * Files and folders of the submitter on every host. Files of a folder overwrite those on the host; other files there stay. The
 * check reads all of them, so a file that was changed or lost on the host is written again.
 */
export const files = setUpModule({
  name: 'files',
  kind: 'inputs',
  form: fileList,
  description: "Files and folders of the submitter's that every host gets.",
  example: 'such as files: [{from: configs, to: ~/configs}]',
  resolve: (section, { report }) => resolveFiles(section, ['files'], report),
  localFiles: copiedFiles,
  plan: (copies, sources) => filesPlan('files', copies, sources),
});

/** Files in the job file's order. Without `to` a file goes to the home folder, under its own name. */
export function resolveFiles(
  sections: FileSections | null | undefined,
  path: Path,
  report: Report,
): readonly FileCopy[] {
  const places = new Set<string>();
  return (sections ?? []).map((section, index) => {
    const from = typeof section === 'string' ? section : section.from;
    const to = (typeof section === 'string' ? undefined : given(section.to)) ?? `~/${baseName(from)}`;
    const at = typeof section === 'string' ? [...path, index] : [...path, index, section.to ? 'to' : 'from'];
    if (/(^|\/)\.\.(\/|$)/.test(to) || /[\n\0]/.test(to) || /^~?\/?$/.test(to) || /^~[^/]/.test(to)) {
      report.wrong(at, to, 'no place on a host', 'an absolute path, or ~/..');
    } else if (places.has(to)) report.wrong(at, to, 'the place of two files', 'each goes to a place of its own');
    places.add(to);
    return { from, to };
  });
}

export function copiedFiles(copies: readonly FileCopy[]): readonly LocalFile[] {
  return copies.map(({ from }, index) => ({ path: from, at: [index], kind: 'copy' }));
}

// Plan ---------------------------------------------------------------------------------------------------------------

/** @param name the module's name, which also names its working files on the host */
export function filesPlan(name: string, copies: readonly FileCopy[], sources: PlanSources): ModulePlan {
  const hashes = copies.map((copy) => {
    const { sha256, isFolder } = copyOf(copy, sources);
    return [copy.to, sha256, isFolder];
  });
  return {
    name,
    fingerprint: fingerprintOf(sources, FORMAT, hashes),
    check: `cd "$HOME" && sha256sum --status -c ${manifestOf(name)}\n`,
    steps: copySteps(name, copies, sources),
  };
}

/** One step that copies all files, or no step if there are none. */
export function copySteps(name: string, copies: readonly FileCopy[], sources: PlanSources): readonly ModuleStep[] {
  if (copies.length === 0) return [];
  const placed = copies.map((copy, index) => {
    const { content, isFolder } = copyOf(copy, sources);
    return { copy, isFolder, file: { path: `.jobctl/modules/${name}.files/${index}`, content, mode: 0o644 } };
  });
  const lines = placed.map(({ copy, isFolder, file }) => {
    const words = `"$HOME"/${shellQuote(file.path)} ${shellPath(copy.to.replace(/(?<=[^/])\/+$/, ''))}`;
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

function copyOf({ from }: FileCopy, sources: PlanSources): SubmittedFile & { readonly isFolder: boolean } {
  const archive = findSubmittedFile(sources, archiveOf(from));
  const file = archive ?? submittedFile(sources, from, `files: the content of '${from}'`);
  return { ...file, isFolder: archive !== undefined };
}

/**
 * Writes as root if the login user may not. A file appears whole or not at all, with the current time as its modification time,
 * because archives carry none.
 */
const FUNCTIONS = `cd "$HOME" || exit 1
root_for() { # FOLDER: who can write there
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

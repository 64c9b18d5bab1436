import type { ModulePlan, ModuleStep } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/file-source.js';
import { bundleOf } from '../../domain/local-files.js';
import { BUNDLE_PLACE, type BundleSpec } from '../../domain/setup-spec.js';
import { shellPath, shellQuote } from '../../domain/shell-quote.js';
import { ANOTHER_SECOND } from './another-second.js';
import { contentHashOf, fingerprintOf } from './fingerprint.js';
import type { ModuleFiles } from './sources.js';

/** Raised when the scripts below change in a way that makes what the older ones made unfit. */
const FORMAT = 1;

/** What `install` installs into. */
export interface BundleEnvironment {
  /** The shell line that enters it. */
  readonly enter: string;
  /** A word of the shell for its folder: a mark in it tells an environment that was made anew since. */
  readonly folder: string;
  /** Of the module that makes it. */
  readonly fingerprint: string;
}

/**
 * The submitter's folder at `BUNDLE_PLACE`, as docs/adr/0028 has it: what the bundle before brought and this one has not is taken
 * away, unless it was changed here; what the command left there stays; files that are the same are not touched.
 * @throws RangeError where its content was not given
 */
export function bundleModule(bundle: BundleSpec, files: ModuleFiles, environment?: BundleEnvironment): ModulePlan {
  const content = files.get(bundleOf(bundle.dir));
  if (content === undefined) throw new RangeError(`bundle: the content of '${bundle.dir}' was not given`);
  const { install } = bundle;
  const archive = contentHashOf(content);
  if (install === undefined)
    return { name: 'bundle', fingerprint: fingerprintOf(FORMAT, archive), check: CHECK, steps: [unpackStep(content)] };
  const fingerprint = fingerprintOf(FORMAT, archive, install, environment?.fingerprint ?? '');
  const mark = environment && `${environment.folder}/.jobctl-bundle`;
  return {
    name: 'bundle',
    fingerprint,
    check: mark === undefined ? CHECK : `[ "$(cat ${mark})" = ${fingerprint} ] || exit 1\n${CHECK}`,
    steps: [unpackStep(content), ...installSteps(install, environment?.enter), ...markSteps(mark, fingerprint)],
  };
}

/** For the user's texts: where the bundle is, and into it. @param place its folder, there where the text runs */
export function enterBundle(place: string, isEntered: boolean): string {
  const enter = isEntered ? 'cd "$JOBCTL_BUNDLE_DIR" || exit 126\n' : '';
  return `export JOBCTL_BUNDLE_DIR=${shellPath(place)}\n${enter}`;
}

const WORK = '"$HOME/.jobctl/modules"';
const ARCHIVE = '.jobctl/modules/bundle.tar.gz';

/** All files by their sums, all links by where they point. */
const CHECK = `m=${WORK}
cd ${shellPath(BUNDLE_PLACE)} || exit 1
cut -z -b 67- "$m/bundle.sums" | xargs -0 -r sha256sum -z -- | cmp -s - "$m/bundle.sums" || exit 1
xargs -0 -r -a "$m/bundle.links" readlink -z -- | cmp -s - "$m/bundle.targets"
`;

/**
 * Lists are of NUL-ended names, so that a name may hold anything; `SUM  NAME` in sums. Times are those of now, not of the
 * archive, which has none.
 */
const UNPACK = `${ANOTHER_SECOND}export LC_ALL=C
m=${WORK}
place=${shellPath(BUNDLE_PLACE)}
new=$m/bundle.new
another_second "$m/bundle.sums" "$new" || exit 1
# Folders that may not be written in, of an archive that a service made.
chmod -R u+rwX "$new" 2> /dev/null
rm -rf "$new" && mkdir -p "$new/tree" "$place" || exit 1
tar -xzf "$HOME/${ARCHIVE}" -C "$new/tree" -m --no-same-owner && chmod -R u+rwX "$new/tree" || exit 1
[ -e "$m/bundle.sums" ] || { : > "$m/bundle.links" && : > "$m/bundle.sums"; } || exit 1

cd "$new/tree" || exit 1
find . -type f -print0 | xargs -0 -r sha256sum -z -- | sort -z > "$new/sums" || exit 1
find . -type l -print0 | sort -z > "$new/links" && xargs -0 -r -a "$new/links" readlink -z -- > "$new/targets" || exit 1
find . -mindepth 1 -type d -print0 > "$new/folders" || exit 1
{ cut -z -b 67- "$new/sums"; cat "$new/links"; } | sort -z > "$new/names" || exit 1

cd "$place" || exit 1
# Of the bundle before: what is not in this one goes, and folders that are empty then.
# What a link leads to, which the command put into a folder's place, is not ours.
behind_link() {
  at=\${1%/*}
  while [ "$at" != . ]; do [ ! -L "$at" ] || return 0; at=\${at%/*}; done
  return 1
}
cut -z -b 67- "$m/bundle.sums" | sort -z | comm -z -23 - "$new/names" | while IFS= read -r -d '' name; do
  behind_link "$name" || printf '%s\\0' "$name"
done > "$new/stale"
xargs -0 -r -a "$new/stale" sha256sum -z -- 2> /dev/null | sort -z > "$new/stale.now"
sort -z "$m/bundle.sums" | comm -z -12 - "$new/stale.now" | cut -z -b 67- > "$new/gone"
comm -z -23 "$m/bundle.links" "$new/names" | while IFS= read -r -d '' link; do
  [ ! -L "$link" ] || behind_link "$link" || printf '%s\\0' "$link"
done >> "$new/gone"
sort -z "$m/bundle.sums" | comm -z -13 - "$new/stale.now" | cut -z -b 67- | tr '\\0' '\\n' |
  sed 's/^\\./bundle: not in the bundle any more, and kept, since it was changed on this host: ~\\/bundle/'
xargs -0 -r -a "$new/gone" rm -f -- || exit 1
xargs -0 -r -a "$new/gone" dirname -z -- | sort -z -u | xargs -0 -r rmdir -p --ignore-fail-on-non-empty -- 2> /dev/null

# What the command put where the bundle has something else is moved aside: a folder for a file, a link or a file for a folder.
aside() {
  kept=$1.jobctl-kept
  while [ -e "$kept" ] || [ -L "$kept" ]; do kept=$kept+; done
  mv -- "$1" "$kept" && echo "bundle: ~/bundle/\${1#./} stood in the way of the bundle's; it is kept as \${kept##*/}"
}
while IFS= read -r -d '' folder; do
  if [ -L "$folder" ] || { [ -e "$folder" ] && [ ! -d "$folder" ]; }; then aside "$folder" || exit 1; fi
done < "$new/folders"
xargs -0 -r -a "$new/folders" mkdir -p -- || exit 1
cut -z -b 67- "$new/sums" | xargs -0 -r sha256sum -z -- 2> /dev/null | sort -z | comm -z -13 - "$new/sums" |
  cut -z -b 67- > "$new/changed"
while IFS= read -r -d '' name; do
  if [ -d "$name" ] && [ ! -L "$name" ]; then aside "$name" || exit 1; fi
done < "$new/names"
cd "$new/tree" || exit 1
cat "$new/changed" "$new/links" |
  xargs -0 -r cp --parents --no-dereference --remove-destination --preserve=mode -t "$place" -- || exit 1
find . -type f -perm -u+x -print0 | (cd "$place" && xargs -0 -r chmod a+x --) || exit 1
find . -type f ! -perm -u+x -print0 | (cd "$place" && xargs -0 -r chmod a-x --) || exit 1

for list in sums links targets; do mv -f "$new/$list" "$m/bundle.$list" || exit 1; done
touch "$m/bundle.sums" || exit 1
echo "bundle: $(tr -dc '\\0' < "$m/bundle.sums" | wc -c) files in ~/bundle; $(tr -dc '\\0' < "$new/changed" | wc -c) brought, \\
$(tr -dc '\\0' < "$new/gone" | wc -c) taken away"
rm -rf "$new" "$HOME/${ARCHIVE}"
`;

function unpackStep(content: Buffer | FileSource): ModuleStep {
  const files = [{ path: ARCHIVE, content, mode: 0o600 }];
  // What was copied to the host for this step has done its work: the next bundle is another one.
  const copied = Buffer.isBuffer(content) ? '' : `rm -f "$HOME"/${shellQuote(`.jobctl/files/${content.sha256}`)}\n`;
  return { name: 'unpack', files, script: `${UNPACK}${copied}` };
}

function installSteps(install: string, enter: string | undefined): readonly ModuleStep[] {
  const environment = enter === undefined ? '' : `${enter} || exit 126\n`;
  return [{ name: 'install', script: `${enterBundle(BUNDLE_PLACE, true)}${environment}${install}` }];
}

const markSteps = (mark: string | undefined, fingerprint: string): readonly ModuleStep[] =>
  mark === undefined ? [] : [{ name: 'mark', script: `echo ${fingerprint} > ${mark}\n` }];

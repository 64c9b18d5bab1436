import { z } from 'zod';
import { flag, given, section, text, texts } from '../job-file/fields.js';
import { bundleOf, type Packing } from '../local-files.js';
import { shellPath, shellQuote } from '../shell-quote.js';
import { ANOTHER_SECOND, PIPEFAIL } from './host-scripts.js';
import {
  fingerprintOf,
  type ModulePlan,
  type ModuleStep,
  type PlanSources,
  type ResolveContext,
  setUpModule,
  submittedFile,
  type SubmittedFile,
} from './module.js';

/** A folder of the submitter, packed when the job is submitted: docs/bundles.md. The command starts in it. */
export interface BundleSpec extends Packing {
  readonly dir: string;
  /** Runs in the bundle on every host, in the job's venv or conda environment, whenever either is new there. */
  readonly install?: string;
}

/** The bundle's place on a host and in a container. Fixed, so that editable installs and the command's own files stay valid. */
export const BUNDLE_PLACE = '~/bundle';
export const BUNDLE_PLACE_IN_CONTAINER = '/jobctl/bundle';

const form = () =>
  z.union(
    [
      text(),
      z.literal(false),
      section({
        dir: text().nullish().describe('The folder; a relative path starts at the folder of the job file.'),
        exclude: texts().nullish().describe('What stays behind, as in a .gitignore, in place of the usual list.'),
        gitignore: flag().nullish().describe("false: what the folder's .gitignore files leave out goes too."),
        install: text().nullish().describe('Runs in the bundle on every host, in the environment of the job.'),
      }),
    ],
    { error: 'a folder, or a section {dir, exclude, gitignore, install}' },
  );

/** Raised when the scripts change so that bundles unpacked by older ones no longer fit. */
const FORMAT = 1;

/**
 * The submitter's folder at `BUNDLE_PLACE` (docs/adr/0028). Files that only the previous bundle had are removed, unless they were
 * changed on the host. Files that the command made stay. Unchanged files are not touched.
 */
export const bundle = setUpModule({
  name: 'bundle',
  kind: 'code',
  form,
  description: "A folder of the submitter's that every host gets; the command starts in it. false: none.",
  example: 'such as bundle: . , the folder of the job file',
  shortFor: 'dir',
  resolve: resolveBundle,
  localFiles: (spec) => [{ path: spec.dir, at: ['dir'], kind: 'bundle', packing: spec }],
  plan,
});

function resolveBundle(
  bundle: z.infer<ReturnType<typeof form>>,
  { report, modules, environments }: ResolveContext,
): BundleSpec | undefined {
  if (bundle === false) return undefined;
  const section = typeof bundle === 'string' ? { dir: bundle } : bundle;
  const dir = given(section.dir);
  if (dir === undefined) report.missing(['bundle', 'dir'], 'such as dir: . , the folder of the job file');
  const install = given(section.install);
  if (install !== undefined && environments.some(({ kind }) => kind === 'container')) {
    const message = 'the command runs in an image, and what is installed on the host is not in it';
    report.problem(['bundle', 'install'], install, message, 'put it before the command, or into the image');
  }
  const environment = environments.find(({ kind }) => kind === 'shell')?.name;
  if (install !== undefined && environment !== undefined && modules.indexOf('bundle') < modules.indexOf(environment)) {
    const message = `bundle stands before ${environment} in setup.modules, and is installed into it`;
    report.problem(
      ['bundle', 'install'],
      install,
      message,
      `put bundle behind ${environment}, or leave it out of the list`,
    );
  }
  const exclude = given(section.exclude);
  return {
    dir: dir ?? '',
    ...(exclude === undefined ? {} : { exclude }),
    ...(section.gitignore === false ? { withIgnored: true } : {}),
    ...(install === undefined ? {} : { install }),
  };
}

// Plan ---------------------------------------------------------------------------------------------------------------

function plan({ dir, install }: BundleSpec, sources: PlanSources): ModulePlan {
  const archive = submittedFile(sources, bundleOf(dir), `bundle: the content of '${dir}'`);
  const { environment } = sources;
  if (install === undefined)
    return {
      name: 'bundle',
      fingerprint: fingerprintOf(sources, FORMAT, archive.sha256),
      check: CHECK,
      steps: [unpackStep(archive)],
    };
  const fingerprint = fingerprintOf(sources, FORMAT, archive.sha256, install, environment?.fingerprint ?? '');
  const mark = environment && `${environment.folder}/.jobctl-bundle`;
  return {
    name: 'bundle',
    fingerprint,
    check: mark === undefined ? CHECK : `[ "$(cat ${mark})" = ${fingerprint} ] || exit 1\n${CHECK}`,
    steps: [unpackStep(archive), ...installSteps(install, environment?.enter), ...markSteps(mark, fingerprint)],
  };
}

/**
 * Lines in front of a user's script: they set `$JOBCTL_BUNDLE_DIR`, and enter the bundle if `isEntered`.
 * @param place the bundle's path, as that script sees it
 */
export function enterBundle(place: string, isEntered: boolean): string {
  const enter = isEntered ? 'cd "$JOBCTL_BUNDLE_DIR" || exit 126\n' : '';
  return `export JOBCTL_BUNDLE_DIR=${shellPath(place)}\n${enter}`;
}

const WORK = '"$HOME/.jobctl/modules"';
const ARCHIVE = '.jobctl/modules/bundle.tar.gz';

/** Compares all files by SHA-256 and all links by their targets. */
const CHECK = `m=${WORK}
cd ${shellPath(BUNDLE_PLACE)} || exit 1
cut -z -b 67- "$m/bundle.sums" | xargs -0 -r sha256sum -z -- | cmp -s - "$m/bundle.sums" || exit 1
xargs -0 -r -a "$m/bundle.links" readlink -z -- | cmp -s - "$m/bundle.targets"
`;

/**
 * Names in the lists end with NUL, because they may hold any other character. Lines of `sums` are `SUM  NAME`. Files get the
 * current time, because the archive carries no times.
 */
const UNPACK = `${ANOTHER_SECOND}export LC_ALL=C
m=${WORK}
place=${shellPath(BUNDLE_PLACE)}
new=$m/bundle.new
another_second "$m/bundle.sums" "$new" || exit 1
# A bundle that a service made may hold folders without write permission.
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
# Removes files of the previous bundle that this one does not have, and folders that become empty.
# If the command replaced a folder by a link, the files behind that link are not the bundle's.
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

# Moves aside what the command put in the bundle's way: a folder where the bundle has a file, a file or link where it has a folder.
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

function unpackStep({ content, sha256 }: SubmittedFile): ModuleStep {
  const files = [{ path: ARCHIVE, content, mode: 0o600 }];
  // A large archive was copied there for this step. The next bundle has another one.
  const removeCopy = `rm -f "$HOME"/${shellQuote(`.jobctl/files/${sha256}`)}\n`;
  return { name: 'unpack', files, script: `${UNPACK}${removeCopy}` };
}

function installSteps(install: string, enter: string | undefined): readonly ModuleStep[] {
  const environment = enter === undefined ? '' : `${enter} || exit 126\n`;
  return [{ name: 'install', script: `${enterBundle(BUNDLE_PLACE, true)}${environment}${PIPEFAIL}${install}` }];
}

const markSteps = (mark: string | undefined, fingerprint: string): readonly ModuleStep[] =>
  mark === undefined ? [] : [{ name: 'mark', script: `echo ${fingerprint} > ${mark}\n` }];

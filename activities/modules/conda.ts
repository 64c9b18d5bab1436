import { posix } from 'node:path';
import type { ModuleFile, ModulePlan, ModuleStep } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/file-source.js';
import type { CondaSpec } from '../../domain/setup-spec.js';
import { shellPath, shellQuote, shellWords } from '../../domain/shell-quote.js';
import { contentHashOf, fingerprintOf } from './fingerprint.js';
import type { ModuleFiles } from './sources.js';

const FORMAT = 1;

/**
 * A conda environment: of a file of the submitter's, of a version of Python, or both, with packages by pip. An environment that
 * this module made is made anew when anything it depends on changed; one that was there before is kept and brought up to date.
 * @throws RangeError where the spec names a file and its content is missing.
 */
export function condaModule(spec: CondaSpec, files: ModuleFiles): ModulePlan {
  const { configFile, requirements } = spec;
  const config = configFile === undefined ? undefined : landing(configFile, 'config_file', files);
  const listed = requirements && 'file' in requirements ? landing(requirements.file, 'requirements', files) : undefined;
  const packages = requirements && 'packages' in requirements ? requirements.packages : undefined;
  const contents = [config, listed].map((file) => file && [file.path, contentHashOf(file.content)]);
  const steps: ModuleStep[] = [
    { name: 'install', script: INSTALL },
    { name: 'environment', script: environmentScript(spec, config), ...(config ? { files: [config] } : {}) },
  ];
  if (listed) steps.push(pipStep(`-r ${shellPath(`~/${listed.path}`)}`, [listed]));
  if (packages) steps.push(pipStep(`-- ${shellWords(packages)}`, []));
  return {
    name: 'conda',
    fingerprint: fingerprintOf(FORMAT, spec.name, spec.python ?? '', packages ?? [], contents),
    check: `prefix=$(cat ${PREFIX}) && [ -d "$prefix" ] || exit 1
[ ! -f ${HAS_PYTHON} ] || "$prefix/bin/python" -c 'import sys'
`,
    steps,
  };
}

/** Where it lands: the login user's home, under its base name. */
function landing(path: string, key: string, files: ModuleFiles): ModuleFile {
  const content: Buffer | FileSource | undefined = files.get(path);
  if (content === undefined) throw new RangeError(`conda: the content of ${key} '${path}' was not given`);
  return { path: posix.basename(path), content, mode: 0o644 };
}

/** Where conda itself is, and the environment; the user's command enters the one by the other. */
const BASE = '"$HOME/.jobctl/modules/conda.base"';
const PREFIX = '"$HOME/.jobctl/modules/conda.prefix"';

/** There where the environment has a Python, as most have. */
const HAS_PYTHON = '"$HOME/.jobctl/modules/conda.has-python"';

/** The shell line that enters the environment, for the user's command. In its own shell, so that signals and output are direct. */
export function activateConda(name: string): string {
  return `. "$(cat ${BASE})/bin/activate" ${shellQuote(name)}`;
}

/** A word of the shell: the folder of the environment. */
export const condaFolder = `"$(cat ${PREFIX})"`;

/** JOBCTL_MINICONDA_URL in the host's login environment names a mirror. */
const INSTALL = `url=\${JOBCTL_MINICONDA_URL:-https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-$(uname -m).sh}
find_conda() {
  for conda in "$HOME/miniconda/bin/conda" "$HOME/miniconda3/bin/conda" /opt/conda/bin/conda "$(command -v conda)"; do
    [ -x "$conda" ] && "$conda" --version && return
  done
  return 1
}
if ! find_conda; then
  echo "conda: installing Miniconda into ~/miniconda, from $url"
  installer=$HOME/.jobctl/modules/miniconda.sh
  curl -fsSL --retry 3 -o "$installer" "$url" || exit 1
  rm -rf -- "$HOME/miniconda" && bash "$installer" -b -p "$HOME/miniconda" && rm -f "$installer" && find_conda || exit 1
fi
base=$("$conda" info --base) && printf '%s\\n' "$base" > ${BASE}
`;

/** `owned` lists the environments that this module made: only these are ever deleted, so a half-made one is known too. */
function environmentScript({ name, python }: CondaSpec, config: ModuleFile | undefined): string {
  const environment = shellQuote(name);
  const version = python === undefined ? '' : ` ${shellQuote(`python=${python}`)}`;
  const file = config === undefined ? '' : shellPath(`~/${config.path}`);
  const make =
    file === '' ? `"$conda" create -y -n "$name"${version || ' python'}` : `"$conda" env create -n "$name" -f ${file}`;
  const update = file === '' ? 'true' : `"$conda" env update -n "$name" -f ${file}`;
  const pin = file === '' || version === '' ? 'true' : `"$conda" install -y -n "$name"${version}`;
  return `base=$(cat ${BASE}) || exit 1
conda=$base/bin/conda
[ -x "$conda" ] || conda=$(command -v conda)
name=${environment}
owned=$HOME/.jobctl/modules/conda.owned
exists() { "$conda" env list | awk '{ print $1 }' | grep -qxF -e "$name"; }
rm -f ${PREFIX}
if exists && grep -qsxF -e "$name" "$owned"; then
  echo "conda: making $name anew"
  "$conda" env remove -y -n "$name" || exit 1
fi
if exists; then
  echo "conda: $name was there before; it is kept and brought up to date"
  ${update} || exit 1
else
  grep -qsxF -e "$name" "$owned" || printf '%s\\n' "$name" >> "$owned" || exit 1
  ${make} || exit 1
fi
${pin} || exit 1
. "$base/bin/activate" "$name" && [ -n "$CONDA_PREFIX" ] || exit 1
rm -f ${HAS_PYTHON}
[ ! -x "$CONDA_PREFIX/bin/python" ] || : > ${HAS_PYTHON} || exit 1
printf '%s\\n' "$CONDA_PREFIX" > ${PREFIX}
`;
}

function pipStep(what: string, files: readonly ModuleFile[]): ModuleStep {
  const script = `prefix=$(cat ${PREFIX}) && . "$(cat ${BASE})/bin/activate" "$prefix" || exit 1
exec python -m pip install --disable-pip-version-check --no-input ${what}
`;
  return { name: 'requirements', script, ...(files.length === 0 ? {} : { files }) };
}

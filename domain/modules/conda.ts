import { z } from 'zod';
import { flag, scalarText, section, text, texts } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { baseName, type LocalFile } from '../local-files.js';
import { shellPath, shellQuote, shellWords } from '../shell-quote.js';
import {
  fingerprintOf,
  type ModuleFile,
  type ModulePlan,
  type ModuleStep,
  type PlanSources,
  setUpModule,
  submittedFile,
} from './module.js';

export interface CondaSpec {
  readonly name: string;
  /** A file of the submitter: environment.yml. */
  readonly configFile?: string;
  /** Such as `3.10`. */
  readonly python?: string;
  /** Packages for pip, or the submitter's file that lists them. */
  readonly requirements?: { readonly file: string } | { readonly packages: readonly string[] };
}

const form = () =>
  section({
    name: text().nullish(),
    env_name: text().nullish(),
    config_file: text().nullish(),
    yaml_file: text().nullish(),
    enabled: flag().nullish(),
    python: scalarText().nullish(),
    requirements: z.union([text(), texts()], { error: 'text or a list of texts' }).nullish(),
  });
type CondaSection = z.infer<ReturnType<typeof form>>;

/** Files on the host that hold the places of conda itself and of the environment. */
const BASE = '"$HOME/.jobctl/modules/conda.base"';
const PREFIX = '"$HOME/.jobctl/modules/conda.prefix"';
/** A file that exists if the environment has a Python, which most do. */
const HAS_PYTHON = '"$HOME/.jobctl/modules/conda.has-python"';

const FORMAT = 1;

/**
 * A conda environment, made from a file of the submitter, a version of Python, or both, with further packages by pip. If anything
 * that it depends on changed, an environment made by this module is made anew. One that existed before is updated.
 */
export const conda = setUpModule({
  name: 'conda',
  kind: 'environment',
  form,
  example: 'such as conda: {name: train, config_file: environment.yml}',
  keptAsWritten: ['python'],
  resolve: (section, { report }) => resolveConda(section, report),
  localFiles,
  plan,
  // Entered in the command's own shell, so that signals and output are direct.
  environment: {
    kind: 'shell',
    enter: ({ name }) => `. "$(cat ${BASE})/bin/activate" ${shellQuote(name)}`,
    folder: () => `"$(cat ${PREFIX})"`,
  },
});

/** Takes `name` and `config_file` of JobMan v2, or `env_name` and `yaml_file` (only with `enabled: true`) of v1. */
function resolveConda(section: CondaSection, report: Report): CondaSpec {
  const name = section.name ?? section.env_name;
  if (!name) report.missing(['conda', 'name'], 'such as name: train');
  else if (!/^[\w.-]+$/.test(name)) {
    report.wrong(
      ['conda', section.name ? 'name' : 'env_name'],
      name,
      'no name of an environment',
      'letters, digits, . _ -',
    );
  }
  if (section.enabled === false && section.yaml_file)
    report.warn(['conda', 'yaml_file'], 'is not used, as with JobMan: enabled is false');
  const configFile = section.config_file ?? (section.enabled === false ? undefined : section.yaml_file);
  const python = condaPython(section, report);
  const requirements = condaRequirements(section, report);
  return {
    name: name ?? '',
    ...(configFile ? { configFile } : {}),
    ...(python === undefined ? {} : { python }),
    ...(requirements === undefined ? {} : { requirements }),
  };
}

/** The bare version, for conda's `python=3.10`. */
function condaPython({ python }: CondaSection, report: Report): string | undefined {
  if (python === null || python === undefined) return undefined;
  const version = String(python).replace(/^python/, '');
  if (!/^\d+(\.\d+){0,2}$/.test(version))
    report.wrong(['conda', 'python'], python, 'no version of Python', 'such as "3.11"');
  return version;
}

/** A single text that ends in .txt or .in is a file of the submitter. Other texts are packages: pip takes no option there. */
function condaRequirements({ requirements }: CondaSection, report: Report): CondaSpec['requirements'] {
  if (requirements === null || requirements === undefined) return undefined;
  if (typeof requirements === 'string' && /^[^-].*\.(txt|in)$/s.test(requirements)) return { file: requirements };
  const listed = typeof requirements === 'string' ? requirements.split(/\s+/) : requirements;
  const words = listed.map((each) => each.trim());
  for (const [index, word] of words.entries())
    if (word.startsWith('-'))
      report.wrong(
        ['conda', 'requirements', ...(typeof requirements === 'string' ? [] : [index])],
        word,
        'an option of pip, and no package',
        'write requirements: requirements.txt, and the option in that file; or bundle: {dir: ., install: pip install ..}',
      );
  const packages = words.filter((each) => each !== '');
  return packages.length === 0 ? undefined : { packages };
}

function localFiles({ configFile, requirements }: CondaSpec): readonly LocalFile[] {
  const single = (path: string | undefined, key: string): LocalFile[] =>
    path === undefined ? [] : [{ path, at: [key], kind: 'text' }];
  const listed = requirements && 'file' in requirements ? requirements.file : undefined;
  return [...single(configFile, 'config_file'), ...single(listed, 'requirements')];
}

// Plan ---------------------------------------------------------------------------------------------------------------

function plan(spec: CondaSpec, sources: PlanSources): ModulePlan {
  const { configFile, requirements } = spec;
  const config = configFile === undefined ? undefined : homeFile(configFile, 'config_file', sources);
  const listed =
    requirements && 'file' in requirements ? homeFile(requirements.file, 'requirements', sources) : undefined;
  const packages = requirements && 'packages' in requirements ? requirements.packages : undefined;
  const contents = [config, listed].map((file) => file && [file.file.path, file.sha256]);
  const steps: ModuleStep[] = [
    { name: 'install', script: INSTALL },
    { name: 'environment', script: environmentScript(spec, config?.file), ...(config ? { files: [config.file] } : {}) },
  ];
  if (listed) steps.push(pipStep(`-r ${shellPath(`~/${listed.file.path}`)}`, [listed.file]));
  if (packages) steps.push(pipStep(`-- ${shellWords(packages)}`, []));
  return {
    name: 'conda',
    fingerprint: fingerprintOf(sources, FORMAT, spec.name, spec.python ?? '', packages ?? [], contents),
    check: `prefix=$(cat ${PREFIX}) && [ -d "$prefix" ] || exit 1
[ ! -f ${HAS_PYTHON} ] || "$prefix/bin/python" -c 'import sys'
`,
    steps,
  };
}

/** A file of the submitter, for the login user's home under its base name. */
function homeFile(path: string, key: string, sources: PlanSources): { file: ModuleFile; sha256: string } {
  const { content, sha256 } = submittedFile(sources, path, `conda: the content of ${key} '${path}'`);
  return { file: { path: baseName(path), content, mode: 0o644 }, sha256 };
}

/** JOBCTL_MINICONDA_URL in the host's login environment names a mirror of the installer. */
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

/** `owned` lists the environments that this module made. Each is listed before it is made, and only these are ever deleted. */
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

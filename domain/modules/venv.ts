import type { z } from 'zod';
import { given, scalarText, section, text } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { baseName } from '../local-files.js';
import { shellPath, shellQuote } from '../shell-quote.js';
import { APT_FUNCTIONS } from './host-scripts.js';
import {
  fingerprintOf,
  type ModulePlan,
  type ModuleStep,
  type PlanSources,
  setUpModule,
  submittedFile,
  type SubmittedFile,
} from './module.js';

export interface VenvSpec {
  /** Path on the host: `~/NAME`, or the path given. */
  readonly path: string;
  readonly python: string;
  readonly requirementsFile?: string;
}

const form = () =>
  section({
    name: text().nullish().describe('The environment is ~/NAME on the host.'),
    path: text().nullish().describe('The same, as a path.'),
    requirements_file: text().nullish().describe("A file of the submitter's, for pip install -r."),
    python: scalarText().nullish().describe('python3.10 or "3.10".'),
  });

/** Raised when the scripts change so that environments made by older ones no longer fit. */
const FORMAT = 1;

/**
 * A Python virtual environment on the host, with the requirements installed. If anything that it depends on changed, a folder
 * made by this module is made anew. A folder that existed before is kept and completed.
 */
export const venv = setUpModule({
  name: 'venv',
  kind: 'environment',
  form,
  example: 'such as venv: {name: train, requirements_file: requirements.txt}',
  keptAsWritten: ['python'],
  resolve: (section, { report }) => resolveVenv(section, report),
  localFiles: ({ requirementsFile }) =>
    requirementsFile === undefined ? [] : [{ path: requirementsFile, at: ['requirements_file'], kind: 'text' }],
  plan,
  environment: {
    kind: 'shell',
    enter: ({ path }) => `. ${shellPath(path)}/bin/activate`,
    folder: ({ path }) => shellPath(path),
  },
});

const DEFAULT_PYTHON = 'python3';
const PYTHON = /^(?:\/[\w./-]+|(?:python)?(?:\d+(?:\.\d+){0,2})?)$/;

function resolveVenv(section: z.infer<ReturnType<typeof form>>, report: Report): VenvSpec {
  if (section.name && section.path)
    report.problem(['venv', 'path'], section.path, 'name and path are both given', 'keep one of them');
  const name = given(section.name);
  if (name !== undefined && !/^[\w.-]+$/.test(name)) {
    report.wrong(
      ['venv', 'name'],
      name,
      'no name of a directory',
      'the environment is made at ~/NAME; write path: for another place',
    );
  }
  const path = section.path ?? (name === undefined ? undefined : `~/${name}`);
  if (path === undefined && !report.wasDropped(['venv', 'name']) && !report.wasDropped(['venv', 'path'])) {
    report.missing(['venv', 'name'], 'such as name: train, which is ~/train on the host');
  }
  const requirementsFile = given(section.requirements_file);
  return {
    path: path ?? '',
    python: resolvePython(section.python, report),
    ...(requirementsFile === undefined ? {} : { requirementsFile }),
  };
}

/** `3.10`, `"3.10"` and `python3.10` are `python3.10`; a path stays. */
function resolvePython(python: string | number | boolean | null | undefined, report: Report): string {
  if (python === null || python === undefined) return DEFAULT_PYTHON;
  const text = String(python);
  const isVersion = /^\d/.test(text);
  if (!PYTHON.test(text))
    report.wrong(['venv', 'python'], python, 'no Python', 'such as python3.11, "3.11" or /usr/bin/python3.11');
  if (python === 3.1) report.wrong(['venv', 'python'], python, 'Python 3.1', 'for 3.10 write it in quotes: "3.10"');
  return isVersion ? `python${text}` : text;
}

// Plan ---------------------------------------------------------------------------------------------------------------

function plan(spec: VenvSpec, sources: PlanSources): ModulePlan {
  const { requirementsFile } = spec;
  const requirements =
    requirementsFile === undefined
      ? undefined
      : submittedFile(sources, requirementsFile, `venv: the content of requirements_file '${requirementsFile}'`);
  const python = pythonProgram(spec.python);
  const name = requirementsFile === undefined ? '' : baseName(requirementsFile);
  const steps: ModuleStep[] = [{ name: 'create', script: createScript(spec.path, python) }];
  if (requirements) steps.push(installStep(spec.path, name, requirements));
  return {
    name: 'venv',
    fingerprint: fingerprintOf(sources, FORMAT, spec.path, python, name, requirements?.sha256 ?? 'none'),
    check: `v=${shellPath(spec.path)}\n[ -f "$v/bin/activate" ] && "$v/bin/python" -c 'import sys'\n`,
    steps,
  };
}

/** Job files write both `3.9` and `python3.9` (docs/facts.md, "Predecessors"). */
function pythonProgram(python: string): string {
  return /^\d/.test(python) ? `python${python}` : python;
}

/** `owned` lists the folders that this module made. Each is listed before it is made, and only these are ever deleted. */
function createScript(path: string, python: string): string {
  return `v=${shellPath(path)}
python=${shellQuote(python)}
owned=$HOME/.jobctl/modules/venv.owned
if grep -qsxF -e "$v" "$owned"; then
  echo "venv: making $v anew"
  rm -rf -- "$v" || exit 1
elif [ ! -e "$v" ]; then
  printf '%s\\n' "$v" >> "$owned" || exit 1
else
  echo "venv: $v was there before; it is kept and completed"
fi
if command -v uv > /dev/null; then
  [ -e "$v/bin/python" ] || exec uv venv --seed --python "$python" -- "$v"
  exit 0
fi
if ! "$python" -c '' 2> /dev/null; then
  echo "venv: $python does not run on this host, and neither is uv. Installed: $(cd /usr/bin && ls -d python3* 2> /dev/null | tr '\\n' ' ')" >&2
  echo "venv: choose one of these in 'venv.python', or a runtime version that has it" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip' 2> /dev/null; then
${INSTALL_ENSUREPIP}
fi
exec "$python" -m venv -- "$v"
`;
}

/** Ubuntu leaves ensurepip out of its Python packages. */
const INSTALL_ENSUREPIP = `${APT_FUNCTIONS}
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "venv: $python has no ensurepip; installing python$version-venv"
  apt_install "python$version-venv" || exit 1`;

/**
 * Uses `--no-compile`, uv's default: Python compiles a module at its first import. For jax[cpu] that saves 8.7 s of pip's 12.8 s
 * of processor time and adds 1.4 s to the first import.
 * @param name the file's name in the login user's home
 */
function installStep(path: string, name: string, { content }: SubmittedFile): ModuleStep {
  return {
    name: 'requirements',
    files: [{ path: name, content, mode: 0o644 }],
    script: `v=${shellPath(path)}
file=${shellPath(`~/${name}`)}
if command -v uv > /dev/null; then exec uv pip install --python "$v/bin/python" -r "$file"; fi
exec "$v/bin/python" -m pip install --no-compile --disable-pip-version-check --no-input -r "$file"
`,
  };
}

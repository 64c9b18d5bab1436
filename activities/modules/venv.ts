import { posix } from 'node:path';
import type { ModulePlan, ModuleStep } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/file-source.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { shellPath, shellQuote } from '../../domain/shell-quote.js';
import { APT_FUNCTIONS } from './apt-install.js';
import { contentHashOf, fingerprintOf } from './fingerprint.js';

export type VenvSpec = NonNullable<JobSpec['venv']>;

/** Raised when the scripts below change in a way that makes what the older ones made unfit. */
const FORMAT = 1;

/**
 * A Python virtual environment at `spec.path` on the host, with the requirements installed. A folder that was made by
 * this module is made anew when anything it depends on changed; one that was there before is kept and completed.
 * @param requirements content of `spec.requirementsFile`; it lands in the login user's home under its base name.
 * @throws RangeError where the spec names a requirements file and its content is missing.
 */
export function venvModule(spec: VenvSpec, requirements?: Buffer | FileSource): ModulePlan {
  const { requirementsFile } = spec;
  if (requirementsFile !== undefined && requirements === undefined) {
    throw new RangeError(`venv: the content of requirements_file '${requirementsFile}' was not given`);
  }
  const python = pythonProgram(spec.python);
  const steps: ModuleStep[] = [{ name: 'create', script: createScript(spec.path, python) }];
  if (requirementsFile !== undefined && requirements)
    steps.push(installStep(spec.path, requirementsFile, requirements));
  const content = requirements ? contentHashOf(requirements) : 'none';
  const name = requirementsFile ? posix.basename(requirementsFile) : '';
  return {
    name: 'venv',
    fingerprint: fingerprintOf(FORMAT, spec.path, python, name, content),
    check: `v=${shellPath(spec.path)}\n[ -f "$v/bin/activate" ] && "$v/bin/python" -c 'import sys'\n`,
    steps,
  };
}

/** The shell line that puts a venv's programs first, for the user's command. */
export function activateLine(path: string): string {
  return `. ${shellPath(path)}/bin/activate`;
}

/** `3.9` and `python3.9` are both in use in job files (facts/predecessors.md 1.1). */
function pythonProgram(python: string): string {
  return /^\d/.test(python) ? `python${python}` : python;
}

/** `owned` lists the folders that this module made: only these are ever deleted, so a half-made one is known too. */
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

/** Ubuntu takes ensurepip out of its Pythons. dpkg's lock is waited for, since a fresh VM updates itself at first. */
const INSTALL_ENSUREPIP = `${APT_FUNCTIONS}
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "venv: $python has no ensurepip; installing python$version-venv"
  apt_install "python$version-venv" || exit 1`;

/**
 * `--no-compile`, as uv does by default: Python compiles what a program imports, when it does. With jax[cpu] that takes 8.7 s
 * off pip's 12.8 s of processor time, and adds 1.4 s to the first import.
 */
function installStep(path: string, requirementsFile: string, requirements: Buffer | FileSource): ModuleStep {
  const name = posix.basename(requirementsFile);
  return {
    name: 'requirements',
    files: [{ path: name, content: requirements, mode: 0o644 }],
    script: `v=${shellPath(path)}
file=${shellPath(`~/${name}`)}
if command -v uv > /dev/null; then exec uv pip install --python "$v/bin/python" -r "$file"; fi
exec "$v/bin/python" -m pip install --no-compile --disable-pip-version-check --no-input -r "$file"
`,
  };
}

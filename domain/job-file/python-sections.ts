import type { JobSpec } from '../job-spec.js';
import type { CondaSpec } from '../setup-spec.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

const DEFAULT_PYTHON = 'python3';
const PYTHON = /^(\/[\w./-]+|python)?(\d+(\.\d+){0,2})?$/;

export function resolveVenv(file: JobFile, report: Report): JobSpec['venv'] {
  const form = given(file.venv);
  if (form === undefined) return undefined;
  if (form.name && form.path)
    report.problem(['venv', 'path'], form.path, 'name and path are both given', 'keep one of them');
  const name = given(form.name);
  if (name !== undefined && !/^[\w.-]+$/.test(name)) {
    report.wrong(
      ['venv', 'name'],
      name,
      'no name of a directory',
      'the environment is made at ~/NAME; write path: for another place',
    );
  }
  const path = form.path ?? (name === undefined ? undefined : `~/${name}`);
  if (path === undefined && !report.wasDropped(['venv', 'name']) && !report.wasDropped(['venv', 'path'])) {
    report.missing(['venv', 'name'], 'such as name: train, which is ~/train on the host');
  }
  const requirementsFile = given(form.requirements_file);
  return {
    path: path ?? '',
    python: resolvePython(form.python, report),
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

type CondaForm = NonNullable<JobFile['conda']>;

/** The later JobMan's `name` and `config_file`, or the first one's `env_name` and `yaml_file` (with `enabled: true` only). */
export function resolveConda(file: JobFile, report: Report): JobSpec['conda'] {
  const form = given(file.conda);
  if (form === undefined) return undefined;
  const name = form.name ?? form.env_name;
  if (!name) report.missing(['conda', 'name'], 'such as name: train');
  else if (!/^[\w.-]+$/.test(name)) {
    report.wrong(
      ['conda', form.name ? 'name' : 'env_name'],
      name,
      'no name of an environment',
      'letters, digits, . _ -',
    );
  }
  if (form.enabled === false && form.yaml_file)
    report.warn(['conda', 'yaml_file'], 'is not used, as with JobMan: enabled is false');
  const configFile = form.config_file ?? (form.enabled === false ? undefined : form.yaml_file);
  const python = condaPython(form, report);
  const requirements = condaRequirements(form);
  return {
    name: name ?? '',
    ...(configFile ? { configFile } : {}),
    ...(python === undefined ? {} : { python }),
    ...(requirements === undefined ? {} : { requirements }),
  };
}

/** The version alone, as conda's `python=3.10` wants it. */
function condaPython({ python }: CondaForm, report: Report): string | undefined {
  if (python === null || python === undefined) return undefined;
  const version = String(python).replace(/^python/, '');
  if (!/^\d+(\.\d+){0,2}$/.test(version))
    report.wrong(['conda', 'python'], python, 'no version of Python', 'such as "3.11"');
  return version;
}

/** One text that ends in .txt is a file of the submitter's; other texts are packages. */
function condaRequirements({ requirements }: CondaForm): CondaSpec['requirements'] {
  if (requirements === null || requirements === undefined) return undefined;
  if (typeof requirements === 'string' && /\.(txt|in)$/.test(requirements)) return { file: requirements };
  const packages = typeof requirements === 'string' ? requirements.split(/\s+/) : requirements;
  return packages.length === 0 ? undefined : { packages: packages.filter((text) => text !== '') };
}

import type { JobSpec } from '../job-spec.js';
import type { Path } from '../problem.js';
import { splitShellWords } from '../shell-words.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

/** Image, and what `docker run` gets beside it. */
export function resolveDocker(file: JobFile, report: Report): JobSpec['docker'] {
  const form = given(file.docker);
  if (form === undefined) return undefined;
  const image = given(form.image);
  if (image === undefined) report.missing(['docker', 'image'], 'such as image: python:3.12-slim');
  else checkImage(image, report);
  if (form.workdir && form.work_dir)
    report.problem(['docker', 'work_dir'], form.work_dir, 'workdir and work_dir are both given', 'keep workdir');
  const workdir = form.workdir ?? form.work_dir;
  return {
    image: image ?? '',
    flags: (form.flags ?? []).flatMap((text, index) => words(text, ['docker', 'flags', index], report)),
    mounts: (form.mount_dirs ?? []).map((text, index) => checkedMount(text, ['docker', 'mount_dirs', index], report)),
    ...(workdir ? { workdir } : {}),
    env: Object.fromEntries(
      (form.env_vars ?? []).map((text, index) => variable(text, ['docker', 'env_vars', index], report)),
    ),
  };
}

/** Distribution's grammar of references (github.com/distribution/reference, reference.go): host, path, tag, digest. */
const HOST = String.raw`(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+(?::\d+)?|[A-Za-z0-9-]+:\d+|localhost)`;
const COMPONENT = String.raw`[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*`;
const REFERENCE = new RegExp(
  String.raw`^(?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

function checkImage(image: string, report: Report): void {
  if (REFERENCE.test(image)) return;
  const hints: readonly (readonly [RegExp, string])[] = [
    [/^(https?|docker):\/\//, 'without the scheme: host/path:tag'],
    [/\s/, 'without blanks'],
    [/@sha256:(?![0-9a-f]{64}$)/, 'a digest is sha256: and 64 hex digits'],
    [/[A-Z](?=.*[:@]|[^:@]*$)/, 'the path is in small letters; capitals only in the tag'],
  ];
  const hint = hints.find(([mark]) => mark.test(image))?.[1] ?? 'host/path:tag or host/path@sha256:..';
  report.wrong(['docker', 'image'], image, 'no reference to an image', hint);
}

function words(text: string, path: Path, report: Report): readonly string[] {
  const split = splitShellWords(text);
  if (split === undefined)
    report.wrong(path, text, 'not closed: a quote is missing', 'flags are split as a shell would');
  return split ?? [];
}

function checkedMount(text: string, path: Path, report: Report): string {
  const [source = '', target = source, ...options] = text.split(':');
  if (!/^(\/|~(\/|$))/.test(source) || !/^(\/|~(\/|$))/.test(target) || options.length > 1) {
    report.wrong(path, text, 'no mount', '/dir, or /on/host:/in/container, or /on/host:/in/container:ro');
  }
  return text;
}

function variable(text: string, path: Path, report: Report): readonly [string, string] {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (at === -1) report.wrong(path, text, 'no NAME=value', 'what the command is to have from outside goes into env');
  else if (!/^[A-Za-z_]\w*$/.test(name))
    report.wrong(path, text, 'no NAME=value', 'a name has letters, digits and _; no digit first');
  return [name, text.slice(at + 1)];
}

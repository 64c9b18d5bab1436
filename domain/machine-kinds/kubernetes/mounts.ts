import { given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { Path } from '../../problem.js';
import { isQuantity, OBJECT_NAME, OBJECT_NAME_RULE, QUANTITY_RULE } from './names.js';
import type { PodForm } from './pod-form.js';
import type { MountedSecret, MountedVolume } from './words.js';

/** The section being resolved, for the paths of problems. */
export interface Place {
  readonly section: string;
  readonly report: Report;
}

/** The agent's folder. */
export const AGENT_FOLDER = '/jobctl';

export function resolveSecrets({ secrets }: PodForm, { section, report }: Place): readonly MountedSecret[] {
  return (secrets ?? []).map(({ name, mount_path }, index) => {
    const path = [section, 'secrets', index];
    return {
      name: nameOf(name, [...path, 'name'], report),
      mountPath: mountPath(mount_path, [...path, 'mount_path'], report),
    };
  });
}

export function resolveVolumes(form: PodForm, place: Place): readonly MountedVolume[] {
  const volumes = (form.volumes ?? []).map((volume, index) => resolveVolume(volume, index, place));
  const seen = new Set((form.secrets ?? []).map(({ mount_path }) => mount_path));
  volumes.forEach(({ mountPath: folder }, index) => {
    if (seen.has(folder))
      place.report.wrong(
        [place.section, 'volumes', index, 'mount_path'],
        folder,
        'mounted twice',
        'each needs a folder alone',
      );
    seen.add(folder);
  });
  return volumes;
}

function resolveVolume(
  form: NonNullable<PodForm['volumes']>[number],
  index: number,
  { section, report }: Place,
): MountedVolume {
  const path = [section, 'volumes', index];
  const folder = mountPath(form.mount_path, [...path, 'mount_path'], report);
  const emptyDir = form.empty_dir === false ? undefined : given(form.empty_dir);
  const sources = [given(form.claim), emptyDir, given(form.host_path)].filter((source) => source !== undefined);
  if (sources.length !== 1)
    report.problem(path, form, `names ${sources.length} of claim, empty_dir and host_path`, 'a volume is one of them');
  const { medium, size } = typeof emptyDir === 'object' ? emptyDir : {};
  if (size && !isQuantity(size)) report.wrong([...path, 'empty_dir', 'size'], size, 'no quantity', QUANTITY_RULE);
  const { claim, host_path } = form;
  nameInCluster(claim, [...path, 'claim'], report);
  if (host_path && !ABSOLUTE.test(host_path))
    report.wrong([...path, 'host_path'], host_path, 'no absolute path', 'such as /mnt/data');
  return {
    mountPath: folder,
    ...(claim ? { claim } : {}),
    ...(emptyDir === undefined ? {} : { emptyDir: { medium: medium ?? 'disk', ...(size ? { size } : {}) } }),
    ...(host_path ? { hostPath: host_path } : {}),
    ...(form.read_only ? { readOnly: true as const } : {}),
  };
}

const ABSOLUTE = /^\/[^:]*$/;

function mountPath(value: string | null | undefined, path: Path, report: Report): string {
  const folder = given(value);
  if (folder === undefined) report.missing(path, 'an absolute path in the container, such as /mnt/data');
  else if (!ABSOLUTE.test(folder) || folder === '/')
    report.wrong(path, folder, 'no absolute path without a colon', 'such as /mnt/data');
  else if (folder === AGENT_FOLDER || folder.startsWith(`${AGENT_FOLDER}/`))
    report.wrong(path, folder, "where jobctl's agent lies", 'take another folder');
  return folder ?? '';
}

function nameOf(value: string | null | undefined, path: Path, report: Report): string {
  const name = nameInCluster(value, path, report);
  if (name === undefined) report.missing(path, 'the name of an object in the namespace');
  return name ?? '';
}

/** The name of an object that jobctl did not make, if one is given. */
export function nameInCluster(value: string | null | undefined, path: Path, report: Report): string | undefined {
  const name = given(value);
  if (name !== undefined && !OBJECT_NAME.test(name))
    report.wrong(path, name, 'no name in Kubernetes', OBJECT_NAME_RULE);
  return name;
}

import { namesIn, referenceHint, regionOf, RESOURCE_NAME } from './cloud-path.js';
import { given } from './plain-values.js';
import type { Report } from './report.js';
import type { TpuForm } from './tpu-form.js';

const NETWORK_FORMS = "a network's name such as default, or of a Shared VPC projects/HOST_PROJECT/global/networks/NAME";
const SUBNETWORK_FORMS =
  "a subnetwork's name, or of a Shared VPC projects/HOST_PROJECT/regions/REGION/subnetworks/NAME";

/** Network, subnetwork and tags. A short name is looked for in the job's own Google project, a path's in that one's. */
export function resolveNetwork(
  tpu: TpuForm,
  zones: readonly string[],
  report: Report,
): { network: string | undefined; subnetwork: string | undefined; tags: readonly string[] } {
  const network = given(tpu.network);
  const subnetwork = given(tpu.subnetwork);
  const host = network === undefined ? undefined : namesIn(network, ['projects', 'global', 'networks']);
  if (network !== undefined && host === undefined && !RESOURCE_NAME.test(network))
    report.wrong(['tpu', 'network'], network, 'no network', referenceHint(network, NETWORK_FORMS));
  if (subnetwork !== undefined) checkSubnetwork(subnetwork, host?.projects, zones, report);
  return { network, subnetwork, tags: resolveTags(tpu, report) };
}

function checkSubnetwork(
  subnetwork: string,
  networkProject: string | undefined,
  zones: readonly string[],
  report: Report,
): void {
  const path = ['tpu', 'subnetwork'];
  const names = namesIn(subnetwork, ['projects', 'regions', 'subnetworks']);
  if (names === undefined) {
    if (!RESOURCE_NAME.test(subnetwork))
      report.wrong(path, subnetwork, 'no subnetwork', referenceHint(subnetwork, SUBNETWORK_FORMS));
    return;
  }
  const { projects, regions } = names;
  const elsewhere = zones.find((zone) => regionOf(zone) !== regions);
  if (elsewhere !== undefined) {
    const message = `lies in region ${regions}, and the job may run in zone ${elsewhere}`;
    report.problem(path, subnetwork, message, 'for zones of several regions write its name alone, the same in each');
  }
  if (networkProject !== undefined && networkProject !== projects) {
    const message = `is of project ${projects}, and the network is of project ${networkProject}`;
    report.problem(path, subnetwork, message, 'a subnetwork is a part of its network: name both of one project');
  }
}

/** Google's limit for network tags of an instance. */
const MAX_TAGS = 64;

function resolveTags(tpu: TpuForm, report: Report): readonly string[] {
  const tags = tpu.tags ?? [];
  tags.forEach((tag, index) => {
    if (RESOURCE_NAME.test(tag)) return;
    report.wrong(
      ['tpu', 'tags', index],
      tag,
      'no network tag',
      'small letters, digits and -; 63 at most; a letter first',
    );
  });
  if (tags.length > MAX_TAGS) report.problem(['tpu', 'tags'], tags, `has ${tags.length} tags`, `${MAX_TAGS} at most`);
  return tags;
}

import type { FirewallRule, PortRange } from '../../cloud/google-project/port.js';
import { type ProjectAnswers, type ZoneAnswers, hostsOf, networkOf, sectionOf, type Wanted } from './facts.js';
import { couldNotLook, failed, ok, warning } from './finding.js';
import type { Finding } from './finding.js';
import { regionOf } from '../../domain/job-file/cloud-path.js';
import { smallest } from '../../domain/extremes.js';

/** Checks whether hosts get addresses, and whether a worker can reach them by SSH. */

export function networkChecks(googleProject: string, answers: ProjectAnswers, wanted: Wanted): readonly Finding[] {
  const byRegion = [...new Map(answers.zones.map((zone) => [regionOf(zone.zone), zone]))];
  return [
    networkCheck(googleProject, answers, wanted),
    ...byRegion.flatMap(([region, zone]) => subnetworkChecks(region, zone, wanted)),
    firewallCheck(googleProject, answers, wanted),
    ...(wanted.externalIps ? [externalIpCheck(answers, wanted)] : []),
    ...(wanted.externalIps
      ? byRegion.flatMap(([region, zone]) => addressChecks(googleProject, region, zone, wanted))
      : []),
    osLoginCheck(answers),
  ];
}

function networkCheck(googleProject: string, { hasNetwork }: ProjectAnswers, wanted: Wanted): Finding {
  const check = 'network';
  const network = networkOf(wanted);
  if (!hasNetwork.known) return couldNotLook(check, hasNetwork);
  if (hasNetwork.value) return ok(check, `${network} is there`);
  const remedy = `name another (${sectionOf(wanted)}.network, --network), or run 'gcloud compute networks create ${network} --project=${googleProject}'`;
  return failed(check, `network ${network} does not exist in project ${googleProject}`, remedy);
}

function subnetworkChecks(region: string, { subnetwork }: ZoneAnswers, wanted: Wanted): readonly Finding[] {
  const check = `${region} subnetwork`;
  const name = wanted.subnetwork ?? networkOf(wanted);
  if (!subnetwork.known) return [couldNotLook(check, subnetwork)];
  const found = subnetwork.value;
  if (found === undefined) return [missingSubnetwork(check, region, name, wanted)];
  if (wanted.network !== undefined && !wanted.network.includes('/') && found.network !== wanted.network) {
    return [
      failed(check, `${name} is of network ${found.network}, not of ${wanted.network}`, 'name both of one network'),
    ];
  }
  if (wanted.externalIps) return [ok(check, `${name} of network ${found.network}`)];
  return [privateAccessCheck(check, region, name, found.hasPrivateGoogleAccess)];
}

function missingSubnetwork(check: string, region: string, name: string, wanted: Wanted): Finding {
  const remedy = `see 'gcloud compute networks subnets list --regions=${region}' and name one: ${sectionOf(wanted)}.subnetwork, --subnetwork`;
  return wanted.subnetwork === undefined
    ? warning(check, `no subnetwork is named, and ${networkOf(wanted)} has none called ${name} in ${region}`, remedy)
    : failed(check, `subnetwork ${name} does not exist in ${region}`, remedy);
}

/** Checks private Google access: hosts without external addresses reach Google's APIs and Cloud Storage in no other way. */
function privateAccessCheck(check: string, region: string, name: string, isOn: boolean): Finding {
  if (isOn) return ok(check, `${name} has private Google access (for PyPI and the like it also needs Cloud NAT)`);
  const what = `${name} has no private Google access, and hosts without external addresses cannot reach Cloud Storage then`;
  return failed(
    check,
    what,
    `run 'gcloud compute networks subnets update ${name} --region=${region} --enable-private-ip-google-access'`,
  );
}

const ANYWHERE: ReadonlySet<string> = new Set(['0.0.0.0/0', '::/0']);
const SSH_PORT = 22;

function firewallCheck(googleProject: string, { firewallRules }: ProjectAnswers, wanted: Wanted): Finding {
  const check = 'firewall';
  if (!firewallRules.known) return couldNotLook(check, firewallRules);
  const network = networkOf(wanted);
  const open = openingRules(firewallRules.value, network, wanted.tags);
  const route = wanted.externalIps ? 'external addresses' : 'internal addresses: it has to run inside the network';
  const [first] = open;
  if (first === undefined) {
    const command = `gcloud compute firewall-rules create jobctl-ssh --project=${googleProject} --network=${network} --allow=tcp:22 --source-ranges=RANGE_OF_THE_WORKER`;
    return failed(
      check,
      `no rule of network ${network} lets tcp:22 in (firewall policies are not looked at)`,
      `run '${command}'`,
    );
  }
  const ranges = [...new Set(open.flatMap(({ sourceRanges }) => sourceRanges))];
  const rules = open.length === 1 ? `${first.name} lets` : `${open.map(({ name }) => name).join(', ')} let`;
  const rule = `${rules} tcp:22 in from ${ranges.join(', ')}`;
  if (wanted.externalIps && !ranges.some((range) => ANYWHERE.has(range))) {
    return warning(
      check,
      `${rule} alone; the worker reaches hosts by their ${route}`,
      'run the worker from there, or open the port to where it runs',
    );
  }
  return ok(check, `${rule}; the worker reaches hosts by their ${route}`);
}

/** The rules that let SSH in and are not overruled, by priority. At equal priority, deny wins. */
export function openingRules(
  rules: readonly FirewallRule[],
  network: string,
  tags: readonly string[],
): readonly FirewallRule[] {
  const inForce = rules.filter(
    (rule) =>
      rule.isIngress &&
      !rule.isDisabled &&
      rule.network === network &&
      (rule.targetTags.length === 0 || rule.targetTags.some((tag) => tags.includes(tag))),
  );
  const closing = inForce.filter(
    ({ denies, sourceRanges }) => denies.some(hasSsh) && sourceRanges.some((range) => ANYWHERE.has(range)),
  );
  const closedFrom = smallest(closing.map(({ priority }) => priority));
  return inForce
    .filter(({ allows, priority }) => allows.some(hasSsh) && priority < closedFrom)
    .toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
}

function hasSsh({ protocol, ports }: PortRange): boolean {
  if (protocol === 'all') return true;
  if (protocol !== 'tcp' && protocol !== '6') return false;
  return (
    ports.length === 0 ||
    ports.some((range) => {
      const [first = Number.NaN, last = first] = range.split('-').map(Number);
      return first <= SSH_PORT && SSH_PORT <= last;
    })
  );
}

const noExternal = (wanted: Wanted): string =>
  `do without: ${sectionOf(wanted)}.external_ips: false in the job file, --no-external-ips here, and a worker inside the network`;

function externalIpCheck({ externalIpPolicy }: ProjectAnswers, wanted: Wanted): Finding {
  const check = 'external addresses';
  if (!externalIpPolicy.known) return couldNotLook(check, externalIpPolicy);
  const { isAllDenied, allowedValues } = externalIpPolicy.value;
  if (isAllDenied)
    return failed(
      check,
      'the organization forbids external addresses (compute.vmExternalIpAccess)',
      noExternal(wanted),
    );
  if (allowedValues === undefined) return ok(check, 'no policy forbids them');
  return warning(
    check,
    'the organization allows external addresses to named VMs alone (compute.vmExternalIpAccess)',
    noExternal(wanted),
  );
}

const ADDRESSES = 'IN_USE_ADDRESSES';

/** Checks the quota of external addresses, one for each host. Google notices late: the queued resource fails after its wait. */
function addressChecks(
  googleProject: string,
  region: string,
  { regionQuotas }: ZoneAnswers,
  wanted: Wanted,
): readonly Finding[] {
  const check = `${region} addresses`;
  if (!regionQuotas.known) return [couldNotLook(check, regionQuotas)];
  const quota = regionQuotas.value.find(({ metric }) => metric === ADDRESSES);
  if (quota === undefined) return [warning(check, `could not look: Google lists no quota ${ADDRESSES} for ${region}`)];
  const free = quota.limit - quota.usage;
  const hosts = hostsOf(wanted);
  const state = `${ADDRESSES}: ${free} of ${quota.limit} are free in ${region}`;
  if (free >= hosts) return [ok(check, `${state}, ${hosts} wanted`)];
  const link = `https://console.cloud.google.com/iam-admin/quotas?project=${googleProject}&metric=compute.googleapis.com%2Fin_use_addresses`;
  return [
    failed(check, `${state}, and ${hosts} hosts need one each`, `ask for more at ${link}, or ${noExternal(wanted)}`),
  ];
}

function osLoginCheck({ osLoginPolicy }: ProjectAnswers): Finding {
  const check = 'OS Login';
  if (!osLoginPolicy.known) return couldNotLook(check, osLoginPolicy);
  if (!osLoginPolicy.value.isEnforced) return ok(check, 'no policy requires it');
  const what =
    'the organization requires OS Login (compute.requireOsLogin): hosts ignore the SSH key that jobctl gives them';
  return warning(
    check,
    what,
    'add the key of the worker to its OS Login profile: gcloud compute os-login ssh-keys add --key-file=KEY.pub',
  );
}

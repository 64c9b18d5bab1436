import { GoogleRest } from '../cloud/google-project/rest.js';
import { GuestHostKeys } from '../cloud/hosts/guest-host-keys.js';
import { hostsByReach } from '../cloud/hosts/hosts-by-reach.js';
import { OsLogin } from '../cloud/hosts/os-login.js';
import { createPodHosts } from '../cloud/hosts/pod-fleet.js';
import type { HostsPort } from '../cloud/hosts/port.js';
import { createSshHosts } from '../cloud/hosts/ssh-fleet.js';
import { StoredHostKeys } from '../cloud/hosts/stored-host-keys.js';
import { openCluster } from '../cloud/machines/kubernetes/cluster.js';
import * as library from '../cloud/machines/kubernetes/library.js';
import type { StorePort } from '../cloud/store/port.js';
import type { GuestAttributesPort } from '../cloud/machines/cloud-tpu/guest-attributes.js';
import type { WorkerConfig } from './config.js';
import { clusterConfig } from './open-machines.js';

/** The fleets as the worker's configuration has them; what is known of host keys is kept in the store. */
export function openHosts(
  { ssh, cloud, kubernetes }: WorkerConfig,
  store: StorePort,
  cloudTpu: GuestAttributesPort,
): HostsPort {
  const { port, address, proxyCommand, hostKeyPolicy, hostKeyWaitMs } = ssh;
  const guest = new GuestHostKeys(cloudTpu, hostKeyWaitMs);
  // Another Cloud TPU than Google's has no OS Login of Google's either.
  const osLogin =
    cloud.tpuEndpoint === undefined
      ? new OsLogin((googleProject) => new GoogleRest({ googleProject }), cloudTpu)
      : undefined;
  const sshHosts = createSshHosts({
    port,
    address,
    hostKeys: new StoredHostKeys({ store, guest, policy: hostKeyPolicy }),
    ...(proxyCommand !== undefined && { proxyCommand }),
    hostnameOf: (target) => guest.hostnameOf(target),
    ...(osLogin && { otherUserOf: (target, publicKey) => osLogin.userOf(target, publicKey) }),
  });
  const podHosts = createPodHosts(async (context) => openCluster(library, clusterConfig(kubernetes, context)));
  return hostsByReach({ ssh: sshHosts, pod: podHosts });
}

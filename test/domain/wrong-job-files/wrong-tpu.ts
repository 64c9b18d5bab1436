import type { WrongFile } from './wrong-file.js';
import { NEEDED_SECTION } from '../job-file-lists.js';

/** What is wrong with `tpu`: types, zones, pricing, reservations, networks, disks, flags. */
export const WRONG_TPU: Readonly<Record<string, WrongFile>> = {
  'no accelerator': {
    text: `tpu:
  zone: us-central1-a
`,
    want: ['train.yaml:1:1: tpu.accelerator: is missing', '  such as accelerator: v5litepod-16'],
  },
  'an accelerator that is null': {
    text: `tpu: {accelerator: null, zone: us-central1-a}
`,
    want: ['train.yaml:1:20: tpu.accelerator: is missing', '  such as accelerator: v5litepod-16'],
  },
  'no tpu section': {
    text: `name: a
`,
    want: ['train.yaml:1:1: tpu: is missing', `  ${NEEDED_SECTION}`],
  },
  'a size between two': {
    text: `name: x
tpu:
  accelerator: v5litepod-17
  zone: us-central1-a
`,
    want: [
      "train.yaml:3:16: accelerator: 'v5litepod-17' is no Cloud TPU type",
      '  the nearest are v5litepod-16 (4 hosts) and v5litepod-32 (8 hosts)',
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ],
  },
  'a generation in cores': {
    text: `tpu: {accelerator: v4-9, zone: us-central2-b}
`,
    want: [
      "train.yaml:1:20: accelerator: 'v4-9' is no Cloud TPU type",
      '  the nearest are v4-8 (1 host) and v4-16 (2 hosts)',
      '  allowed: v4-8, v4-16, v4-32, v4-64, v4-128, v4-256, v4-512, v4-1024, v4-1536, v4-2048, v4-4096',
      '  the number counts TensorCores: two a chip',
    ],
  },
  'a GPU': {
    text: `tpu: {accelerator: a100-8, zone: us-central2-b}
`,
    want: [
      "train.yaml:1:20: accelerator: 'a100-8' is no Cloud TPU type",
      '  allowed: v2, v3, v4, v5litepod, v5p, v6e, each with its sizes, such as v5litepod-16',
    ],
  },
  'a misspelt generation': {
    text: `tpu: {accelerator: v5elitepod-16, zone: us-central2-b}
`,
    want: [
      "train.yaml:1:20: accelerator: 'v5elitepod-16' is no Cloud TPU type",
      '  the nearest is v5litepod-16 (4 hosts)',
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ],
  },
  'a v5p that no shape of its cubes makes': {
    text: `tpu: {accelerator: v5p-8576, zone: us-central1-a}
`,
    want: [
      "train.yaml:1:20: accelerator: 'v5p-8576' is no Cloud TPU type",
      '  the nearest are v5p-8448 (1056 hosts) and v5p-8704 (1088 hosts)',
      '  allowed: v5p-8, v5p-16, v5p-32, v5p-64, multiples of 128 (v5p-128, v5p-256 ..) up to v5p-12288, v5p-13824, v5p-17920',
      '  the number counts TensorCores: two a chip',
    ],
  },
  'a type that Google sells elsewhere': {
    text: `tpu: {accelerator: tpu7x-16, zone: us-central1-a}
`,
    want: [
      "train.yaml:1:20: accelerator: 'tpu7x-16' is no Cloud TPU type",
      '  Google sells tpu7x (Ironwood) by GKE alone, and jobctl knows none of its sizes yet: take another generation',
      '  allowed: v2, v3, v4, v5litepod, v5p, v6e, each with its sizes, such as v5litepod-16',
    ],
  },
  'a size beyond the largest': {
    text: `tpu: {accelerator: v6e-512, zone: us-central2-b}
`,
    want: [
      "train.yaml:1:20: accelerator: 'v6e-512' is no Cloud TPU type",
      '  the nearest is v6e-256 (64 hosts)',
      '  allowed: v6e-1, v6e-4, v6e-8, v6e-16, v6e-32, v6e-64, v6e-128, v6e-256',
    ],
  },
  'a region for a zone': {
    text: `tpu: {accelerator: v6e-1, zones: [us-central1]}
`,
    want: [
      "train.yaml:1:35: zones[0]: 'us-central1' is no zone",
      '  us-central1 is a region: its zones end in a letter, such as us-central1-a',
    ],
  },
  'a region for a zone that has no zone a': {
    text: `tpu: {accelerator: v6e-1, zones: [us-east1]}
`,
    want: [
      "train.yaml:1:35: zones[0]: 'us-east1' is no zone",
      '  us-east1 is a region: its zones end in a letter, such as us-east1-b',
    ],
  },
  'zone and zones': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, zones: [us-central1-b]}
`,
    want: ['train.yaml:1:55: zones: zone and zones are both given', '  keep zones, in order of preference'],
  },
  'an unknown pricing': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, pricing: spto}
`,
    want: [
      "train.yaml:1:57: pricing: 'spto' is not one of the allowed words",
      '  did you mean spot?',
      '  allowed: spot, ondemand, preemptible, reserved, flex-start, any',
    ],
  },
  "flex-start with a duration beyond Google's bound": {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, pricing: flex-start, run_duration: 169h}
`,
    want: [
      "train.yaml:1:80: run_duration: '169h' is longer than 168h (7 days), the most that Google sells",
      '  write 168h or less; the next attempt gets as long again',
    ],
  },
  'flex-start in days': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, pricing: flex-start, run_duration: 8d}
`,
    want: [
      "train.yaml:1:80: run_duration: '8d' is not a number of seconds or a duration such as 90s, 5m or 1h; days are no unit here: 8d is 192h; Google sells 168h (7 days) at most",
    ],
  },
  'a deadline in weeks': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, valid_until: 1.5 weeks}
`,
    want: [
      "train.yaml:1:58: valid_until: '1.5 weeks' is not a number of seconds or a duration such as 90s, 5m or 1h; days are no unit here: 1.5 weeks is 252h",
    ],
  },
  'flex-start for less than a minute': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, run_duration: 59}
`,
    want: ['train.yaml:1:59: run_duration: 59 is too short', '  write 60s or more'],
  },
  'flex-start for a node without a queue': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, pricing: flex-start, allocation_mode: tpu-vm}
`,
    want: [
      'train.yaml:1:54: pricing: Google sells flex-start through queued resources only, and allocation_mode is tpu-vm',
      '  write allocation_mode: queued-resources, or leave it out',
    ],
  },
  'a run duration of a pricing that has none': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, pricing: spot, run_duration: 2h}
`,
    want: [
      'train.yaml:1:74: run_duration: is for pricing flex-start only, and pricing is spot: such a slice has no end of its own',
      '  write pricing: flex-start, or leave run_duration out',
    ],
  },
  'a run duration of a reservation': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, reservation: r, run_duration: 2h}
`,
    want: [
      'train.yaml:1:75: run_duration: is for pricing flex-start only, and pricing is reserved: such a slice has no end of its own',
      '  write pricing: flex-start, or leave run_duration out',
    ],
  },
  'a reservation with flex-start': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, reservation: r, pricing: flex-start}
`,
    want: [
      'train.yaml:1:58: reservation: a reservation is used with pricing reserved only, and pricing is flex-start',
      '  write pricing: reserved',
    ],
  },
  'a deadline of a node without a queue': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, valid_until: 2h, allocation_mode: tpu-vm}
`,
    want: [
      'train.yaml:1:58: valid_until: is how long a queued resource may wait, and allocation_mode is tpu-vm: such a request does not wait',
      '  write allocation_mode: queued-resources, or leave it out',
    ],
  },
  'a deadline by the clock': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, valid_until: 2026-12-01T00:00:00Z}
`,
    want: [
      "train.yaml:1:58: valid_until: '2026-12-01T00:00:00Z' is not a number of seconds or a duration such as 90s, 5m or 1h",
    ],
  },
  'a deadline of years': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, valid_until: 9000h}
`,
    want: [
      "train.yaml:1:58: valid_until: '9000h' is longer than a year",
      '  write 8760h or less; leave it out to wait for ever',
    ],
  },
  'a reservation in calendar mode that is not named': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, pricing: reserved, reservation_bound: true}
`,
    want: [
      'train.yaml:1:83: reservation_bound: is for a future reservation, and no reservation is named',
      '  write reservation: its name, or leave this out',
    ],
  },
  'a reservation of a folder by its name': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, reservation: folders/7/reservations/r}
`,
    want: [
      "train.yaml:1:58: reservation: 'folders/7/reservations/r' is no reservation",
      "  a reservation's name, or of another project projects/OWNER/reservations/NAME, or projects/OWNER/locations/ZONE/reservations/NAME; NAME - is any of them, also of folders/F and organizations/O",
    ],
  },
  'any reservation of an organization in another zone': {
    text: `tpu: {accelerator: v6e-1, zone: us-east5-a, reservation: organizations/8/locations/us-east5-b/reservations/-}
`,
    want: [
      'train.yaml:1:58: reservation: is of zone us-east5-b, and the job may run in zone us-east5-a',
      "  write zone: us-east5-b, or the reservation's name alone",
    ],
  },
  'a reservation with any pricing': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, pricing: any, reservation: r}
`,
    want: [
      'train.yaml:1:75: reservation: a reservation is used with pricing reserved only, and pricing is any',
      '  write pricing: reserved',
    ],
  },
  'a reservation with spot': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, pricing: spot, reservation: r}
`,
    want: [
      'train.yaml:1:76: reservation: a reservation is used with pricing reserved only, and pricing is spot',
      '  write pricing: reserved',
    ],
  },
  'a reservation by name for a node without a queue': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, allocation_mode: tpu-vm, reservation: r}
`,
    want: [
      'train.yaml:1:86: reservation: a reservation is named through queued resources only, and allocation_mode is tpu-vm',
      '  write allocation_mode: queued-resources, or leave the name out for any of the project',
    ],
  },
  'a reservation of another zone': {
    text: `tpu:
  accelerator: v6e-1
  zones: [us-central1-a, us-east5-a]
  reservation: projects/owner-project/locations/us-central1-a/reservations/r1
`,
    want: [
      'train.yaml:4:16: reservation: is of zone us-central1-a, and the job may run in zone us-east5-a',
      "  write zone: us-central1-a, or the reservation's name alone",
    ],
  },
  'a reservation that is none': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, reservation: "My reservation"}
`,
    want: [
      "train.yaml:1:61: reservation: 'My reservation' is no reservation",
      "  a reservation's name, or of another project projects/OWNER/reservations/NAME, or projects/OWNER/locations/ZONE/reservations/NAME; NAME - is any of them, also of folders/F and organizations/O",
    ],
  },
  'a network by its URL': {
    text: `tpu: {accelerator: v6e-1, network: "https://www.googleapis.com/compute/v1/projects/host-project/global/networks/team"}
`,
    want: [
      "train.yaml:1:36: network: 'https://www.googleapis.com/compute/v1/projects/host-proj... is no network",
      '  a URL is not taken: write projects/host-project/global/networks/team',
    ],
  },
  'a network that is a subnetwork': {
    text: `tpu: {accelerator: v6e-1, network: projects/host-project/regions/us-east1/subnetworks/team}
`,
    want: [
      "train.yaml:1:36: network: 'projects/host-project/regions/us-east1/subnetworks/team' is no network",
      "  a network's name such as default, or of a Shared VPC projects/HOST_PROJECT/global/networks/NAME",
    ],
  },
  'a subnetwork of another region': {
    text: `tpu:
  accelerator: v6e-1
  zone: us-central1-a
  subnetwork: projects/host-project/regions/us-east1/subnetworks/team
`,
    want: [
      'train.yaml:4:15: subnetwork: lies in region us-east1, and the job may run in zone us-central1-a',
      '  for zones of several regions write its name alone, the same in each',
    ],
  },
  'a subnetwork of another project than the network': {
    text: `tpu:
  accelerator: v6e-1
  network: projects/host-project/global/networks/team
  subnetwork: projects/other-project/regions/us-east1/subnetworks/team
`,
    want: [
      'train.yaml:4:15: subnetwork: is of project other-project, and the network is of project host-project',
      '  a subnetwork is a part of its network: name both of one project',
    ],
  },
  'a network tag with a capital': {
    text: `tpu: {accelerator: v6e-1, tags: [ssh, Web]}
`,
    want: [
      "train.yaml:1:39: tags[1]: 'Web' is no network tag",
      '  small letters, digits and -; 63 at most; a letter first',
    ],
  },
  'a person for a service account': {
    text: `tpu: {accelerator: v6e-1, service_account: alice@example.com}
`,
    want: [
      "train.yaml:1:44: service_account: 'alice@example.com' is no service account",
      "  an email such as trainer@my-project.iam.gserviceaccount.com; default is Compute Engine's default one",
    ],
  },
  'a misspelt scope': {
    text: `tpu: {accelerator: v6e-1, scopes: [cloud-platfrom]}
`,
    want: [
      "train.yaml:1:36: scopes[0]: 'cloud-platfrom' is no scope",
      '  did you mean cloud-platform?',
      '  known: bigquery, cloud-platform, cloud-source-repos, cloud-source-repos-ro, compute-ro, compute-rw, datastore, default, gke-default, logging-write, monitoring, monitoring-read, monitoring-write, pubsub, service-control, service-management, sql-admin, storage-full, storage-ro, storage-rw, taskqueue, trace, userinfo-email, or a URL such as https://www.googleapis.com/auth/cloud-platform',
    ],
  },
  'a Google project that is a name': {
    text: `tpu: {accelerator: v6e-1, project: My Project}
`,
    want: [
      "train.yaml:1:36: project: 'My Project' is no Google Cloud project id",
      '  the id of a Google Cloud project: 6 to 30 small letters, digits and dashes',
    ],
  },
  'a disk that is written to by several hosts': {
    text: `tpu:
  accelerator: v6e-16
  data_disks:
    - {source: data, mode: read-only}
    - {source: scratch, mode: read-write}
    - source: more
`,
    want: [
      'train.yaml:5:31: mode: only one host can write to a disk, and the job has 4 hosts',
      '  write mode: read-only',
      'train.yaml:6:7: tpu.data_disks[2].mode: only one host can write to a disk, and the job has 4 hosts (read-write where no mode is given)',
      '  write mode: read-only',
    ],
  },
  'a disk that is written to by two slices': {
    text: `slices: 2
tpu: {accelerator: v6e-1, data_disks: [{source: data, mode: read-write}]}
`,
    want: [
      'train.yaml:2:61: mode: only one host can write to a disk, and the job has 2 hosts',
      '  write mode: read-only',
    ],
  },
  'a disk of another zone': {
    text: `tpu:
  accelerator: v6e-1
  zones: [us-east5-a, us-east1-d]
  data_disks: [{source: projects/my-project/zones/us-east1-d/disks/data}]
`,
    want: [
      'train.yaml:4:25: source: lies in zone us-east1-d, and the job may run in zone us-east5-a',
      '  a name alone means the disk of that name in whichever zone the slice is',
    ],
  },
  'disks that are none': {
    text: `tpu: {accelerator: v6e-1, data_disks: [{source: disks/data}, {source: a}, {source: a}]}
`,
    want: [
      "train.yaml:1:49: source: 'disks/data' is no disk",
      "  a disk's name, for the disk of that name in the slice's zone, or its path projects/P/zones/ZONE/disks/NAME",
      "train.yaml:1:84: source: 'a' is named twice",
    ],
  },
  'a disk without its source and with another key': {
    text: `tpu: {accelerator: v6e-1, data_disks: [{mode: ro, size: 100}]}
`,
    want: [
      'train.yaml:1:40: tpu.data_disks[0].source: is missing',
      "train.yaml:1:47: mode: 'ro' is not one of the allowed words",
      '  allowed: read-write, read-only',
      'train.yaml:1:51: size: no such key in tpu.data_disks[0]',
      '  known here: source, mode',
    ],
  },
  'an allocation mode with an underscore': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, allocation_mode: queued_resources}
`,
    want: [
      "train.yaml:1:65: allocation_mode: 'queued_resources' is not one of the allowed words",
      '  did you mean queued-resources?',
      '  allowed: queued-resources, tpu-vm',
    ],
  },
  'a topology of another size': {
    text: `tpu: {accelerator: v5p-32, zone: us-central1-a, topology: 4x4}
`,
    want: [
      "train.yaml:1:59: topology: '4x4' is no topology of v5p-32",
      '  v5p-32 has 16 chips: 2x2x4 is the usual one, and the only one',
    ],
  },
  'a topology that is not of cubes': {
    text: `tpu: {accelerator: v4-512, zone: us-central2-b, topology: 8x4x8}
`,
    want: [
      "train.yaml:1:59: topology: '8x4x8' is no topology of v4-512",
      '  v4-512 has 256 chips: 4x8x8 is the usual one, others are AxBxC, multiples of 4, A <= B <= C',
    ],
  },
  'a generation with a topology that no type has': {
    text: `tpu: {accelerator: v5e, topology: 2x3}
`,
    want: [
      "train.yaml:1:35: topology: '2x3' is no topology of v5e",
      '  usual: 1x1 (v5litepod-1), 2x2 (v5litepod-4), 2x4 (v5litepod-8), 4x4 (v5litepod-16), 4x8 (v5litepod-32), 8x8 (v5litepod-64), 8x16 (v5litepod-128), 16x16 (v5litepod-256)',
    ],
  },
  'labels that no resource can have': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, labels: {Team: x, a: B, jobctl-x: y}}
`,
    want: [
      "train.yaml:1:63: Team: 'Team' is no label key",
      '  a-z, 0-9, - and _; 63 at most; a letter first',
      "train.yaml:1:69: a: 'B' is no label value",
      '  a-z, 0-9, - and _; 63 at most',
      "train.yaml:1:82: jobctl-x: 'jobctl-x' is one of jobctl's own labels",
      '  take another key',
    ],
  },
  'metadata that is ours': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, metadata: {ssh-keys: x}}
`,
    want: ['train.yaml:1:69: ssh-keys: is set by jobctl', '  jobctl puts the key of ssh.private_key there'],
  },
  'flags of gcloud that have no key': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, flags: ["--foo=1", "--spot=1", "--network"]}
`,
    want: [
      "train.yaml:1:56: flags[0]: '--foo=1' is no flag that jobctl understands",
      '  understood: --network, --subnetwork, --service-account, --scopes, --tags, --labels, --metadata, --zone, --project, --version, --runtime-version, --accelerator-type, --type, --topology, --data-disk, --reservation, --internal-ips, --spot, --preemptible, --best-effort, --reserved, --guaranteed, --provisioning-model, --max-run-duration, --valid-until-duration',
      "train.yaml:1:67: flags[1]: '--spot=1' is a flag that takes no value",
      '  write --spot',
      "train.yaml:1:79: flags[2]: '--network' is a flag without its value",
      '  write --network=VALUE',
    ],
  },
};

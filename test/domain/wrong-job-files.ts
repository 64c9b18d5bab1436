interface WrongFile {
  readonly text: string;
  /** `--set` options beside the file. */
  readonly set?: readonly string[];
  /** The whole message, line by line. */
  readonly want: readonly string[];
}

/** The least that a job file needs, so that a case shows only what is wrong. */
const TPU = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n';

/** Job files and flags that are wrong, each named for what is wrong with it. */
export const WRONG_JOB_FILES: Readonly<Record<string, WrongFile>> = {
  'an empty file': {
    text: '',
    want: [
      'train.yaml:1:1: the job file is empty',
      '  a job file is lines of key: value; the least is tpu: and command:',
    ],
  },
  'a file that is a list': {
    text: `- a
`,
    want: [
      'train.yaml:1:1: ["a"] is not a job file',
      '  a job file is lines of key: value; the least is tpu: and command:',
    ],
  },
  'a bracket that is not closed': {
    text: `tpu: {accelerator: v6e-1
name: x`,
    want: ['train.yaml:2:1: not YAML: flow map in block collection must be sufficiently indented and end with a }'],
  },
  'a tab as indentation': {
    text: `tpu:
	accelerator: v6e-1
`,
    want: ['train.yaml:2:1: not YAML: a tab as indentation; YAML takes spaces'],
  },
  'a key that is there twice': {
    text: `${TPU}name: a
name: b
`,
    want: ['train.yaml:3:1: not YAML: the key is there twice'],
  },
  'two documents': {
    text: `a: 1
---
b: 2
`,
    want: ['train.yaml:2:1: not YAML: more than one document (---); one file is one job'],
  },
  'a tag of another language': {
    text: `${TPU}name: !!python/object:os.system x
`,
    want: ['train.yaml:2:7: not YAML: a tag (!) that plain YAML does not have'],
  },
  'aliases that multiply': {
    text: `${TPU}a: &a [x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
`,
    want: ['train.yaml:1:1: not YAML: aliases (*) that multiply beyond measure'],
  },
  'an unknown key in a section': {
    text: `tpu:
  acelerator: v6e-1
  accelerator: v6e-1
  zone: us-central1-a
`,
    want: [
      'train.yaml:2:3: acelerator: no such key in tpu',
      '  did you mean accelerator?',
      '  known here: accelerator, allocation_mode, name, zone, zones, project, version, pricing, startup_script, tags, metadata, labels, flags, network, subnetwork, external_ips, service_account, scopes, reservation, topology, data_disks, atomic',
    ],
  },
  'an unknown key at the top': {
    text: `${TPU}commnad: {run: x}
`,
    want: [
      'train.yaml:2:1: commnad: no such key in a job file',
      '  did you mean command?',
      '  known here: name, project, pool, user, priority, slices, env, grace, retries, keep, loop, timeouts, notify, job, tpu, setup, ssh, gcsfuse, docker, conda, venv, files, script, modules, command, secrets, bundle, hooks, atomic',
    ],
  },
  'a key of another section': {
    text: `${TPU}zone: us-central1-a
`,
    want: [
      'train.yaml:2:1: zone: no such key in a job file',
      '  zone belongs to: tpu',
      '  known here: name, project, pool, user, priority, slices, env, grace, retries, keep, loop, timeouts, notify, job, tpu, setup, ssh, gcsfuse, docker, conda, venv, files, script, modules, command, secrets, bundle, hooks, atomic',
    ],
  },
  'an unknown key in a list of sections': {
    text: `${TPU}ssh: {identities: [{private_key: a, pubkey: b}]}
`,
    want: [
      'train.yaml:2:37: pubkey: no such key in ssh.identities[0]',
      '  known here: private_key, public_key, config_entry',
    ],
  },
  'a key that is a word of JavaScript': {
    text: `${TPU}__proto__: {a: 1}
`,
    want: [
      'train.yaml:2:1: __proto__: no such key in a job file',
      '  known here: name, project, pool, user, priority, slices, env, grace, retries, keep, loop, timeouts, notify, job, tpu, setup, ssh, gcsfuse, docker, conda, venv, files, script, modules, command, secrets, bundle, hooks, atomic',
    ],
  },
  'text where a section belongs': {
    text: `tpu: v5litepod-16
`,
    want: ["train.yaml:1:6: tpu: 'v5litepod-16' is not a section (lines of key: value below it)"],
  },
  'a number where text belongs': {
    text: `tpu: {accelerator: 16, zone: us-central1-a}
`,
    want: ['train.yaml:1:20: accelerator: 16 is not text'],
  },
  'text where a list belongs': {
    text: `${TPU}setup: {modules: venv}
`,
    want: ["train.yaml:2:18: modules: 'venv' is not a list of modules"],
  },
  'text where a truth value belongs': {
    text: `tpu: {accelerator: v6e-1, zone: us-central1-a, external_ips: no}
`,
    want: ["train.yaml:1:62: external_ips: 'no' is not true or false"],
  },
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
    want: ['train.yaml:1:1: tpu: is missing', '  a job needs the section tpu, with accelerator and zone'],
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
      '  allowed: spot, ondemand, preemptible, reserved, any',
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
      "  a reservation's name, or of another project projects/OWNER/reservations/NAME, or projects/OWNER/locations/ZONE/reservations/NAME",
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
      '  understood: --network, --subnetwork, --service-account, --scopes, --tags, --labels, --metadata, --version, --type, --topology, --data-disk, --reservation, --internal-ips, --spot, --preemptible, --reserved',
      "train.yaml:1:67: flags[1]: '--spot=1' is a flag that takes no value",
      '  write --spot',
      "train.yaml:1:79: flags[2]: '--network' is a flag without its value",
      '  write --network=VALUE',
    ],
  },
  'a module without its section': {
    text: `${TPU}setup: {modules: [venv, command]}
command: {run: x}
`,
    want: [
      'train.yaml:2:19: modules[0]: module venv needs a section venv',
      '  such as venv: {name: train, requirements_file: requirements.txt}',
    ],
  },
  'a mount that is not absolute, one twice, and a bucket as a URL': {
    text: `${TPU}gcsfuse:
  bucket_name: gs://corpus/train
  mount_path: data
  extra_mounts: [{bucket_name: a, mount_path: /m}, {bucket_name: b, mount_path: /m/}]
`,
    want: [
      "train.yaml:3:16: bucket_name: 'gs://corpus/train' is no name of a bucket",
      '  the name alone: corpus',
      "train.yaml:4:15: mount_path: 'data' is no absolute path",
      '  such as ~/data, or /mnt/bucket',
      "train.yaml:5:81: mount_path: '/m/' is the place of two mounts",
      '  one bucket at each place',
    ],
  },
  'options of a mount of the wrong type': {
    text: `${TPU}gcsfuse:
  mount_path: /m
  cache: {metadata_ttl_secs: soon, enable_parallel_downloads: 7, dirr: /c}
`,
    want: [
      'train.yaml:2:1: gcsfuse.bucket_name: is missing',
      '  such as bucket_name: my-bucket',
      "train.yaml:4:30: metadata_ttl_secs: 'soon' is not a whole number of seconds, or -1",
      'train.yaml:4:63: enable_parallel_downloads: 7 is not true or false',
      'train.yaml:4:66: dirr: no such key in gcsfuse.cache',
      '  did you mean dir?',
      '  known here: dir, metadata_ttl_secs, stat_cache_max_size_mb, type_cache_max_size_mb, file_cache_max_size_mb, cache_file_for_range_read, enable_parallel_downloads, prefix',
    ],
  },
  'an image that is no reference, and what docker run cannot take': {
    text: `${TPU}docker:
  image: gcr.io/P/Image:latest
  flags: ["--env 'A=1"]
  env_vars: [HOME, 1A=2]
  mount_dirs: [data:/data]
`,
    want: [
      "train.yaml:3:10: image: 'gcr.io/P/Image:latest' is no reference to an image",
      '  the path is in small letters; capitals only in the tag',
      `train.yaml:4:11: flags[0]: '--env 'A=1' is not closed: a quote is missing`,
      '  flags are split as a shell would',
      "train.yaml:5:14: env_vars[0]: 'HOME' is no NAME=value",
      '  what the command is to have from outside goes into env',
      "train.yaml:5:20: env_vars[1]: '1A=2' is no NAME=value",
      '  a name has letters, digits and _; no digit first',
      "train.yaml:6:16: mount_dirs[0]: 'data:/data' is no mount",
      '  /dir, or /on/host:/in/container, or /on/host:/in/container:ro',
    ],
  },
  'a digest that is cut': {
    text: `${TPU}docker: {image: "a/b@sha256:12"}
`,
    want: [
      "train.yaml:2:17: image: 'a/b@sha256:12' is no reference to an image",
      '  a digest is sha256: and 64 hex digits',
    ],
  },
  'a conda environment without a name': {
    text: `${TPU}conda: {config_file: environment.yml, python: py3}
`,
    want: [
      'train.yaml:2:1: conda.name: is missing',
      '  such as name: train',
      "train.yaml:2:47: python: 'py3' is no version of Python",
      '  such as "3.11"',
    ],
  },
  'keys that would land on one another': {
    text: `${TPU}ssh: {identities: [{private_key: ~/.ssh/k}, {private_key: ~/other/k}, {private_key: a/config}]}
`,
    want: [
      'train.yaml:2:59: private_key: would land on the key of identities[0], ~/.ssh/k',
      '  give one of them another name',
      "train.yaml:2:85: private_key: 'a/config' is a file that ssh itself has",
      '  give the key another name',
    ],
  },
  'files that go to no place, or to one place twice': {
    text: `${TPU}files: [a/x, {from: b, to: ../b}, {from: c/x}]
`,
    want: [
      "train.yaml:2:28: to: '../b' is no place on a host",
      '  an absolute path, or ~/..',
      "train.yaml:2:42: from: '~/x' is the place of two files",
      '  each goes to a place of its own',
    ],
  },
  'a file without a source': {
    text: `${TPU}files: [{form: d}]
`,
    want: [
      'train.yaml:2:9: files[0].from: is missing',
      'train.yaml:2:10: form: no such key in files[0]',
      '  did you mean from?',
      '  known here: from, to',
    ],
  },
  'modules of its own without steps, under the name of another, or under no name': {
    text: `${TPU}modules:
  venv: {setup: [{run: x}]}
  Mine: {setup: [{run: x}]}
  empty: {check: x, setup: []}
  odd: {setup: [{name: a}], chek: x}
setup: {modules: [empty, odd, emtpy]}
`,
    want: [
      "train.yaml:3:9: venv: venv is a module of jobctl's",
      '  give yours another name',
      "train.yaml:4:9: Mine: 'Mine' is no name of a module",
      '  small letters, digits, - and _; a letter first; 40 at most',
      'train.yaml:5:28: modules.empty.setup: is missing',
      '  such as setup: [{name: install, run: ..}]',
      'train.yaml:6:16: modules.odd.setup: is missing',
      '  such as setup: [{name: install, run: ..}]',
      'train.yaml:6:17: modules.odd.setup[0].run: is missing',
      'train.yaml:6:29: chek: no such key in modules.odd',
      '  did you mean check?',
      '  known here: check, setup, files',
      "train.yaml:7:31: modules[2]: 'emtpy' is not one of the allowed words",
      '  did you mean empty?',
      '  allowed: ssh, gcsfuse, docker, conda, venv, files, script, command, venv, Mine, empty, odd',
    ],
  },
  'two environment modules': {
    text: `${TPU}setup: {modules: [venv, docker]}
venv: {name: a}
docker: {image: b}
`,
    want: [
      'train.yaml:2:25: modules[1]: two environment modules, venv and docker',
      '  keep one of docker, conda and venv',
    ],
  },
  'sections of two environments and none chosen': {
    text: `${TPU}venv: {name: a}
conda: {name: b}
`,
    want: [
      'train.yaml:2:7: venv: sections of two environment modules, conda and venv',
      '  say which with job: {env_type: conda} or with setup: {modules: [..]}',
    ],
  },
  'a misspelt module': {
    text: `${TPU}setup: {modules: [comand]}
`,
    want: [
      "train.yaml:2:19: modules[0]: 'comand' is not one of the allowed words",
      '  did you mean command?',
      '  allowed: ssh, gcsfuse, docker, conda, venv, files, script, command',
    ],
  },
  'a module named twice': {
    text: `${TPU}setup: {modules: [command, command]}
command: {run: x}`,
    want: ["train.yaml:2:28: modules[1]: 'command' is named twice"],
  },
  'a reference to nothing': {
    text: `${TPU}command:
  run: |
    echo one
    echo \${tpu.zon}
`,
    want: [
      `train.yaml:5:10: run: '\${tpu.zon}' refers to nothing in this file`,
      `  the nearest is \${tpu.zone}`,
      `  for a reference that another program resolves, write \\\${tpu.zon}`,
    ],
  },
  'a reference to a section inside a text': {
    text: `${TPU}command: {run: "echo \${setup.modules}"}
setup: {modules: [command]}
`,
    want: [`train.yaml:2:22: run: '\${setup.modules}' is a section or list, which cannot stand inside a text`],
  },
  'references in a circle': {
    text: `${TPU}env:
  A: \${env.B}
  B: \${env.A}
`,
    want: [
      `train.yaml:3:6: A: '\${env.B}' leads back to itself: env.A -> env.B -> env.A`,
      `train.yaml:4:6: B: '\${env.A}' leads back to itself: env.B -> env.A -> env.B`,
    ],
  },
  'a variable that is not set': {
    text: `${TPU}env: {A: "\${oc.env:HOMEE}"}
`,
    want: [`train.yaml:2:11: A: '\${oc.env:HOMEE}': no variable HOMEE in the environment`, '  did you mean HOME?'],
  },
  'a host that the type does not have': {
    text: `${TPU}command: {run: x, workers: 4}
`,
    want: [
      'train.yaml:2:28: workers: 4 is no host of v5litepod-16',
      '  v5litepod-16 has 4 hosts: 0 to 3; workers is an index, not a count',
    ],
  },
  'one of several hosts': {
    text: `${TPU}command: {run: x, workers: [0, 9]}
`,
    want: [
      'train.yaml:2:32: workers[1]: 9 is no host of v5litepod-16',
      '  v5litepod-16 has 4 hosts: 0 to 3; workers is an index, not a count',
    ],
  },
  'a word for hosts': {
    text: `${TPU}command: {run: x, workers: some}
`,
    want: ["train.yaml:2:28: workers: 'some' is not the index of one host, a list of indexes, or all"],
  },
  'no hosts': {
    text: `${TPU}command: {run: x, workers: []}
`,
    want: ['train.yaml:2:28: workers: [] is no host at all', '  leave workers out for all hosts'],
  },
  'a command without text': {
    text: `${TPU}command: {workers: all}
`,
    want: ['train.yaml:2:1: command.run: is missing', '  such as run: python3 train.py'],
  },
  'run and cmd': {
    text: `${TPU}command: {run: a, cmd: b}
`,
    want: ['train.yaml:2:24: cmd: run and cmd are both given', '  keep run'],
  },
  'a priority in words': {
    text: `${TPU}priority: high
`,
    want: ["train.yaml:2:11: priority: 'high' is not a whole number from 1 to 5"],
  },
  'no slices': {
    text: `${TPU}slices: 0
`,
    want: ['train.yaml:2:9: slices: 0 is not a whole number from 1 to 256'],
  },
  'infinitely many slices': {
    text: `${TPU}slices: .inf
`,
    want: ['train.yaml:2:9: slices: Infinity is not a whole number from 1 to 256'],
  },
  'a duration in words': {
    text: `${TPU}grace: soon
`,
    want: ["train.yaml:2:8: grace: 'soon' is not a number of seconds or a duration such as 90s, 5m or 1h"],
  },
  'a negative budget': {
    text: `${TPU}retries: {task: -1}
`,
    want: ['train.yaml:2:17: task: -1 is not a whole number from 0 to 10000'],
  },
  'environment that no shell takes': {
    text: `${TPU}env: {1A: x, B: [1], JOBCTL_X: 1, C: }
`,
    want: [
      "train.yaml:2:11: 1A: '1A' is no name of a variable",
      '  letters, digits and _; no digit first',
      "train.yaml:2:17: B: [1] is not text, a number, true or false ('' for an empty text)",
      'train.yaml:2:32: JOBCTL_X: is set by jobctl',
      '  take another name',
      "train.yaml:2:35: C: null is not text, a number, true or false ('' for an empty text)",
    ],
  },
  'a python that is none': {
    text: `${TPU}venv: {name: a, python: snake}
`,
    want: ["train.yaml:2:25: python: 'snake' is no Python", '  such as python3.11, "3.11" or /usr/bin/python3.11'],
  },
  'a keep without when, of a word that is none, and for no time': {
    text: `${TPU}keep: {for: 0s}
`,
    want: [
      'train.yaml:2:1: keep.when: is missing',
      '  one of never, on-failure, always',
      "train.yaml:2:13: for: '0s' is no time to keep slices for",
      '  such as 2h',
    ],
  },
  'a keep of another form': {
    text: `${TPU}keep: sometimes
`,
    want: ["train.yaml:2:7: keep: 'sometimes' is not never, on-failure, always, or a section {when, for}"],
  },
  'a timeout of no time, and one that is none': {
    text: `${TPU}timeouts: {stop: 0, qeue: 1h}
`,
    want: [
      'train.yaml:2:18: stop: 0 is no time to wait',
      '  such as 2h',
      'train.yaml:2:21: qeue: no such key in timeouts',
      '  did you mean queue?',
      '  known here: stop, queue, run, provision, setup, no_output',
    ],
  },
  'keys that are not built': {
    text: `${TPU}bundle: {}
hooks: {success: x}
timeouts: {no_output: 1h}
atomic: true
`,
    want: [
      'train.yaml:2:1: bundle: not built yet in this version of jobctl',
      '  until then: fetch the code in the command (git clone)',
      'train.yaml:3:1: hooks: not built yet in this version of jobctl',
      '  until then: trap SIGTERM in the command',
      'train.yaml:4:12: no_output: not built yet in this version of jobctl',
      '  until then: jobctl cancel ends a job; timeouts.run bounds how long the command runs',
      'train.yaml:5:1: atomic: not built yet in this version of jobctl',
      '  until then: slices are asked for one by one, and the job starts when all of them are there',
    ],
  },
  'secrets that are no names, and variables that are taken': {
    text: `${TPU}env: {A: x}
secrets: {A: a, JOBCTL_X: b, 1B: c, D: 'hf_secret value', E: 'secret:e'}
`,
    want: [
      'train.yaml:3:14: A: is in env too',
      '  keep one of the two; a value in env is kept with the job',
      'train.yaml:3:27: JOBCTL_X: is set by jobctl',
      '  take another name',
      "train.yaml:3:34: 1B: '1B' is no name of a variable",
      '  letters, digits and _; no digit first',
      'train.yaml:3:40: secrets.D: is no name of a secret',
      "  a secret's name: a letter, then letters, digits, - and _; 100 characters at most",
      '  jobctl secret put NAME keeps a value',
    ],
  },
  'a notify that is no section': {
    text: `${TPU}notify: me\n`,
    want: ["train.yaml:2:9: notify: 'me' is not a section {workflow: {id, signal}} or a list of such"],
  },
  'a notify with a key that is none, and one that is missing': {
    text: `${TPU}notify: {workflow: {id: a, sginal: b}}\n`,
    want: [
      'train.yaml:2:10: notify.workflow.signal: is missing',
      '  such as notify: {workflow: {id: my-workflow, signal: jobEnded}}',
      'train.yaml:2:28: sginal: no such key in notify.workflow',
      '  did you mean signal?',
      '  known here: id, signal',
    ],
  },
  'a list of notify with targets that cannot be told': {
    text: `${TPU}notify: [{workflow: {id: ${'a'.repeat(256)}, signal: __temporal_x}}]\n`,
    want: [
      `train.yaml:2:26: id: '${'a'.repeat(56)}... is too long: 256 characters`,
      '  255 at most',
      "train.yaml:2:292: signal: '__temporal_x' is a name that Temporal keeps for itself",
      '  take another name',
    ],
  },
  'a notify of eleven targets': {
    text: `${TPU}notify: [${'{workflow: {id: a, signal: b}}, '.repeat(11)}]\n`,
    want: ['train.yaml:2:9: notify: has 11 targets', '  10 at most'],
  },
  'a list of indexes with a word in it': {
    text: `${TPU}command: {run: x, workers: [a]}\n`,
    want: ["train.yaml:2:29: workers[0]: 'a' is not the index of a host"],
  },
  'a name with an underscore': {
    text: `${TPU}name: a_b
`,
    want: [
      "train.yaml:2:7: name: 'a_b' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most",
      '  such as a-b',
    ],
  },
  'users that no host has': {
    text: `${TPU}job: {remote_user: "A B"}
user: "a b"
`,
    want: [
      "train.yaml:2:20: remote_user: 'A B' is no Linux user name",
      '  small letters, digits, - and _; 32 at most',
      "train.yaml:3:7: user: 'a b' is no user",
      '  letters, digits and . _ - + @; 100 at most',
    ],
  },
  'many problems, in file order': {
    text: `name: A
tpu:
  zone: nowhere
  accelerator: v6e-3
priority: 0
command: {run: "\${a.b}"}
`,
    want: [
      "train.yaml:1:7: name: 'A' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most",
      '  such as a',
      "train.yaml:3:9: zone: 'nowhere' is no zone",
      '  a zone is a region and a letter, such as us-central1-a',
      "train.yaml:4:16: accelerator: 'v6e-3' is no Cloud TPU type",
      '  the nearest are v6e-1 (1 host) and v6e-4 (1 host)',
      '  allowed: v6e-1, v6e-4, v6e-8, v6e-16, v6e-32, v6e-64, v6e-128, v6e-256',
      'train.yaml:5:11: priority: 0 is not a whole number from 1 to 5',
      `train.yaml:6:17: run: '\${a.b}' refers to nothing in this file`,
      `  for a reference that another program resolves, write \\\${a.b}`,
    ],
  },
  '--set of an unknown key': {
    text: `${TPU}`,
    set: ['priorty=2'],
    want: [
      '--set priorty=2: priorty: no such key in a job file',
      '  did you mean priority?',
      '  known here: name, project, pool, user, priority, slices, env, grace, retries, keep, loop, timeouts, notify, job, tpu, setup, ssh, gcsfuse, docker, conda, venv, files, script, modules, command, secrets, bundle, hooks, atomic',
    ],
  },
  '--set without a value': {
    text: `${TPU}`,
    set: ['priority'],
    want: ["--set priority: 'priority' has no =", '  write --set key=value, such as --set tpu.accelerator=v6e-8'],
  },
  '--set of a key that is none': {
    text: `${TPU}`,
    set: ['a b=1'],
    want: ["--set a b=1: 'a b' is not a key", '  write --set key=value, such as --set tpu.accelerator=v6e-8'],
  },
  '--set of what is not YAML': {
    text: `${TPU}`,
    set: ['name={'],
    want: ["--set name={: name: '{' is not a YAML value", '  put it in quotes'],
  },
  '--set of a wrong type': {
    text: `${TPU}`,
    set: ['tpu.accelerator=v6e-3'],
    want: [
      "--set tpu.accelerator=v6e-3: tpu.accelerator: 'v6e-3' is no Cloud TPU type",
      '  the nearest are v6e-1 (1 host) and v6e-4 (1 host)',
      '  allowed: v6e-1, v6e-4, v6e-8, v6e-16, v6e-32, v6e-64, v6e-128, v6e-256',
    ],
  },
  '--set below a text': {
    text: `${TPU}`,
    set: ['tpu.zone.x=1'],
    want: ["--set tpu.zone.x=1: tpu.zone: 'us-central1-a' is not a section, so no key can be set below it"],
  },
  '--set of a wrong element': {
    text: `${TPU}`,
    set: ['tpu.tags=[a, 1]'],
    want: ['--set tpu.tags=[a, 1]: tpu.tags[1]: 1 is not text'],
  },
};

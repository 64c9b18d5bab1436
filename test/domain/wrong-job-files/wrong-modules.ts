import { TPU, type WrongFile } from './wrong-file.js';
import { ALLOWED_MODULES, ONE_ENVIRONMENT } from '../job-file-lists.js';

/** What is wrong with the setup modules and their sections. */
export const WRONG_MODULES: Readonly<Record<string, WrongFile>> = {
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
  'a mount over everything': {
    text: `${TPU}gcsfuse: {bucket_name: a, mount_path: /}
`,
    want: [
      "train.yaml:2:39: mount_path: '/' is the host's whole file system",
      '  a folder of its own, such as /mnt/bucket',
    ],
  },
  "a module of its own under the name of one of jobctl's, and nothing else": {
    text: `${TPU}modules: {ssh: {setup: [{run: x}]}}
`,
    want: ["train.yaml:2:16: ssh: ssh is a module of jobctl's", '  give yours another name'],
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
      '  known here: dir, metadata_ttl_secs, stat_cache_max_size_mb, type_cache_max_size_mb,',
      '    file_cache_max_size_mb, cache_file_for_range_read, enable_parallel_downloads, prefix',
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
      `  ${ALLOWED_MODULES}, venv, Mine, empty, odd`,
    ],
  },
  'two environment modules': {
    text: `${TPU}setup: {modules: [venv, docker]}
venv: {name: a}
docker: {image: b}
`,
    want: ['train.yaml:2:25: modules[1]: two environment modules, venv and docker', `  ${ONE_ENVIRONMENT}`],
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
      `  ${ALLOWED_MODULES}`,
    ],
  },
  'a module named twice': {
    text: `${TPU}setup: {modules: [command, command]}
command: {run: x}`,
    want: ["train.yaml:2:28: modules[1]: 'command' is named twice"],
  },
};

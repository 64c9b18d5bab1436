import { type BadInput, GOOD, SUBMIT } from './bad-input.js';
import { ALLOWED_MODULES, LEAST_FILE, NEEDED_SECTION, ONE_ENVIRONMENT } from '../domain/job-file-lists.js';

/** In FILE's folder there is a file `requirements.txt`, and a folder `folder`. */
export const BAD_FILES: Readonly<Record<string, BadInput>> = {
  'an empty file': {
    text: '',
    args: SUBMIT,
    wants: ['FILE:1:1: the job file is empty', `  ${LEAST_FILE}`].join('\n'),
  },
  'a file that is not YAML': {
    text: 'tpu: [v6e-8\n',
    args: SUBMIT,
    wants: 'FILE:2:1: not YAML: a bracket is not closed before this line: ] is missing',
  },
  'a tab as indentation': {
    text: 'tpu:\n\taccelerator: v6e-8\n',
    args: SUBMIT,
    wants: 'FILE:2:1: not YAML: a tab as indentation; YAML takes spaces',
  },
  'a file that is a list': {
    text: '- a\n- b\n',
    args: SUBMIT,
    wants: ['FILE:1:1: ["a","b"] is not a job file', `  ${LEAST_FILE}`].join('\n'),
  },
  'two documents': {
    text: `${GOOD}---\n${GOOD}`,
    args: SUBMIT,
    wants: [1, 7]
      .map((line) => `FILE:${line}:1: name: is missing: each job of a file of several has one\n  after: names them`)
      .join('\n'),
  },
  'a key twice': {
    text: `${GOOD}tpu:\n  accelerator: v6e-8\n`,
    args: SUBMIT,
    wants: 'FILE:6:1: not YAML: the key is there twice',
  },
  'an unknown key': {
    text: `${GOOD}comand:\n  run: x\n`,
    args: SUBMIT,
    wants: ['FILE:6:1: comand: no such key in a job file', '  did you mean command?'].join('\n'),
  },
  'an unknown key in a section': {
    text: GOOD.replace('zone', 'zzone'),
    args: SUBMIT,
    wants: ['FILE:3:3: zzone: no such key in tpu', '  did you mean zone?'].join('\n'),
  },
  'a pool file that is wrong': {
    text: 'zones = ["us-east5"]\n[tpu]\nnetwrok = "n"\n',
    args: ['validate', 'FILE', '--kind', 'pool'],
    wants: [
      "FILE:1:10: zones[0]: 'us-east5' is no zone",
      '  us-east5 is a region: its zones end in a letter, such as us-east5-a',
      'FILE:3:1: netwrok: no such key in tpu',
      '  did you mean network?',
    ].join('\n'),
  },
  'a job file in which its pool file does not help': {
    text: GOOD.replace('zone: us-central1-a', 'pricing: spot'),
    args: ['validate', 'FILE', '--pool-file', '/dev/null'],
    wants: [
      "FILE:1:1: tpu.zone: no zone in the job file, and none in /dev/null, the file of pool 'default'",
      '  write such as zone: us-central1-a, or zones: [..]; for all jobs of a pool see docs/pool-file.md',
    ].join('\n'),
  },
  '--set with a pool file': {
    text: GOOD,
    args: ['validate', 'FILE', '--kind', 'pool', '--set', 'a=b'],
    wants: 'FILE: is a pool file; --set and --pool-file are for job files',
  },
  'a wrong type': {
    text: `slices: many\n${GOOD}`,
    args: SUBMIT,
    wants: `FILE:1:9: slices: 'many' is not a whole number from 1 to 256`,
  },
  'a wrong accelerator': {
    text: GOOD.replace('-16', '-17'),
    args: SUBMIT,
    wants: [
      `FILE:2:16: accelerator: 'v5litepod-17' is no Cloud TPU type`,
      '  the nearest are v5litepod-16 (4 hosts) and v5litepod-32 (8 hosts)',
      '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
    ].join('\n'),
  },
  'no accelerator': {
    text: 'tpu:\n  zone: us-central1-a\ncommand:\n  run: echo\n',
    args: SUBMIT,
    wants: ['FILE:1:1: tpu.accelerator: is missing', '  such as accelerator: v5litepod-16'].join('\n'),
  },
  'no tpu section': {
    text: 'command:\n  run: echo\n',
    args: SUBMIT,
    wants: ['FILE:1:1: tpu: is missing', `  ${NEEDED_SECTION}`].join('\n'),
  },
  'a module without its section': {
    text: `${GOOD}setup:\n  modules: [venv, command]\n`,
    args: SUBMIT,
    wants: [
      'FILE:7:13: modules[0]: module venv needs a section venv',
      '  such as venv: {name: train, requirements_file: requirements.txt}',
    ].join('\n'),
  },
  'two environment modules': {
    text: `${GOOD}setup:\n  modules: [venv, conda, command]\nvenv: {name: t}\nconda: {name: c}\n`,
    args: SUBMIT,
    wants: ['FILE:7:19: modules[1]: two environment modules, venv and conda', `  ${ONE_ENVIRONMENT}`].join('\n'),
  },
  'a module of that name, which nobody wrote': {
    text: `${GOOD}setup:\n  modules: [dockr, command]\ndocker: {image: x}\n`,
    args: SUBMIT,
    wants: [
      "FILE:7:13: modules[0]: 'dockr' is not one of the allowed words",
      '  did you mean docker?',
      `  ${ALLOWED_MODULES}`,
    ].join('\n'),
  },
  'a reference to nothing': {
    text: GOOD.replace('echo hi', 'echo ${tpu.nmae}'),
    args: SUBMIT,
    wants: [
      "FILE:5:13: run: '${tpu.nmae}' refers to nothing in this file",
      '  for a reference that another program resolves, write $${tpu.nmae}',
    ].join('\n'),
  },
  'a host that the type has not': {
    text: `${GOOD}  workers: 4\n`,
    args: SUBMIT,
    wants: [
      'FILE:6:12: workers: 4 is no host of v5litepod-16',
      '  v5litepod-16 has 4 hosts: 0 to 3; workers is an index, not a count',
    ].join('\n'),
  },
  'a priority out of range': {
    text: `priority: 9\n${GOOD}`,
    args: SUBMIT,
    wants: 'FILE:1:11: priority: 9 is not a whole number from 1 to 5',
  },
  'a zone that is no zone': {
    text: GOOD.replace('us-central1-a', 'mars'),
    args: SUBMIT,
    wants: [`FILE:3:9: zone: 'mars' is no zone`, '  a zone is a region and a letter, such as us-central1-a'].join('\n'),
  },
  'a pricing that is none': {
    text: GOOD.replace('  zone', '  pricing: cheap\n  zone'),
    args: SUBMIT,
    wants: [
      `FILE:3:12: pricing: 'cheap' is not one of the allowed words`,
      '  allowed: spot, ondemand, preemptible, reserved, flex-start, any',
    ].join('\n'),
  },
  'a name with capitals': {
    text: `name: Train\n${GOOD}`,
    args: SUBMIT,
    wants: [
      `FILE:1:7: name: 'Train' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most`,
      '  such as train',
    ].join('\n'),
  },
  'a requirements file that is not there': {
    text: `${GOOD}venv:\n  name: t\n  requirements_file: no.txt\n`,
    args: SUBMIT,
    wants: [
      `FILE:8:22: requirements_file: 'no.txt' does not exist`,
      `  looked for at DIR/no.txt; a relative path starts at the job file's folder`,
    ].join('\n'),
  },
  'a requirements file that is a folder': {
    text: `${GOOD}venv:\n  name: t\n  requirements_file: folder\n`,
    args: SUBMIT,
    wants: [
      `FILE:8:22: requirements_file: 'folder' is a directory`,
      `  looked for at DIR/folder; a relative path starts at the job file's folder`,
    ].join('\n'),
  },
  'files of two modules that are not there': {
    text: `${GOOD}conda: {name: t, config_file: no.yml}\nfiles: [folder, {from: gone}]\n`,
    args: SUBMIT,
    wants: [
      `FILE:6:31: config_file: 'no.yml' does not exist`,
      `  looked for at DIR/no.yml; a relative path starts at the job file's folder`,
      `FILE:7:17: files[1]: 'gone' does not exist`,
      `  looked for at DIR/gone; a relative path starts at the job file's folder`,
    ].join('\n'),
  },
  'more than one problem': {
    text: 'slices: 0\ntpu:\n  accelerator: v9-8\n',
    args: SUBMIT,
    wants: [
      'FILE:1:9: slices: 0 is not a whole number from 1 to 256',
      `FILE:3:16: accelerator: 'v9-8' is no Cloud TPU type`,
      '  the nearest is v5p-8 (1 host)',
      '  allowed: v5p-8, v5p-16, v5p-32, v5p-64, multiples of 128 (v5p-128, v5p-256 ..) up to v5p-12288, v5p-13824, v5p-17920',
      '  the number counts TensorCores: two a chip',
    ].join('\n'),
  },
  'no such file': {
    args: ['submit', '/nonexistent/train.yaml'],
    wants: [
      '/nonexistent/train.yaml: does not exist',
      '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
    ].join('\n'),
  },
  'a folder for a file': {
    args: ['submit', '/'],
    wants: ['/: is a directory', '  the path of a job file (YAML) is wanted; `jobctl init` writes one'].join('\n'),
  },
  'not text': {
    text: Buffer.from([0x61, 0x3a, 0x20, 0xff]),
    args: SUBMIT,
    wants: ['FILE: is not UTF-8 text', '  the path of a job file (YAML) is wanted; `jobctl init` writes one'].join(
      '\n',
    ),
  },
};

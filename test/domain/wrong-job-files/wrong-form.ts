import { TPU, type WrongFile } from './wrong-file.js';
import { KNOWN_KEYS, LEAST_FILE } from '../job-file-lists.js';

/** Job files whose form is wrong: no YAML, unknown keys, values of another type. */
export const WRONG_FORM: Readonly<Record<string, WrongFile>> = {
  'an empty file': {
    text: '',
    want: ['train.yaml:1:1: the job file is empty', `  ${LEAST_FILE}`],
  },
  'a file that is a list': {
    text: `- a
`,
    want: ['train.yaml:1:1: ["a"] is not a job file', `  ${LEAST_FILE}`],
  },
  'a bracket that is not closed': {
    text: `tpu: {accelerator: v6e-1
name: x`,
    want: ['train.yaml:2:1: not YAML: a bracket is not closed before this line: } is missing'],
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
    want: [
      'train.yaml:2:1: not YAML: more than one document, where one job is wanted (`submit` and `validate` take several, with --- before each)',
    ],
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
  'an anchor that names what it is in': {
    text: `${TPU}env: &e {A: *e}
`,
    want: [
      'train.yaml:2:13: not YAML: an alias (*name) inside of the value that its anchor (&name) names; write the value itself',
    ],
  },
  'a list that is in itself': {
    text: `${TPU}x-a: &x [*x]
`,
    want: [
      'train.yaml:2:10: not YAML: an alias (*name) inside of the value that its anchor (&name) names; write the value itself',
    ],
  },
  'a section merged into itself, some levels down': {
    text: `${TPU}env: &e
  A: {B: [{<<: *e}]}
`,
    want: [
      'train.yaml:3:16: not YAML: an alias (*name) inside of the value that its anchor (&name) names; write the value itself',
    ],
  },
  'a flag whose anchor names what it is in': {
    text: TPU,
    set: ['env=&e {A: *e}'],
    want: [
      '--set env=&e {A: *e}: env: not YAML: an alias (*name) inside of the value that its anchor (&name) names; write the value itself',
    ],
  },
  'a flag with an alias of nothing': {
    text: TPU,
    set: ['env={A: *e}'],
    want: ["--set env={A: *e}: env: '{A: *e}' is not a YAML value", '  put it in quotes'],
  },
  'a grace of years': {
    text: `${TPU}grace: 100000h
`,
    want: ["train.yaml:2:8: grace: '100000h' is out of range", '  from 0s to 24h'],
  },
  'retry for retries': {
    text: `${TPU}retry: {task: 1}
`,
    want: ['train.yaml:2:1: retry: no such key in a job file', '  did you mean retries?'],
  },
  'an unknown key in a section': {
    text: `tpu:
  acelerator: v6e-1
  accelerator: v6e-1
  zone: us-central1-a
`,
    want: ['train.yaml:2:3: acelerator: no such key in tpu', '  did you mean accelerator?'],
  },
  'an unknown key at the top': {
    text: `${TPU}commnad: {run: x}
`,
    want: ['train.yaml:2:1: commnad: no such key in a job file', '  did you mean command?'],
  },
  'a key of another section': {
    text: `${TPU}zone: us-central1-a
`,
    want: ['train.yaml:2:1: zone: no such key in a job file', '  zone belongs to: tpu, compute_engine'],
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
    want: ['train.yaml:2:1: __proto__: no such key in a job file', ...KNOWN_KEYS.map((line) => `  ${line}`)],
  },
  'text where a section belongs': {
    text: `tpu: v5litepod-16
`,
    want: ["train.yaml:1:6: tpu: 'v5litepod-16' is not a section (lines of key: value below it)"],
  },
  'a number where text belongs': {
    text: `tpu: {accelerator: 16, zone: us-central1-a}
`,
    want: ['train.yaml:1:20: accelerator: 16 is not text', `  in quotes it is text: "16" (with --set: 'KEY="16"')`],
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
};

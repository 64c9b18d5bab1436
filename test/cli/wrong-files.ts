import { type BadInput, GOOD } from './bad-input.js';
import { KNOWN_KEYS, LEAST_FILE } from '../domain/job-file-lists.js';

/** A file of `text`, and the lines that `validate` says of it. */
const wrong = (text: string | Uint8Array, ...lines: readonly string[]): BadInput => ({
  text,
  args: ['validate', 'FILE'],
  wants: lines.join('\n'),
});

/** Job files as people write them: bytes of another kind, YAML of another form, values that a key does not take. */
export const WRONG_FILES: Readonly<Record<string, BadInput>> = {
  'UTF-16, as Windows editors save Unicode': wrong(
    Buffer.from(`\ufeff${GOOD}`, 'utf16le'),
    'FILE: is UTF-16 text, and UTF-8 is wanted: save it as UTF-8',
    '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
  ),
  'a program (a byte 0)': wrong(
    Buffer.from('\u007fELF\u0002\u0001\u0001\0\0'),
    'FILE: is no text file: it holds a byte 0',
    '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
  ),
  'more bytes than a job file has': wrong(
    `${GOOD}# ${'x'.repeat(600_000)}`,
    'FILE: has more than 500000 bytes, and that is the most',
    '  the path of a job file (YAML) is wanted; `jobctl init` writes one',
  ),
  'blanks alone': wrong('\n\n   \n', 'FILE:1:1: the job file is empty', `  ${LEAST_FILE}`),
  'comments alone': wrong('# a job\n', 'FILE:1:1: the job file is empty', `  ${LEAST_FILE}`),
  'Windows line ends and a wrong key': wrong(
    `${GOOD}comand: {run: x}\n`.replaceAll('\n', '\r\n'),
    'FILE:6:1: comand: no such key in a job file',
    '  did you mean command?',
  ),
  'a text alone': wrong('train\n', "FILE:1:1: 'train' is not a job file", `  ${LEAST_FILE}`),
  'a number alone': wrong('7\n', 'FILE:1:1: 7 is not a job file', `  ${LEAST_FILE}`),
  'a section that is a text': wrong(
    'tpu: v5litepod-16\ncommand: {run: x}\n',
    "FILE:1:6: tpu: 'v5litepod-16' is not a section (lines of key: value below it)",
  ),
  'a section that is a list': wrong(
    'tpu: [v5litepod-16]\ncommand: {run: x}\n',
    'FILE:1:6: tpu: ["v5litepod-16"] is not a section (lines of key: value below it)',
  ),
  'a key of two words': wrong(
    `${GOOD}max retries: 3\n`,
    'FILE:6:1: max retries: no such key in a job file',
    ...KNOWN_KEYS.map((line) => `  ${line}`),
  ),
  'a key with capitals': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  Zone: us-central1-a\ncommand:\n  run: echo hi\n',
    'FILE:3:3: Zone: no such key in tpu',
    '  did you mean zone?',
  ),
  'a dash for an underscore': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  allocation-mode: tpu-vm\n  zone: us-central1-a\ncommand:\n  run: echo hi\n',
    'FILE:3:3: allocation-mode: no such key in tpu',
    '  did you mean allocation_mode?',
  ),
  'a quote that is not closed': wrong(
    `name: "train\n${GOOD}`,
    'FILE:7:1: not YAML: a bracket, quote, comma or colon is missing here or before',
  ),
  'a colon that is missing': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zone us-central1-a\ncommand:\n  run: echo hi\n',
    'FILE:3:3: not YAML: a bracket, quote, comma or colon is missing here or before',
  ),
  'a duration without its unit': wrong(
    `timeouts: {run: 90x}\n${GOOD}`,
    "FILE:1:17: run: '90x' is not a number of seconds or a duration such as 90s, 5m or 1h",
  ),
  'a duration in words': wrong(
    `timeouts: {run: 2 hours}\n${GOOD}`,
    "FILE:1:17: run: '2 hours' is not a number of seconds or a duration such as 90s, 5m or 1h",
  ),
  'a duration that is negative': wrong(
    `timeouts: {run: -5m}\n${GOOD}`,
    "FILE:1:17: run: '-5m' is not a number of seconds or a duration such as 90s, 5m or 1h",
  ),
  'a date for a duration': wrong(
    `timeouts: {run: 2026-11-24}\n${GOOD}`,
    "FILE:1:17: run: '2026-11-24' is not a number of seconds or a duration such as 90s, 5m or 1h",
  ),
  'a grace that is a word': wrong(
    `grace: soon\n${GOOD}`,
    "FILE:1:8: grace: 'soon' is not a number of seconds or a duration such as 90s, 5m or 1h",
  ),
  'a truth value that is a word': wrong(`loop: maybe\n${GOOD}`, "FILE:1:7: loop: 'maybe' is not true or false"),
  'yes for true': wrong(`loop: yes\n${GOOD}`, "FILE:1:7: loop: 'yes' is not true or false"),
  'slices that are no whole number': wrong(
    `slices: 1.5\n${GOOD}`,
    'FILE:1:9: slices: 1.5 is not a whole number from 1 to 256',
  ),
  'slices that are huge': wrong(
    `slices: 99999999999999999999\n${GOOD}`,
    'FILE:1:9: slices: 100000000000000000000 is not a whole number from 1 to 256',
  ),
  'a command that is a text': wrong(
    'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand: python3 train.py\n',
    "FILE:2:10: command: 'python3 train.py' is not a section (lines of key: value below it)",
  ),
  'a command that is a list': wrong(
    'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand: {run: [python3, train.py]}\n',
    'FILE:2:16: run: ["python3","train.py"] is not text\n  a line is wanted: python3 train.py',
  ),
  'a command whose text counts twice, as submit counts': wrong(
    `name: t\ntpu: {accelerator: v5litepod-16, zone: us-central1-a}\ncommand:\n  run: ${'x'.repeat(200_000)}\n`,
    'FILE: input: the job is 400202 bytes of JSON, and 393216 are the most',
    '  put long values into a file of the job (files:, bundle:), which goes through the bucket; `env` is for short ones',
  ),
  'a command that is empty': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zone: us-central1-a\ncommand:\n  run: ""\n',
    "FILE:5:8: run: '' is not text of one character or more",
  ),
  'a zone of another cloud': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zone: eu-west-1\ncommand:\n  run: echo hi\n',
    "FILE:3:9: zone: 'eu-west-1' is no zone",
    '  a zone is a region and a letter, such as us-central1-a',
  ),
  'a zone with a letter too many': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zone: us-central1-aa\ncommand:\n  run: echo hi\n',
    "FILE:3:9: zone: 'us-central1-aa' is no zone",
    '  a zone is a region and a letter, such as us-central1-a',
  ),
  'a zone beside zones': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zones: [us-east1-d]\n  zone: us-central1-a\ncommand:\n  run: echo hi\n',
    'FILE:3:10: zones: zone and zones are both given',
    '  keep zones, in order of preference',
  ),
  'zones that are a text': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  zones: us-central1-a\ncommand:\n  run: echo hi\n',
    "FILE:3:10: zones: 'us-central1-a' is not a list of zones, or any",
  ),
  'a GPU': wrong(
    'tpu:\n  accelerator: a100-8\n  zone: us-central1-a\ncommand:\n  run: echo hi\n',
    "FILE:2:16: accelerator: 'a100-8' is no Cloud TPU type",
    '  allowed: v2, v3, v4, v5litepod, v5p, v6e, each with its sizes, such as v5litepod-16',
  ),
  'an accelerator without its size': wrong(
    'tpu:\n  accelerator: v5litepod\n  zone: us-central1-a\ncommand:\n  run: echo hi\n',
    "FILE:2:16: accelerator: 'v5litepod' is no Cloud TPU type",
    '  allowed: v5litepod-1, v5litepod-4, v5litepod-8, v5litepod-16, v5litepod-32, v5litepod-64, v5litepod-128, v5litepod-256',
  ),
  'a topology of another type': wrong(
    'tpu:\n  accelerator: v5litepod-16\n  topology: 9x9\n  zone: us-central1-a\ncommand:\n  run: echo hi\n',
    "FILE:3:13: topology: '9x9' is no topology of v5litepod-16",
    '  v5litepod-16 has 16 chips: 4x4 is the usual one, and the only one',
  ),
  'a variable whose name is no name': wrong(
    `env: {1A: x}\n${GOOD}`,
    "FILE:1:11: 1A: '1A' is no name of a variable",
    '  letters, digits and _; no digit first',
  ),
  'a variable that is a list': wrong(
    `env: {A: [1]}\n${GOOD}`,
    "FILE:1:10: A: [1] is not text, a number, true or false ('' for an empty text)",
  ),
  'a variable of the environment that is not set': wrong(
    `name: \${oc.env:NOT_SET_HERE}\n${GOOD}`,
    "FILE:1:7: name: '${oc.env:NOT_SET_HERE}': no variable NOT_SET_HERE in the environment",
    '  set NOT_SET_HERE, or write ${oc.env:NOT_SET_HERE,default}',
  ),
  'a reference to itself': wrong(
    `name: \${name}\n${GOOD}`,
    "FILE:1:7: name: '${name}' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most",
    '  such as name',
  ),
  'a reference that is not closed': wrong(
    `name: "\${tpu.zone"\n${GOOD}`,
    "FILE:1:8: name: '${tpu.zone' is not a name of small letters, digits and dashes that starts with a letter, 40 characters at most",
    '  such as tpu-zone',
  ),
  'an alias without an anchor': wrong(
    `name: *x\n${GOOD}`,
    'FILE:1:1: not YAML: an alias (*name) without the anchor (&name) that it names',
  ),
  'outputs that leave the folder': wrong(
    `outputs: [../../etc]\n${GOOD}`,
    "FILE:1:11: outputs[0]: '../../etc' is a path that leads out of that folder",
    '  a path relative to the folder in which the command starts, such as out or "*.ckpt"',
  ),
  'outputs with an absolute path': wrong(
    `outputs: [/etc]\n${GOOD}`,
    "FILE:1:11: outputs[0]: '/etc' is an absolute path",
    '  a path relative to the folder in which the command starts, such as out or "*.ckpt"; for other places write to $JOBCTL_OUTPUT_DIR',
  ),
  'a bundle that does not exist': wrong(
    `bundle: nowhere\n${GOOD}`,
    "FILE:1:1: dir: 'nowhere' does not exist",
    "  looked for at DIR/nowhere; a relative path starts at the job file's folder",
  ),
  'a notify that is no URL': wrong(
    `notify: nobody\n${GOOD}`,
    "FILE:1:9: notify: 'nobody' is not a section {on, to} or a list of such",
  ),
  'keep without its time': wrong(
    `keep: sometimes\n${GOOD}`,
    "FILE:1:7: keep: 'sometimes' is not never, on-failure, always, or a section {when, for}",
  ),
  'a list where a worker is wanted': wrong(
    `${GOOD}  workers: [0, 9]\n`,
    'FILE:6:16: workers[1]: 9 is no host of v5litepod-16',
    '  v5litepod-16 has 4 hosts: 0 to 3; workers is an index, not a count',
  ),
};

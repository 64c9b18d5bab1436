import { TPU, type WrongFile } from './wrong-file.js';

const TOPICS =
  '  topics: queued, started, refused, preempted, lost, retried, stuck, asked, idle, over-budget, paused, resumed, saved, succeeded, failed, cancelled, ended, or a kind of event by its name (docs/notify.md)';

/** References, commands, budgets, names and targets that are wrong; wrong `--set`. */
export const WRONG_VALUES: Readonly<Record<string, WrongFile>> = {
  'a reference to nothing': {
    text: `${TPU}command:
  run: |
    echo one
    echo \${tpu.zon}
`,
    want: [
      `train.yaml:5:10: run: '\${tpu.zon}' refers to nothing in this file`,
      `  the nearest is \${tpu.zone}`,
      `  for a reference that another program resolves, write $\${tpu.zon}`,
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
  'a duration in days': {
    text: `${TPU}timeouts: {queue: 2d}
`,
    want: [
      "train.yaml:2:19: queue: '2d' is not a number of seconds or a duration such as 90s, 5m or 1h; days are no unit here: 2d is 48h",
    ],
  },
  'a duration in days, beside a word': {
    text: `${TPU}max_unattended: 3days
`,
    want: [
      "train.yaml:2:17: max_unattended: '3days' is not a number of seconds or a duration such as 90s, 5m or 1h; days are no unit here: 3days is 72h",
    ],
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
      '  known here: stop, queue, provision, setup, device, run, no_output, unreachable',
    ],
  },
  'a silence that is too short to be found': {
    text: `${TPU}timeouts: {no_output: 4s}
`,
    want: ["train.yaml:2:23: no_output: '4s' is shorter than 5 s", '  such as 30m'],
  },
  'a silence in words': {
    text: `${TPU}timeouts: {no_output: long}
`,
    want: ["train.yaml:2:23: no_output: 'long' is not a number of seconds or a duration such as 90s, 5m or 1h"],
  },
  'a bundle that is no folder, or has keys of nothing': {
    text: `${TPU}bundle: {folder: ., exclude: .git, gitignore: no}
`,
    want: [
      'train.yaml:2:1: bundle.dir: is missing',
      '  such as dir: . , the folder of the job file',
      'train.yaml:2:10: folder: no such key in bundle',
      '  known here: dir, exclude, gitignore, install',
      "train.yaml:2:30: exclude: '.git' is not a list of texts",
      "train.yaml:2:47: gitignore: 'no' is not true or false",
    ],
  },
  'a bundle of a number': {
    text: `${TPU}bundle: 3
`,
    want: ['train.yaml:2:9: bundle: 3 is not a folder, or a section {dir, exclude, gitignore, install}'],
  },
  'a bundle that is to be installed beside an image': {
    text: `${TPU}docker: {image: x}
bundle: {dir: ., install: pip install -e .}
`,
    want: [
      'train.yaml:3:27: install: the command runs in an image, and what is installed on the host is not in it',
      '  put it before the command, or into the image',
    ],
  },
  'a bundle that is to be installed into what is not made yet': {
    text: `${TPU}setup: {modules: [bundle, venv]}
venv: {name: a}
bundle: {dir: ., install: make}
`,
    want: [
      'train.yaml:4:27: install: bundle stands before venv in setup.modules, and is installed into it',
      '  put bundle behind venv, or leave it out of the list',
    ],
  },
  'a bundle that is listed and not there': {
    text: `${TPU}setup: {modules: [bundle]}
bundle: false
`,
    want: [
      'train.yaml:2:19: modules[0]: module bundle needs a section bundle',
      '  such as bundle: . , the folder of the job file',
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
    want: ["train.yaml:2:9: notify: 'me' is not a section {on, to} or a list of such"],
  },
  'a notify with a key that is none, and one that is missing': {
    text: `${TPU}notify: {to: {workflow: {id: a, sginal: b}}}\n`,
    want: [
      'train.yaml:2:15: notify.to.workflow.signal: is missing',
      '  such as notify: {on: [preempted, ended], to: {workflow: {id: my-workflow, signal: jobNews}}}',
      'train.yaml:2:33: sginal: no such key in notify.to.workflow',
      '  did you mean signal?',
      '  known here: id, signal',
    ],
  },
  'a list of notify with targets that cannot be told': {
    text: `${TPU}notify: [{to: {workflow: {id: ${'a'.repeat(256)}, signal: __temporal_x}}}]\n`,
    want: [
      `train.yaml:2:31: id: '${'a'.repeat(56)}... is too long: 256 characters`,
      '  255 at most',
      "train.yaml:2:297: signal: '__temporal_x' is a name that Temporal keeps for itself",
      '  take another name',
    ],
  },
  "a notify that names jobctl's own workflows and signals": {
    text: `${TPU}notify:
  - to: {workflow: {id: quota/default, signal: leaseMessages}}
  - to: {workflow: {id: slice/x, signal: jobEnded}}
  - to: {workflow: {id: jobctl-janitor-workflow-1, signal: jobEnded}}
  - to: {workflow: {id: victim-1, signal: revoked}}
`,
    want: [
      "train.yaml:3:25: id: 'quota/default' is a workflow of jobctl itself",
      '  name a workflow of yours',
      "train.yaml:3:48: signal: 'leaseMessages' is a signal between the workflows of jobctl",
      '  take another name, such as jobEnded',
      "train.yaml:4:25: id: 'slice/x' is a workflow of jobctl itself",
      '  name a workflow of yours',
      "train.yaml:5:25: id: 'jobctl-janitor-workflow-1' is a workflow of jobctl itself",
      '  name a workflow of yours',
      "train.yaml:6:43: signal: 'revoked' is a signal between the workflows of jobctl",
      '  take another name, such as jobEnded',
    ],
  },
  'a notify of eleven targets': {
    text: `${TPU}notify: [${'{to: {workflow: {id: a, signal: b}}}, '.repeat(11)}]\n`,
    want: ['train.yaml:2:9: notify: has 11 rules', '  10 at most'],
  },
  'a notify of the form without to': {
    text: `${TPU}notify:\n  - {workflow: {id: a, signal: b}}\n  - {on: [ended], webhook: "https://example.org/"}\n`,
    want: [
      'train.yaml:3:6: workflow: no such key in notify[0]',
      '  write it below to: notify[0]: {to: {workflow: {"id":"a","signal":"b"}}}',
      'train.yaml:4:19: webhook: no such key in notify[1]',
      '  write it below to: notify[1]: {to: {webhook: https://example.org/}}',
    ],
  },
  'topics of notify that are none, or there twice': {
    text: `${TPU}notify: {on: [preemted, ended, ended, notified], to: {channel: ops}}\n`,
    want: [
      "train.yaml:2:15: on[0]: 'preemted' is no topic",
      '  did you mean preempted?',
      TOPICS,
      "train.yaml:2:32: on[2]: 'ended' is in the list twice",
      '  keep one',
      "train.yaml:2:39: on[3]: 'notified' is no topic",
      TOPICS,
    ],
  },
  'targets of notify that nobody could reach, or that could reach others': {
    text: `${TPU}notify:
  - to: {webhook: "http://example.org/x", secret: key}
  - to: {webhook: "https://ann:hunter2@example.org/", secret: key}
  - to: {webhook: "https://example.org/#x"}
  - to: {webhook: "ftp://example.org/", secret: "https://hooks.example.org"}
  - to: {slack: {secret: "xoxb-1"}, mail: [ann@example.org]}
  - to: {mail: ["ann@example.org\\nBcc: bob@example.org", ann, "a@b.org", "a@b.org"]}
  - to: {mail: []}
  - to: {slack: {}}
  - {on: [], to: {channel: "#ops"}}
`,
    want: [
      "train.yaml:3:19: webhook: 'http://example.org/x' is not https",
      '  http is for this computer alone (http://127.0.0.1:PORT), if its worker allows it',
      "train.yaml:4:19: webhook: 'https://..@example.org/' is a URL with a login",
      '  leave out what stands before @: the signature proves the sender',
      'train.yaml:5:5: notify[2].to.secret: is missing',
      '  the name of the secret with its signing key: jobctl secret put NAME (docs/notify.md)',
      "train.yaml:5:19: webhook: 'https://example.org/#x' is a URL with a fragment",
      '  leave out # and what follows',
      "train.yaml:6:19: webhook: 'ftp://example.org/' is no https URL",
      '  such as https://example.org/jobs',
      'train.yaml:6:49: notify[3].to.secret: is no name of a secret',
      "  a secret's name: a letter, then letters, digits, - and _; 100 characters at most",
      '  the name of the secret with its signing key: jobctl secret put NAME (docs/notify.md)',
      'train.yaml:7:9: to: has slack and mail',
      '  a target is one of them; several targets are a list: notify: [{to: ..}, {to: ..}]',
      "train.yaml:8:17: mail[0]: 'ann@example.org\\nBcc: bob@example.org' is no mail address",
      '  such as ann@example.org',
      "train.yaml:8:58: mail[1]: 'ann' is no mail address",
      '  such as ann@example.org',
      "train.yaml:8:74: mail[3]: 'a@b.org' is in the list twice",
      '  keep one',
      'train.yaml:9:16: mail: is an empty list',
      '  such as mail: [ann@example.org]',
      'train.yaml:10:10: notify[7].to.slack.secret: is missing',
      '  the name of the secret with the URL of the incoming webhook: jobctl secret put NAME (docs/notify.md)',
      'train.yaml:11:10: on: is an empty list',
      '  leave it out for [ended], or remove the rule',
      "train.yaml:11:28: channel: '#ops' is no name of a channel",
      '  a letter, then letters, digits, - and _',
    ],
  },
  'two rules of notify for one target': {
    text: `${TPU}notify:\n  - {on: [started], to: {channel: ops}}\n  - {to: {channel: ops}}\n`,
    want: [
      'train.yaml:4:10: to: is the target of notify[0] too',
      '  put the topics of both into one list: on: [..] in notify[0]',
    ],
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
      '  small letters, digits and - _ .; 32 at most',
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
      `  for a reference that another program resolves, write $\${a.b}`,
    ],
  },
  '--set of an unknown key': {
    text: `${TPU}`,
    set: ['priorty=2'],
    want: ['--set priorty=2: priorty: no such key in a job file', '  did you mean priority?'],
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
    want: ['--set tpu.tags=[a, 1]: tpu.tags[1]: 1 is not text', `  in quotes it is text: "1" (with --set: 'KEY="1"')`],
  },
};

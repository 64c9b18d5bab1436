import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import type { FanoutHost } from './inventory.js';
import { checkOutput, type Work } from './work.js';

/** A tool that a user would pick instead, set up as its manual says is fastest. Every exit code and byte is checked. */
export interface Peer {
  readonly name: string;
  run(): Promise<void>;
}

/** Files that these tools read: one ssh_config with the hosts as aliases (`h0`, ..), and a list of the aliases. */
export class PeerFiles {
  readonly folder = mkdtempSync(join(tmpdir(), 'bench-peers-'));
  readonly config = join(this.folder, 'ssh_config');
  readonly names: readonly string[];

  constructor(hosts: readonly FanoutHost[]) {
    this.names = hosts.map((_, index) => `h${index}`);
    mkdirSync(join(this.folder, 'masters'), { mode: 0o700 });
    writeFileSync(this.config, hosts.map((host, index) => hostEntry(`h${index}`, host)).join('') + SETTINGS);
    writeFileSync(join(this.folder, 'inventory'), `${this.names.join('\n')}\n`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const hostEntry = (name: string, { host, port, user, keyFile, knownHostsFile }: FanoutHost): string => `Host ${name}
  HostName ${host}
  Port ${port}
  User ${user}
  IdentityFile ${keyFile}
  UserKnownHostsFile ${knownHostsFile}
`;

/** The settings that docs/facts.md, "Hosts over SSH", calls tuned: one identity, no GSSAPI, no second attempt. */
const SETTINGS = `Host *
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  IdentitiesOnly yes
  IdentityAgent none
  GSSAPIAuthentication no
  PreferredAuthentications publickey
  BatchMode yes
  LogLevel ERROR
`;

/** JobMan's way: one process and one connection for each step and host; all hosts of a step run at the same time. */
export function sshLoop({ config, names }: PeerFiles, work: Work): Peer {
  return {
    name: 'ssh, one for each step and host (JobMan)',
    run: () => stepByStep('ssh', names, work, (name, step) => ['ssh', '-n', '-F', config, name, step]),
  };
}

export function controlMaster({ config, folder, names }: PeerFiles, work: Work): Peer {
  const shared = ['-F', config, '-o', `ControlPath=${folder}/masters/%n`];
  return {
    name: 'OpenSSH ControlMaster, one channel for each step',
    run: async () => {
      await Promise.all(names.map((name) => output(['ssh', ...shared, '-o', 'ControlMaster=yes', '-fnNT', name])));
      await stepByStep('ControlMaster', names, work, (name, step) => ['ssh', '-n', ...shared, name, step]);
      await Promise.all(names.map((name) => output(['ssh', ...shared, '-O', 'exit', name])));
    },
  };
}

export function pdsh({ config, names }: PeerFiles, work: Work): Peer {
  const env = { PDSH_SSH_ARGS: `-F ${config} %h` };
  return {
    name: 'pdsh, all steps in one call',
    run: async () => {
      const words = ['pdsh', '-S', '-R', 'ssh', '-f', String(names.length), '-w', names.join(','), work.script];
      checkLabelled('pdsh', names, work, await output(words, { env }));
    },
  };
}

/** Ansible's `raw` module, which needs nothing on the host, with a fork and a lasting connection for each host. */
export function ansible({ config, folder, names }: PeerFiles, work: Work): Peer {
  const playbook = join(folder, 'playbook.yml');
  const tasks = work.steps.map((step) => ({ raw: step }));
  writeFileSync(playbook, JSON.stringify([{ hosts: 'all', gather_facts: false, tasks }]));
  const env = {
    ANSIBLE_FORKS: String(names.length),
    ANSIBLE_STDOUT_CALLBACK: 'minimal',
    ANSIBLE_HOME: join(folder, 'ansible'),
    ANSIBLE_LOCAL_TEMP: join(folder, 'ansible'),
    ANSIBLE_SSH_ARGS: `-F ${config} -o ControlMaster=auto -o ControlPersist=5s`,
    ANSIBLE_SSH_CONTROL_PATH: `${folder}/masters/a-%%h`,
    LC_ALL: 'C.UTF-8',
  };
  return {
    name: 'ansible raw, forks = hosts',
    run: async () => {
      const text = await output(['ansible-playbook', '-i', join(folder, 'inventory'), playbook], { env });
      const printed = printedByAnsible(text.replaceAll('\r', ''));
      for (const name of names) checkOutput('ansible', name, printed.get(name) ?? '', work);
    },
  };
}

/** Output by host. Each task of a host is a block such as `h0 | CHANGED | rc=0 >>`, its output, and an empty line. */
function printedByAnsible(text: string): ReadonlyMap<string, string> {
  const printed = new Map<string, string>();
  for (const block of text.split('\n\n')) {
    const [title = '', ...lines] = block.trim().split('\n');
    const [name = '', , code] = title.split(' | ');
    if (code === 'rc=0 >>') printed.set(name, `${printed.get(name) ?? ''}${lines.join('\n')}\n`);
  }
  return printed;
}

export const isInstalled = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));

async function stepByStep(
  way: string,
  names: readonly string[],
  work: Work,
  command: (name: string, step: string) => readonly string[],
): Promise<void> {
  const printed = names.map(() => '');
  for (const step of work.steps) {
    const outputs = await Promise.all(names.map((name) => output(command(name, step))));
    outputs.forEach((text, index) => (printed[index] += text));
  }
  names.forEach((name, index) => checkOutput(way, name, printed[index] ?? '', work));
}

/** Checks output whose lines begin with a host, such as `h0: step-1`, in any order of hosts. */
function checkLabelled(way: string, names: readonly string[], work: Work, text: string): void {
  const printed = new Map<string, string>();
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [name = ''] = line.split(':', 1);
    printed.set(name, `${printed.get(name) ?? ''}${line.slice(name.length + 2)}\n`);
  }
  for (const name of names) checkOutput(way, name, printed.get(name) ?? '', work);
}

/** Runs a program and returns its stdout. @throws Error if its exit code is not 0 */
export function output(
  words: readonly string[],
  { env = {}, stdin }: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {},
): Promise<string> {
  const [program = '', ...rest] = words;
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.stdin.on('error', () => undefined).end(stdin ?? '');
    child.once('error', reject);
    // A master that went to the background keeps stderr open: the end of the process counts, not that of its streams.
    child.once('exit', (code, signal) => {
      const fail = (): void =>
        reject(new Error(`${words.slice(0, 8).join(' ')}: ended with ${code ?? signal}: ${errors}`));
      if (code !== 0) return void setImmediate(fail);
      if (words.includes('-fnNT')) return resolve(out);
      if (child.stdout.closed) return resolve(out);
      child.stdout.once('close', () => resolve(out));
    });
  });
}

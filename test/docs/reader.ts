import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { shellQuote, shellWords } from '../../domain/shell-quote.js';
import { until } from '../until.js';
import { ASKING, AT_GOOGLE, BESIDE, COMMAND_MS, ENDLESS, filesFor, HERE, JOB, sceneOf, SLOW } from './scenes.js';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/cli/main.js');

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  hasEnded(): boolean;
  output(): string;
  /** As Ctrl-C. */
  interrupt(): void;
}

export const spareJob = (page: string): string => `spare-${page.replaceAll(/\W/gu, '-').toLowerCase()}`;

/** A researcher's folder, with what the pages speak of, in a home of its own with a local stack. */
export class Reader {
  readonly home = mkdtempSync(join(tmpdir(), 'jobctl-docs-'));
  readonly folder = join(this.home, 'work');
  readonly #environment: Record<string, string>;
  readonly #google: Readonly<Record<string, string>>;
  #beside: Running | undefined;

  /**
   * @param temporalCli the program `temporal`
   * @param google the environment of a login at Google, which a rehearsal with authentication stands in for
   */
  constructor(temporalCli: string, google: Readonly<Record<string, string>>) {
    this.#google = google;
    for (const folder of [
      'bin',
      'work/node_modules/.bin',
      'work/configs',
      'work/bundled',
      'work/test/incidents',
      'state',
      'my-training',
    ])
      mkdirSync(join(this.home, folder), { recursive: true });
    symlinkSync(MAIN, join(this.home, 'bin/jobctl'));
    symlinkSync(MAIN, join(this.folder, 'node_modules/.bin/jobctl'));
    cpSync(join(ROOT, 'examples'), join(this.folder, 'examples'), { recursive: true });
    cpSync(join(ROOT, 'test/cli/migrating/jobman'), this.folder, { recursive: true });
    const files = {
      'work/package.json': '{}',
      'work/train.yaml': JOB.replace('train-7f3k', 'train').replace(/command: .*/u, 'command: { run: echo trained }'),
      'work/job.yaml': JOB.replace('train-7f3k', 'job').replace(/command: .*/u, 'command: { run: echo trained }'),
      'work/7f3k.yaml': JOB,
      'work/task.yaml': 'resources: {accelerators: tpu-v6e-8, use_spot: true}\nrun: python3 train.py\n',
      'work/Dockerfile': 'FROM scratch\n',
      'work/train.py': "print('trained')\n",
      'work/requirements.txt': '',
      'work/configs/small.json': '{}',
      'work/bundled/train.py': '',
      'work/spec.json': JSON.stringify({ name: 'x', command: 'python3 x.py', metadata: { resources: { v4: 8 } } }),
      'my-training/train.py': "import os\nopen(os.environ['JOBCTL_OUTPUT_DIR'] + '/result', 'w').write('trained')\n",
      '.wandb-key': 'secret',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.home, name), text);
    symlinkSync(join(this.home, 'my-training'), join(this.folder, 'my-training'));
    this.#environment = {
      PATH: `${join(this.home, 'bin')}:${dirname(temporalCli)}:${process.env['PATH'] ?? ''}`,
      HOME: this.home,
      XDG_CACHE_HOME: join(process.env['HOME'] ?? '/root', '.cache'),
      JOBCTL_HOME: join(this.home, 'state'),
      LANG: 'C.UTF-8',
    };
  }

  /** Brings the files that a page speaks of. */
  opens(page: string): void {
    for (const [name, text] of Object.entries(filesFor(ROOT, page))) writeFileSync(join(this.folder, name), text);
  }

  /** Runs a command to its end. */
  async runs(command: string, page: string): Promise<Ended> {
    const running = this.#starts(this.#mine(command, page), page);
    const endless = sceneOf(ENDLESS, page, command);
    const beside = sceneOf(BESIDE, page, command);
    const prints = (endless ?? beside)?.prints;
    const ms = sceneOf(SLOW, page, command)?.ms ?? COMMAND_MS;
    if (prints !== undefined)
      await until(`${command} prints`, () => running.hasEnded() || prints.test(running.output()), ms - 10_000);
    if (beside !== undefined) {
      this.#beside = running;
      return { code: running.hasEnded() ? 1 : 0, output: running.output() };
    }
    if (endless !== undefined) running.interrupt();
    const { code, output } = await running.ended;
    return { code: endless !== undefined && (code === 130 || code === null) ? 0 : code, output };
  }

  /** The end of the command that was left running beside the others. */
  async beside(): Promise<Ended | undefined> {
    const ended = await this.#beside?.ended;
    this.#beside = undefined;
    return ended;
  }

  /** What a page calls JOB is a job of that page alone, and the computer's own files are left alone. */
  #mine(command: string, page: string): string {
    let text = command.replaceAll(/\bJOB\b/gu, spareJob(page)).replaceAll('/etc/jobctl/', `${this.folder}/`);
    for (const [name, here] of Object.entries(HERE)) text = text.replaceAll(name, here);
    if (sceneOf(AT_GOOGLE, page, command) !== undefined) {
      const home = join(this.home, '.local/state/jobctl-gcp');
      const variables = Object.entries({ ...this.#google, JOBCTL_HOME: home }).map(
        ([name, value]) => `${name}=${value}`,
      );
      // On port 22 another rehearsal may listen.
      text = `(export ${shellWords(variables)}\n${text.replace('--cloud gcp', '--cloud gcp --ssh-port 2222')}\n)`;
    }
    const asking = sceneOf(ASKING, page, command);
    return asking === undefined ? text : `script -qec ${shellQuote(text)} /dev/null <<< ${asking.answer}`;
  }

  /** What a command exports, and where it goes, holds for the next one of its page. */
  #starts(command: string, page: string): Running {
    const state = join(this.home, `${page.replaceAll('/', '-')}.state`);
    const before = existsSync(state) ? `. '${state}'\n` : `cd '${this.folder}'\n`;
    const script = `${before}set -a\n${command}\ncode=$?\n{ export -p; printf 'cd %q\\n' "$PWD"; } > '${state}'\nexit $code`;
    const child = spawn('bash', ['-c', script], {
      env: this.#environment,
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    let hasEnded = false;
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code) => {
        hasEnded = true;
        resolve({ code, output });
      }),
    );
    return {
      ended,
      hasEnded: () => hasEnded,
      output: () => output,
      interrupt: () => void (!hasEnded && child.pid !== undefined && process.kill(-child.pid, 'SIGINT')),
    };
  }

  async leave(): Promise<void> {
    await this.runs('jobctl dev down', 'leave');
    await this.runs('jobctl dev down --yes', 'docs/google-cloud.md');
    rmSync(this.home, { recursive: true, force: true });
  }
}

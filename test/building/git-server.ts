import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { listening } from './listening.js';

export interface GitServerOptions {
  /** An address of this computer. */
  readonly host?: string;
  /** Who has it as the password of a login may fetch. Absent: everybody. */
  readonly token?: string;
}

/** A git server over HTTP, with git's own program behind it, and repositories that tests push to. */
export class GitServer {
  readonly url: string;
  readonly #root: string;
  readonly #close: () => Promise<void>;
  #count = 0;

  private constructor(url: string, root: string, close: () => Promise<void>) {
    [this.url, this.#root, this.#close] = [url, root, close];
  }

  static async start({ host, token }: GitServerOptions = {}): Promise<GitServer> {
    const root = mkdtempSync(join(tmpdir(), 'git-server-'));
    const wanted = token === undefined ? undefined : Buffer.from(`x-access-token:${token}`).toString('base64');
    const server = createServer((request, response) => {
      // A scheme's case is free (RFC 9110): BuildKit writes `basic`.
      const given = /^basic (.*)$/i.exec(request.headers.authorization ?? '')?.[1];
      if (wanted === undefined || given === wanted) return serve(root, request, response);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
    });
    const { url, close } = await listening(server, host);
    return new GitServer(url, root, close);
  }

  /** A working tree whose remote is here, with these files in its first commit. */
  repository(files: Readonly<Record<string, string>>): GitTree {
    const name = `r${(this.#count += 1)}`;
    execFileSync('git', ['init', '-q', '--bare', join(this.#root, `${name}.git`)]);
    const tree = new GitTree(
      join(this.#root, 'trees', name),
      join(this.#root, `${name}.git`),
      `${this.url}/${name}.git`,
    );
    tree.publish(files);
    return tree;
  }

  async stop(): Promise<void> {
    await this.#close();
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 3 });
  }
}

export class GitTree {
  readonly folder: string;
  /** As a cluster fetches it. */
  readonly url: string;
  readonly #bare: string;

  constructor(folder: string, bare: string, url: string) {
    [this.folder, this.#bare, this.url] = [folder, bare, url];
    execFileSync('git', ['init', '-q', folder]);
    this.git('remote', 'add', 'origin', url);
  }

  git(...words: string[]): string {
    const user = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', this.folder];
    return execFileSync('git', [...user, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  }

  get head(): string {
    return this.git('rev-parse', 'HEAD');
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  commit(files: Readonly<Record<string, string>>): string {
    this.write(files);
    this.git('add', '.');
    this.git('commit', '-qm', 'x');
    return this.head;
  }

  /** To where the remote is, whatever its URL; git knows of it as after a push. */
  push(remote = 'origin'): void {
    this.git('push', '-q', this.#bare, 'HEAD');
    this.git('update-ref', `refs/remotes/${remote}/${this.git('branch', '--show-current')}`, 'HEAD');
  }

  /** Commits and pushes. @returns the commit */
  publish(files: Readonly<Record<string, string>>): string {
    this.commit(files);
    this.push();
    return this.head;
  }
}

/** git http-backend(1) as a CGI program. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://x');
  const header = (name: string): string => String(request.headers[name] ?? '');
  const backend = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env['PATH'], GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: '1' },
      ...{ PATH_INFO: pathname, QUERY_STRING: search.slice(1), REQUEST_METHOD: request.method },
      ...{ CONTENT_TYPE: header('content-type'), HTTP_CONTENT_ENCODING: header('content-encoding') },
      GIT_PROTOCOL: header('git-protocol'),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(backend.stdin);
  backend.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.on('close', () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf('\r\n\r\n');
    const lines = answer.subarray(0, Math.max(0, end)).toString().split('\r\n');
    const headers = lines.map((line) => line.split(/:\s*/, 2) as [string, string]);
    const status = Number(headers.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? (end < 0 ? 500 : 200));
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    response.end(answer.subarray(end + 4));
  });
}

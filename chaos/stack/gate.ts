import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellQuote } from '../../domain/shell-quote.js';

/** One connection. `proxies/PID` exists as long as it, `closed` while nothing may pass. $1 folder, $2 address, $3 port. */
const PROXY = `#!/bin/bash
: > "$1/proxies/$$"
trap 'rm -f "$1/proxies/$$"' EXIT
while [ -e "$1/closed" ]; do
  [ -e "$1/refusing" ] && exit 1
  sleep 0.2
done
exec 3<>"/dev/tcp/$2/$3" || exit 1
# Either side ends both, as with netcat.
cat <&3 & reader=$!
exec 4<&0 1>&-
cat <&4 >&3 & writer=$!
wait -n
kill $reader $writer 2>/dev/null
`;

/**
 * A ProxyCommand, the only way of one worker to all of its hosts. While the gate is closed, SSH is dead for that worker and no
 * other. Silence is SIGSTOP to the proxies: no byte passes, and no connection ends (docs/adr/0055).
 */
export class Gate {
  readonly #folder: string;

  constructor(directory: string) {
    this.#folder = join(directory, 'gate');
    mkdirSync(join(this.#folder, 'proxies'), { recursive: true });
    writeFileSync(this.#file('proxy.sh'), PROXY);
    chmodSync(this.#file('proxy.sh'), 0o755);
  }

  get proxyCommand(): string {
    return `${shellQuote(this.#file('proxy.sh')).replaceAll('%', '%%')} ${shellQuote(this.#folder).replaceAll('%', '%%')} %h %p`;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#proxies().length;
  }

  /** @param how `silent`: connections stand still; `refused`: connections end, and new ones fail */
  close(how: 'silent' | 'refused'): void {
    if (how === 'refused') writeFileSync(this.#file('refusing'), '');
    writeFileSync(this.#file('closed'), '');
    this.#signal(how === 'refused' ? 'SIGTERM' : 'SIGSTOP');
  }

  open(): void {
    for (const name of ['closed', 'refusing']) rmSync(this.#file(name), { force: true });
    this.#signal('SIGCONT');
  }

  /** Ends every connection. */
  end(): void {
    this.open();
    this.#signal('SIGKILL');
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.#proxies()) {
      try {
        process.kill(-pid, signal);
      } catch {
        // It has just ended by itself.
      }
    }
  }

  readonly #file = (name: string): string => join(this.#folder, name);

  #proxies(): readonly number[] {
    return readdirSync(this.#file('proxies'))
      .map(Number)
      .filter((pid) => this.#isProxy(pid));
  }

  /** Whether the process is a proxy of this gate. A killed one left its file, and another process may have its pid by now. */
  #isProxy(pid: number): boolean {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(this.#folder);
    } catch {
      return false;
    }
  }
}

import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptHost, HostCaller } from './attempt-hosts.js';
import type { SliceGuard } from './slice-guard.js';

/** Tells the commands of an attempt of the provider's warning, and of its end. */
export class HostWarnings {
  readonly #runId: string;
  readonly #caller: HostCaller;
  readonly #guard: SliceGuard;
  readonly #signal: AbortSignal;
  /** The present warning on each host that was attached to; undefined: none. */
  readonly #onHost = new Map<AttemptHost, string | undefined>();

  constructor(runId: string, caller: HostCaller, guard: SliceGuard, signal: AbortSignal) {
    this.#runId = runId;
    this.#caller = caller;
    this.#guard = guard;
    this.#signal = signal;
  }

  /** Called when the host was attached to. It may already have a warning that another worker put there. */
  attached(host: AttemptHost, status: RunStatus): void {
    this.#onHost.set(host, status.kind === 'running' && status.isWarned ? 'of another worker' : undefined);
    void this.#tell(host);
  }

  /** Called when the provider's warning of this slice has changed. */
  changed(slice: number): void {
    for (const host of this.#onHost.keys()) if (host.target.slice === slice) void this.#tell(host);
  }

  async #tell(host: AttemptHost): Promise<void> {
    const warning = this.#guard.warningOf(host.target.slice);
    if (warning === 'not seen' || this.#onHost.get(host) === warning.reason) return;
    this.#onHost.set(host, warning.reason);
    try {
      await this.#caller.on(host.target, (connection) => connection.warnRun(this.#runId, warning.reason));
    } catch (error) {
      if (!this.#signal.aborted) log.warn(`the command could not be warned: ${messageOf(error)}`);
    }
  }
}

import { ApplicationFailure, TypedSearchAttributes } from '@temporalio/common';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import proto, { type coresdk } from '@temporalio/proto';
import type { Workflow, WorkflowCreateOptions } from '@temporalio/worker/lib/workflow/interface.js';
import { Agenda } from './agenda.js';
import { ABANDONED, cancelled, DATA, errorOf, failed, type Payload, REUSED, seqOf, turn, valueOf } from './payloads.js';
import type { Sandboxes } from './sandboxes.js';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type Command = coresdk.workflow_commands.IWorkflowCommand;
type Answer = coresdk.workflow_commands.IUpdateResponse;

/** An activity of a script. It may wait for virtual time (`VirtualServer.sleep`), and rejects when it is told to end. */
export type VirtualActivity = (input: never, signal: AbortSignal) => Promise<unknown>;
export type VirtualActivities = Readonly<Record<string, VirtualActivity>>;

interface Start {
  readonly type: string;
  readonly id: string;
  readonly args: readonly Payload[];
  readonly parent?: { readonly of: Run; readonly runId: string; readonly seq: number; readonly isLeft: boolean };
}

/** One workflow, over all runs of its chain. */
interface Run extends Start {
  readonly firstRunId: string;
  readonly startedAt: number;
  runId: string;
  sandbox: Workflow;
  jobs: Job[];
  history: number;
  isOpen: boolean;
  readonly timers: Map<number, () => void>;
  readonly activities: Map<number, AbortController>;
}

export interface Ended {
  readonly kind: 'completed' | 'failed' | 'cancelled';
  readonly value?: unknown;
  readonly error?: Error;
}

const TASK_QUEUE = 'virtual';

/**
 * What Temporal's server and the core of its SDK do for workflows, in this process and in virtual time: the workflows are the bundle that
 * ships, in the SDK's own sandboxes. There is no history and no replay. Between two events of the agenda nothing takes time.
 */
export class VirtualServer {
  readonly #creator: Sandboxes;
  readonly #agenda: Agenda;
  readonly #open = new Map<string, Run>();
  readonly #known = new Set<string>();
  /** What each workflow has told lists, open or not. */
  readonly #memos = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #ends = new Map<string, (end: Ended) => void>();
  readonly #due: Run[] = [];
  /** Of updates that are not answered yet. */
  readonly #answers = new Map<string, (answer: Answer) => void>();
  #updates = 0;
  /** How long a message or an answer is under way, in ms. */
  readonly #delayMs: () => number;
  #activities: VirtualActivities = {};
  #runs = 0;

  constructor(creator: Sandboxes, options: { readonly startAt: number; readonly delayMs: () => number }) {
    this.#creator = creator;
    this.#agenda = new Agenda(options.startAt);
    this.#delayMs = options.delayMs;
  }

  serve(activities: VirtualActivities): void {
    this.#activities = activities;
  }

  get now(): number {
    return this.#agenda.now;
  }

  at(time: number, what: () => void): () => void {
    return this.#agenda.at(time, what);
  }

  /** @throws the reason of the signal */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = this.#agenda.at(this.now + ms, resolve);
      signal?.addEventListener('abort', () => {
        forget();
        reject(signal.reason as Error);
      });
    });
  }

  memoOf(id: string): Readonly<Record<string, unknown>> {
    return this.#memos.get(id) ?? {};
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** The present run of an open workflow: another one after each continue-as-new. */
  runOf(id: string): string | undefined {
    return this.#open.get(id)?.runId;
  }

  /** Resolves when the workflow is closed. */
  async start(type: string, id: string, ...args: readonly unknown[]): Promise<Ended> {
    const ended = new Promise<Ended>((resolve) => this.#ends.set(id, resolve));
    await this.#start({ type, id, args: args.map((arg) => DATA.toPayload(arg)) });
    return ended;
  }

  /** False: it is not open. */
  signal(id: string, signalName: string, ...args: readonly unknown[]): boolean {
    const run = this.#open.get(id);
    if (run === undefined) return false;
    this.#tell(run, { signalWorkflow: { signalName, input: args.map((arg) => DATA.toPayload(arg)), headers: {} } });
    return true;
  }

  cancel(id: string): void {
    this.#tell(this.#open.get(id) as Run, { cancelWorkflow: { reason: 'asked for' } });
  }

  /** A person's call, between two events. @returns the message of the workflow's answer @throws its refusal */
  async update(id: string, name: string, call: object): Promise<string> {
    const input = [DATA.toPayload({ v: 1, by: 'alice', ...call })];
    const protocolInstanceId = `update-${(this.#updates += 1)}`;
    const doUpdate = { id: name, protocolInstanceId, name, input, headers: {}, meta: {}, runValidator: true };
    const answer = new Promise<Answer>((resolve) => this.#answers.set(protocolInstanceId, resolve));
    this.#tell(this.#open.get(id) as Run, { doUpdate });
    await this.run(this.now);
    const { completed, rejected } = await answer;
    if (rejected) throw errorOf(rejected);
    return (valueOf(completed) as { readonly message: string }).message;
  }

  /** Of an open workflow that has begun, between two events. */
  async query<T>(id: string, queryType: string): Promise<T> {
    const run = this.#open.get(id) as Run;
    const jobs = [{ queryWorkflow: { queryId: 'q', queryType, arguments: [], headers: {} } }];
    const { successful } = await run.sandbox.activate(this.#activation(run, jobs));
    return valueOf(successful?.commands?.[0]?.respondToQuery?.succeeded?.response) as T;
  }

  /** Lets things happen until nothing is left to happen, or it is `until`. @returns events */
  async run(until = Infinity): Promise<number> {
    let events = 0;
    for (;;) {
      await turn();
      const run = this.#due.shift();
      if (run !== undefined) await this.#activate(run);
      else if (this.#agenda.nextAt !== undefined && this.#agenda.nextAt <= until) this.#agenda.step();
      else return events;
      events += 1;
    }
  }

  // Workflows --------------------------------------------------------------------------------------------------------

  async #start(start: Start): Promise<Run> {
    this.#known.add(start.id);
    const runId = `run-${(this.#runs += 1)}`;
    const run: Run = {
      ...start,
      ...{
        firstRunId: runId,
        startedAt: this.now,
        runId,
        sandbox: undefined as never,
        jobs: [],
        history: 0,
        isOpen: true,
      },
      ...{ timers: new Map(), activities: new Map() },
    };
    this.#open.set(start.id, run);
    await this.#begin(run, start.args);
    return run;
  }

  async #begin(run: Run, args: readonly Payload[], before?: string): Promise<void> {
    run.sandbox = await this.#creator.createWorkflow(this.#options(run, before));
    run.history = 0;
    this.#tell(run, {
      initializeWorkflow: { workflowType: run.type, workflowId: run.id, arguments: [...args], headers: {}, attempt: 1 },
    });
  }

  #options(run: Run, before?: string): WorkflowCreateOptions {
    const { id: workflowId, runId, type: workflowType, firstRunId, startedAt, parent } = run;
    const info = {
      ...{
        workflowId,
        runId,
        workflowType,
        taskQueue: TASK_QUEUE,
        namespace: 'default',
        searchAttributes: {},
        memo: {},
      },
      ...{ typedSearchAttributes: new TypedSearchAttributes(), firstExecutionRunId: firstRunId, attempt: 1 },
      ...(before === undefined ? {} : { continuedFromExecutionRunId: before }),
      ...(parent && { parent: { workflowId: parent.of.id, runId: parent.runId, namespace: 'default' } }),
      startTime: new Date(startedAt),
      runStartTime: new Date(this.now),
      taskTimeoutMs: 10_000,
      historyLength: 0,
      historySize: 0,
      continueAsNewSuggested: false,
      unsafe: { now: () => this.now, isReplaying: false, isReplayingHistoryEvents: false },
    };
    return { info: info as never, randomnessSeed: [this.#runs], now: this.now, showStackTraceSources: false };
  }

  #tell(run: Run, job: Job): void {
    if (!run.isOpen) return;
    run.jobs.push(job);
    run.history += 1;
    if (!this.#due.includes(run)) this.#due.push(run);
  }

  async #activate(run: Run): Promise<void> {
    if (!run.isOpen) return;
    const { successful, failed } = await run.sandbox.activate(this.#activation(run, run.jobs.splice(0)));
    if (failed)
      throw new Error(`a task of ${run.id} failed: ${failed.failure?.message}\n${failed.failure?.stackTrace}`);
    await run.sandbox.getAndResetSinkCalls();
    for (const command of successful?.commands ?? []) await this.#obey(run, command);
  }

  #activation({ runId, history: historyLength }: Run, jobs: Job[]): coresdk.workflow_activation.WorkflowActivation {
    return proto.coresdk.workflow_activation.WorkflowActivation.fromObject({
      ...{ runId, historyLength, timestamp: msToTs(this.now), jobs, availableInternalFlags: [1, 2, 3, 4, 5] },
    });
  }

  async #obey(run: Run, command: Command): Promise<void> {
    run.history += 1;
    const { startTimer, cancelTimer, scheduleActivity, requestCancelActivity } = command;
    if (startTimer) this.#startTimer(run, seqOf(startTimer), tsToMs(startTimer.startToFireTimeout));
    else if (cancelTimer) this.#cancelTimer(run, seqOf(cancelTimer));
    else if (scheduleActivity) void this.#perform(run, scheduleActivity);
    else if (requestCancelActivity) run.activities.get(seqOf(requestCancelActivity))?.abort(new Error('cancelled'));
    else if (command.startChildWorkflowExecution) await this.#startChild(run, command.startChildWorkflowExecution);
    else if (command.signalExternalWorkflowExecution) this.#pass(run, command.signalExternalWorkflowExecution);
    else if (command.completeWorkflowExecution)
      await this.#end(run, { kind: 'completed', value: valueOf(command.completeWorkflowExecution.result) });
    else if (command.failWorkflowExecution)
      await this.#end(run, { kind: 'failed', error: errorOf(command.failWorkflowExecution.failure) });
    else if (command.modifyWorkflowProperties)
      this.#tellLists(run, command.modifyWorkflowProperties.upsertedMemo?.fields);
    else if (command.updateResponse) this.#answer(command.updateResponse);
    else if (command.cancelWorkflowExecution) await this.#end(run, { kind: 'cancelled' });
    else if (command.continueAsNewWorkflowExecution) {
      const before = run.runId;
      await this.#leave(run);
      run.runId = `run-${(this.#runs += 1)}`;
      await this.#begin(run, command.continueAsNewWorkflowExecution.arguments ?? [], before);
    }
  }

  #tellLists({ id }: Run, fields: Readonly<Record<string, Payload>> | null | undefined): void {
    const told = Object.entries(fields ?? {}).map(([name, value]) => [name, valueOf(value)] as const);
    this.#memos.set(id, { ...this.memoOf(id), ...Object.fromEntries(told) });
  }

  #answer(answer: Answer): void {
    if (answer.accepted) return;
    this.#answers.get(answer.protocolInstanceId ?? '')?.(answer);
    this.#answers.delete(answer.protocolInstanceId ?? '');
  }

  /** A run ends, and its chain perhaps not: its children are asked to cancel in both cases. */
  async #leave(run: Run): Promise<void> {
    for (const stop of run.timers.values()) stop();
    run.timers.clear();
    for (const activity of run.activities.values()) activity.abort(new Error('its run has ended'));
    run.activities.clear();
    await run.sandbox.dispose();
    for (const child of this.#open.values())
      if (child.parent?.runId === run.runId && !child.parent.isLeft)
        this.#tell(child, { cancelWorkflow: { reason: 'its parent is closed' } });
  }

  async #end(run: Run, end: Ended): Promise<void> {
    run.isOpen = false;
    this.#open.delete(run.id);
    await this.#leave(run);
    const { parent } = run;
    if (parent && parent.of.runId === parent.runId)
      this.#tell(parent.of, {
        resolveChildWorkflowExecution: {
          seq: parent.seq,
          result: { completed: { result: DATA.toPayload(end.value) } },
        },
      });
    this.#ends.get(run.id)?.(end);
  }

  #startTimer(run: Run, seq: number, ms: number): void {
    const stop = this.#agenda.at(this.now + ms, () => {
      run.timers.delete(seq);
      this.#tell(run, { fireTimer: { seq } });
    });
    run.timers.set(seq, stop);
  }

  #cancelTimer(run: Run, seq: number): void {
    run.timers.get(seq)?.();
    run.timers.delete(seq);
  }

  async #startChild(run: Run, command: coresdk.workflow_commands.IStartChildWorkflowExecution): Promise<void> {
    const seq = seqOf(command);
    const { workflowId: id = '', workflowType: type = '', input } = command;
    const taken = command.workflowIdReusePolicy === REUSED ? this.#open : this.#known;
    if (taken.has(id ?? '')) {
      this.#tell(run, {
        resolveChildWorkflowExecutionStart: { seq, failed: { workflowId: id, workflowType: type, cause: 1 } },
      });
      return;
    }
    const child = await this.#start({
      type: type ?? '',
      id: id ?? '',
      args: input ?? [],
      parent: { of: run, runId: run.runId, seq, isLeft: command.parentClosePolicy === ABANDONED },
    });
    this.#tell(run, { resolveChildWorkflowExecutionStart: { seq, succeeded: { runId: child.runId } } });
  }

  #pass(run: Run, command: coresdk.workflow_commands.ISignalExternalWorkflowExecution): void {
    const { runId } = run;
    const { workflowExecution, childWorkflowId, signalName, args } = command;
    this.#agenda.at(this.now + this.#delayMs(), () => {
      const target = this.#open.get(workflowExecution?.workflowId ?? childWorkflowId ?? '');
      if (target)
        this.#tell(target, { signalWorkflow: { signalName: signalName ?? '', input: args ?? [], headers: {} } });
      const failure = target ? {} : { failure: { message: 'not found' } };
      if (run.runId === runId) this.#tell(run, { resolveSignalExternalWorkflow: { seq: seqOf(command), ...failure } });
    });
  }

  async #perform(run: Run, command: coresdk.workflow_commands.IScheduleActivity): Promise<void> {
    const { activityType, arguments: args, retryPolicy } = command;
    const { runId } = run;
    const seq = seqOf(command);
    const control = new AbortController();
    run.activities.set(seq, control);
    const result = await this.#tries(activityType ?? '', args ?? [], control.signal, retryPolicy?.maximumAttempts ?? 0);
    run.activities.delete(seq);
    if (run.runId === runId) this.#tell(run, { resolveActivity: { seq, result } });
  }

  async #tries(
    name: string,
    args: readonly Payload[],
    signal: AbortSignal,
    most: number,
  ): Promise<coresdk.activity_result.IActivityResolution> {
    const activity = this.#activities[name] ?? missing(name);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.sleep(this.#delayMs(), signal);
        const value = await activity(valueOf(args[0]) as never, signal);
        return { completed: value === undefined ? {} : { result: DATA.toPayload(value) } };
      } catch (error) {
        if (signal.aborted) return { cancelled: cancelled(error) };
        if (error instanceof TypeError) throw error;
        const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
        if (isFinal || tries === most) return { failed: failed(name, error, isFinal) };
        await this.sleep(Math.min(30_000, 1_000 * 2 ** tries));
      }
    }
  }
}

function missing(name: string): never {
  throw new TypeError(`no activity ${name}`);
}

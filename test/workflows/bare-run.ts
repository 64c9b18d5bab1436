import { defaultPayloadConverter } from '@temporalio/common';
import type { ActivateInput, WorkflowInfo } from '@temporalio/workflow';
import { setActivator } from '@temporalio/workflow/lib/global-attributes.js';
import { Activator } from '@temporalio/workflow/lib/internals.js';
import { interceptors } from '../../workflows/flood.js';

/**
 * What code of workflows finds around it, without workflow, worker and server: the SDK's own machinery, which buffers, decodes
 * and hands over signals and takes commands. One at a time; `end` it.
 */
export class BareRun {
  readonly #interceptors = interceptors();
  readonly activator = new Activator({
    info: {
      workflowType: 'probe',
      workflowId: 'probe-1',
      firstExecutionRunId: 'run-1',
      unsafe: { isReplaying: false, now: Date.now },
    } as unknown as WorkflowInfo,
    now: Date.now(),
    randomnessSeed: [1],
    registeredActivityNames: new Set<string>(),
    showStackTraceSources: false,
    stackTracesEnabled: false,
    getTimeOfDay: () => 0n,
  } as unknown as ConstructorParameters<typeof Activator>[0]);

  constructor() {
    setActivator(this.activator);
  }

  static end(): void {
    setActivator(undefined);
  }

  /** Commands since the last call, as they would end a workflow task. */
  commands(): ReturnType<Activator['concludeActivation']>['commands'] {
    return this.activator.concludeActivation().commands;
  }

  /** Signals that went the SDK's own way. */
  get handedOverBySdk(): number {
    return (this.activator as unknown as { readonly signalHandlerExecutionSeq: number }).signalHandlerExecutionSeq;
  }

  /** Signals of one activation, by way of the workflow's own interceptors. */
  sendAll(signals: readonly { readonly name: string; readonly value: unknown }[]): this {
    const jobs = signals.map(({ name, value }) => ({
      signalWorkflow: { signalName: name, input: [defaultPayloadConverter.toPayload(value)] },
    }));
    const input = { activation: { jobs }, batchIndex: 0 } as unknown as ActivateInput;
    const next = ({ activation }: ActivateInput): void => {
      for (const { signalWorkflow } of activation.jobs ?? [])
        if (signalWorkflow) this.activator.signalWorkflow(signalWorkflow);
    };
    this.#interceptors.internals?.[0]?.activate?.(input, next);
    return this;
  }

  send(signalName: string, ...args: readonly unknown[]): this {
    this.activator.signalWorkflow({ signalName, input: args.map((each) => defaultPayloadConverter.toPayload(each)) });
    return this;
  }
}

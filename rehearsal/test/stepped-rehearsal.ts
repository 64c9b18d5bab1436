import type protobuf from 'protobufjs';
import { ComputeCloud } from '../compute/compute-cloud.js';
import { DEFAULT_PROJECT } from '../project/facts.js';
import { join } from 'node:path';
import { AdminError } from '../admin/admin-error.js';
import type { AdminParts } from '../admin/parts.js';
import { runVerb } from '../admin/verbs.js';
import { newClockState, RehearsalClock } from '../clock.js';
import { dumpOf } from '../dump.js';
import { Journal } from '../journal.js';
import type { JsonObject } from '../json.js';
import { Random } from '../random.js';
import { ScriptRunner } from '../script/runner.js';
import { Timeline } from '../timeline.js';
import { ApiError } from '../tpu/api-error.js';
import { TpuCloud } from '../tpu/cloud.js';
import type { Gateway } from '../tpu/gateway.js';
import { createGateway } from '../tpu/gateway.js';
import { ListHistory } from '../tpu/list-lag.js';
import type { Settings } from '../tpu/settings.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import type { CloudState } from '../tpu/state.js';
import { answerJson } from '../tpu/answer-json.js';
import { decode, encode, protoRoot } from '../tpu/protos.js';
import { emptyState } from '../tpu/state.js';

export const PARENT = 'projects/p/locations/us-central1-a';
const NO_HEADERS = { authorization: undefined, userProject: undefined, isOwnLogin: () => true };
const WALL = Date.UTC(2026, 5, 14);

export type Line = Readonly<Record<string, unknown>>;

export interface Answered {
  readonly code: string;
  readonly text: string;
  readonly message: JsonObject;
}

/** A rehearsal without wires, processes and real time: VMs answer as soon as they are asked for, the test moves the clock. */
export class SteppedRehearsal {
  readonly cloud: TpuCloud;
  readonly clock: RehearsalClock;
  readonly journal: Journal;
  readonly runner: ScriptRunner;
  readonly #state: CloudState;
  readonly #timeline: Timeline;
  readonly #gateway: Gateway;
  readonly #parts: AdminParts;

  constructor(folder: string, options: { readonly seed?: number; readonly settings?: Partial<Settings> } = {}) {
    const { seed = 0, settings = {} } = options;
    this.#state = emptyState({ ...DEFAULT_SETTINGS, ...settings }, { seed, wallNow: WALL });
    this.clock = new RehearsalClock(
      Object.assign(this.#state.clock, newClockState(WALL, { frozen: true })),
      () => WALL,
    );
    this.journal = new Journal(join(folder, 'journal.jsonl'));
    this.journal.timeBy(() => this.clock.now());
    const record = this.journal.record.bind(this.journal);
    const history = new ListHistory(this.#state);
    this.journal.onEvent((event) => history.observe(event));
    this.cloud = new TpuCloud(this.#state, {
      now: () => this.clock.now(),
      atInstant: (instant, run) => this.clock.atInstant(instant, run),
      random: new Random(this.#state.random),
      subnetOctet: 77,
      record,
    });
    const advance = (): number | undefined => this.#advanceAndBoot();
    this.#timeline = new Timeline(this.clock, advance, () => this.#state.advancedTo);
    this.clock.onChange(() => void this.#timeline.advance());
    const changed = (): Promise<void> => Promise.resolve(void this.#timeline.advance());
    const { cloud, clock, journal } = this;
    const compute = new ComputeCloud(cloud.records, () => DEFAULT_PROJECT);
    this.#parts = { cloud, compute, clock, journal, fleet: { vmsOf: () => [] }, changed };
    this.runner = new ScriptRunner(this.#parts);
    this.#timeline.join(this.runner);
    const site = {
      hostKeys: () => [],
      facts: () => ({ zones: {}, number: '1' }),
      shown: history.shown.bind(history),
    };
    this.#gateway = createGateway({ cloud, site, authorize: () => undefined, record, changed });
  }

  /** A call as a client makes it. Throws what is no error of the API. */
  async call(method: string, request: JsonObject): Promise<Answered> {
    try {
      const answer = await this.#gateway({ wire: 'grpc', version: 'v2', headers: NO_HEADERS }, method, request);
      return { code: 'OK', text: '', message: (answer.kind === 'message' ? answer.message : answer) as JsonObject };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { code: error.status, text: error.message, message: {} };
    }
  }

  /** A call, and its answer as it crosses the wire: the message, or google.rpc.Status. */
  async exchange(method: string, request: JsonObject): Promise<{ readonly code: number; readonly answer: JsonObject }> {
    try {
      const answer = await this.#gateway({ wire: 'grpc', version: 'v2', headers: NO_HEADERS }, method, request);
      const type = responseType(method);
      return { code: 0, answer: decode(type, encode(type, answerJson(answer, 'v2'))) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, message, details } = error;
      return { code, answer: { code, message, ...(details.length > 0 && { details }) } };
    }
  }

  /** @returns 200, or the status and text of the refusal. Throws what is no refusal. */
  admin(verb: string, body: object): { readonly status: number; readonly text: string } {
    try {
      this.#timeline.advance();
      void runVerb(this.#parts, verb, body);
      this.#timeline.advance();
      return { status: 200, text: '' };
    } catch (error) {
      if (!(error instanceof AdminError)) throw error;
      return { status: error.httpStatus, text: error.message };
    }
  }

  script(text: string): void {
    this.runner.start(text);
    this.#timeline.advance();
  }

  step(ms: number): void {
    this.clock.step(ms);
  }

  queue(id: string, more: JsonObject = { spot: {} }, acceleratorType = 'v5litepod-8'): Promise<Answered> {
    const node = { acceleratorType, runtimeVersion: 'v2-alpha-tpuv5-lite' };
    const queuedResource = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: id, node }] }, ...more };
    return this.call('CreateQueuedResource', { parent: PARENT, queuedResourceId: id, queuedResource });
  }

  node(id: string): Promise<Answered> {
    return this.call('GetNode', { name: `${PARENT}/nodes/${id}` });
  }

  async queuedState(id: string): Promise<string> {
    const { code, message } = await this.call('GetQueuedResource', { name: `${PARENT}/queuedResources/${id}` });
    return code === 'OK' ? String((message['state'] as JsonObject)['state']) : code;
  }

  async nodeState(id: string): Promise<string> {
    const { code, message } = await this.node(id);
    return code === 'OK' ? String(message['state']) : code;
  }

  /** As `GET /admin/dump` sends it. */
  dump(): readonly Line[] {
    return Array.from(dumpOf(this.#state, this.clock), (line) => JSON.parse(JSON.stringify(line)) as Line);
  }

  /** As they stand in the file. */
  events(): readonly Line[] {
    return Array.from(this.journal.linesAfter(0), (line) => JSON.parse(line) as Line);
  }

  /** Ms of the cloud's time since the rehearsal began. */
  get elapsedMs(): number {
    return this.clock.now() - WALL;
  }

  #advanceAndBoot(): number | undefined {
    let due = this.cloud.lifecycle.advance();
    for (let isBooting = true; isBooting;) {
      const booting = Object.values(this.#state.nodes).filter(({ isBooted, resource }) => {
        return !isBooted && ['CREATING', 'STARTING', 'RESTARTING'].includes(resource.state);
      });
      for (const { resource } of booting) this.cloud.markBooted(resource.name, resource.id);
      isBooting = booting.length > 0;
      if (isBooting) due = this.cloud.lifecycle.advance();
    }
    return due;
  }
}

function responseType(method: string): protobuf.Type {
  for (const service of ['google.cloud.tpu.v2.Tpu', 'google.longrunning.Operations']) {
    const found = protoRoot().lookupService(service).methods[method];
    found?.resolve();
    if (found?.resolvedResponseType) return found.resolvedResponseType;
  }
  throw new TypeError(`${method} is no method of Cloud TPU v2`);
}

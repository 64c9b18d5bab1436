import type { UpdateDefinition } from '@temporalio/common';
import type { z as Zod } from 'zod';
import { type AccessRole, CHANGING_ROLES } from '../domain/access.js';
import { type Bounds, MOST_KEY_CHARACTERS, MOST_OF_AN_EDIT, MOST_SET } from '../domain/bounds.js';
import { MOST_SLICES } from '../domain/slice.js';
import { type HumanCall, update } from './define.js';

/** Tools for the function that builds the keys of a request. Every command reads the rows, so only that function may need zod. */
export interface KeyParts {
  readonly z: typeof Zod;
  /** Text that Temporal and Google take. */
  readonly text: () => Zod.ZodString;
}
type Keys = Zod.ZodRawShape;

interface Told<Body extends string> {
  /** `what` completes "may not ..". */
  readonly right: { readonly what: string; readonly roles: readonly AccessRole[] };
  /** Name of the form of the body in contract/api/changes.ts, if it differs: it has narrower bounds, or takes a file as text. */
  readonly body?: Body;
  /** Bounds of the update. Absent: those of any message. */
  readonly bounds?: Bounds;
  /** Every key may be missing. */
  readonly mayLackBody?: true;
  /** True: a second call would act a second time, so no client repeats a call whose answer it did not get. */
  readonly isOnce: boolean;
}

/**
 * @param word in the path, in the access table and on the command line
 * @param keys of the call, without those of `HumanCall`. The body over HTTP has the same, beside `from` and `verb`
 */
const request = <const Word extends string, K extends Keys, const Body extends string = `${Word}Body`>(
  word: Word,
  summary: string,
  keys: (parts: KeyParts) => K,
  told: Told<Body>,
) => ({
  call: `POST /v1/jobs/:id/${word}` as const,
  access: word,
  summary,
  answer: 'messageSchema' as const,
  keys,
  ...told,
  body: told.body ?? (`${word}Body` as Body),
});

const edit = ({ z, text }: KeyParts) => ({
  /** The new file as plain JSON. */
  job: z.unknown().exactOptional(),
  set: z
    .array(
      z.object({
        // Setting a value costs the square of its path's length: a path of 100,000 keys took all memory of a worker.
        path: z.array(z.union([text().max(MOST_KEY_CHARACTERS), z.int()])).max(50),
        value: z.unknown(),
      }),
    )
    .max(MOST_SET)
    .exactOptional(),
  /** The file's text, kept with the attempt. */
  source: text().exactOptional(),
  /** Local files that the new file names, uploaded before: path as written -> SHA-256. */
  files: z.record(text(), text()).exactOptional(),
  /** Keys that the new file names, as in `JobInput`. */
  identityKeys: z.record(text(), text()).exactOptional(),
});

/**
 * The requests that people send to a job, each defined once (docs/adr/0145): its operation, its right, and the form of its update
 * and of its body. The answer is a sentence, and needs a worker. The workflow's handler is in workflows/job/updates.ts. The
 * comment of a row documents the method of `JobClient`.
 */
export const JOB_REQUESTS = {
  /**
   * Ends the command with notice and grace, and keeps slices and lease (at most for `timeouts.stop`), or gives them back
   * (`release`).
   */
  stop: request(
    'stop',
    'End the command, keep or give back the slices',
    ({ z }) => ({ release: z.boolean().exactOptional().describe('Slices and lease go back too.') }),
    { right: { what: 'stop it', roles: CHANGING_ROLES }, mayLackBody: true, isOnce: true },
  ),
  /** Continues a stopped job with a new attempt: on the slices that it kept, or as soon as its pool grants a lease again. */
  resume: request('resume', 'Let a stopped job go on', edit, {
    right: { what: 'resume it', roles: CHANGING_ROLES },
    body: 'editBody',
    bounds: MOST_OF_AN_EDIT,
    mayLackBody: true,
    isOnce: true,
  }),
  /** Restarts the command on the same slices, with the same or a changed job file. Some slices may be replaced. */
  restart: request(
    'restart',
    'Start the command again on the same slices, or with other machines',
    ({ z, text }) => ({
      ...edit({ z, text }),
      /** The next attempt starts on other machines, in place of all slices or of these (from 0). */
      replace: z.union([z.literal('all'), z.array(z.int().min(0)).min(1).max(MOST_SLICES)]).exactOptional(),
    }),
    {
      right: { what: 'restart it', roles: CHANGING_ROLES },
      body: 'restartBody',
      bounds: MOST_OF_AN_EDIT,
      mayLackBody: true,
      isOnce: true,
    },
  ),
  /** Gives slices and lease back and queues the job again, with its first submit time. `zone`: the zone that is tried first. */
  requeue: request(
    'requeue',
    'Give slices and lease back, and ask again',
    ({ text }) => ({
      zone: text().max(100).exactOptional().describe("The one of the job's zones that is asked first."),
    }),
    { right: { what: 'requeue it', roles: CHANGING_ROLES }, mayLackBody: true, isOnce: true },
  ),
  /**
   * Sets up modules again on the job's hosts beside its command. Without `modules`, all modules of the job. `force` also applies
   * those that are found unchanged.
   */
  setUp: request(
    'setup',
    "Set the job's hosts up again",
    ({ z, text }) => ({ modules: z.array(text()).min(1).exactOptional(), force: z.boolean().exactOptional() }),
    {
      right: { what: 'set its hosts up', roles: CHANGING_ROLES },
      body: 'setUpBody',
      mayLackBody: true,
      isOnce: true,
    },
  ),
};

type Requests = typeof JOB_REQUESTS;
export type JobVerb = keyof Requests;
export const JOB_VERBS = Object.keys(JOB_REQUESTS) as readonly JobVerb[];
export type JobRequest<Verb extends JobVerb> = Requests[Verb];
/** The keys of a request, as zod has them. */
export type KeysOf<Verb extends JobVerb> = ReturnType<Requests[Verb]['keys']>;

/** Plain JSON, read-only at every depth. */
type Fixed<T> = T extends readonly (infer Each)[]
  ? readonly Fixed<Each>[]
  : T extends object
    ? { readonly [Key in keyof T]: Fixed<T[Key]> }
    : T;
export type JobCall<Verb extends JobVerb> = HumanCall & Fixed<Zod.output<Zod.ZodObject<KeysOf<Verb>>>>;
/** Another job file for later attempts: a whole file, or single values to change in the file in force. */
export type EditCall = JobCall<'resume'>;

/**
 * Updates that people send to a job (docs/adr/0022). A validator refuses a request that makes no sense in the job's state. The
 * job notes any other request, answers with a sentence, and carries the request out when it gets to it.
 */
export const JOB_UPDATES = Object.fromEntries(JOB_VERBS.map((verb) => [verb, update(verb)])) as {
  readonly [Verb in JobVerb]: UpdateDefinition<{ readonly message: string }, [JobCall<Verb>]>;
};

import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type Answer, call, objectText, Refused } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { AskingButton, Question } from './parts/question.js';
import { Command, saveAs } from './parts/save.js';
import { Sentence } from './parts/shown.js';
import { Preempted, Problems, ShownEffect } from './quota-effect.js';
import { type AppliedText, appliedText, type Effect, effectOf } from './quota-words.js';

/** Names of the files in messages. */
const QUOTA_NAME = 'quota.toml';
const POOL_NAME = 'pool.toml';
/** The generation of a file that does not exist; the same as `NO_FILE` of contract/quota.ts. */
const NO_FILE = 'none';
const LOOK_MS = 10_000;

interface QuotaFileParts {
  readonly pool: string;
  /** The pool's last published use. Undefined: the pool has never run. */
  readonly use: Answer<'GET /v1/pools/:pool/use'> | undefined;
}

/** Edits the quota file of a pool: a draft, its effect, and a button that puts it in force. */
// Loaded when it is first opened.
export function QuotaFile({ pool, use }: QuotaFileParts) {
  const asking = useQuery({
    queryKey: ['applied', pool],
    queryFn: ({ signal }) => readApplied(pool, signal),
    refetchInterval: LOOK_MS,
  });
  const { data: applied } = asking;
  const elsewhere = use?.source === undefined || use.source.startsWith('applied by ') ? undefined : use.source;
  if (applied === undefined)
    return (
      <>
        <Problem {...asking} />
        {asking.error === null && <p className="note">Loading ..</p>}
      </>
    );
  return (
    <section aria-label="Quota file" className="quota-file">
      <Problem {...asking} />
      {elsewhere !== undefined && (
        <p className="reason">
          The quota file of this pool is <code>{elsewhere}</code>, by the workers’ configuration. It is changed there,
          and read again by itself. Paste it here, or open it, to see what a change would do.
        </p>
      )}
      {elsewhere === undefined && <Provenance applied={applied} hasRun={use !== undefined} />}
      <Draft key={pool} {...{ pool, use, applied, isElsewhere: elsewhere !== undefined }} />
    </section>
  );
}

interface Applied {
  /** Undefined: none was applied. */
  readonly quota?: AppliedText & { readonly generation: string };
  readonly pool?: AppliedText & { readonly generation: string };
}

async function readApplied(pool: string, signal: AbortSignal): Promise<Applied> {
  const [quota, poolFile] = await Promise.all([readOne(pool, 'quota', signal), readOne(pool, 'pool', signal)]);
  return { ...(quota && { quota }), ...(poolFile && { pool: poolFile }) };
}

async function readOne(pool: string, kind: 'quota' | 'pool', signal: AbortSignal): Promise<Applied['quota']> {
  const name = `quota/${pool}/applied/${kind}`;
  try {
    // The generation is read before the text. If the file changes between, the text is newer than the generation, and applying
    // it is refused. In the other order an older text could be applied.
    const { generation } = await call('GET /v1/objects/stat', { query: { name }, signal });
    return { generation, ...appliedText(await objectText(name, signal)) };
  } catch (error) {
    if (error instanceof Refused && error.code === 'not-found') return undefined;
    throw error;
  }
}

function Provenance({ applied: { quota }, hasRun }: { readonly applied: Applied; readonly hasRun: boolean }) {
  if (quota === undefined)
    return (
      <p className="note">
        {hasRun
          ? 'No quota file is in force: the pool has no limit.'
          : 'No quota file was applied. Whether the workers’ configuration names one is known once the pool has run.'}
      </p>
    );
  return (
    <p className="note">
      In force{quota.by !== undefined && ` as ${quota.by} applied it`}
      {quota.at !== undefined && (
        <>
          {' '}
          at <Sentence text={quota.at} />
        </>
      )}
    </p>
  );
}

/** An edited text, and the generation of the file that it was made from. It survives a reload and the end of a login. */
interface Kept {
  readonly text: string;
  readonly base: string;
}
const draftKey = (pool: string): string => `jobctl.quota-draft.${pool}`;

function keptDraft(pool: string): Kept | undefined {
  try {
    const { text, base } = JSON.parse(sessionStorage.getItem(draftKey(pool)) ?? '{}') as Partial<Kept>;
    return typeof text === 'string' && typeof base === 'string' ? { text, base } : undefined;
  } catch {
    return undefined;
  }
}

/** A draft that is too large for the browser's storage is kept in this screen only. */
function keepDraft(pool: string, draft: Kept | undefined): void {
  try {
    sessionStorage.removeItem(draftKey(pool));
    if (draft !== undefined) sessionStorage.setItem(draftKey(pool), JSON.stringify(draft));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

interface DraftParts extends QuotaFileParts {
  readonly applied: Applied;
  /** The workers' configuration names another place for the file, so no file can be applied here. */
  readonly isElsewhere: boolean;
}

function Draft({ pool, use, applied, isElsewhere }: DraftParts) {
  const [draft, setDraft] = useState(() => keptDraft(pool));
  const [told, setTold] = useState('');
  const [isAsked, setAsked] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const present = isElsewhere ? undefined : applied.quota;
  const generation = present?.generation ?? NO_FILE;
  const text = draft?.text ?? present?.text ?? '';
  const isStale = draft !== undefined && !isElsewhere && draft.base !== generation;
  const planning = useMutation({
    mutationFn: async (planned: string) => ({
      planned,
      effect: await plannedEffect({ pool, use, text: planned, poolFile: applied.pool?.text }),
    }),
  });
  const rights = useApplyRight(pool, isElsewhere);
  const edit = (edited: string | undefined): void => {
    setTold('');
    const next = edited === undefined ? undefined : { text: edited, base: draft?.base ?? generation };
    setDraft(next);
    keepDraft(pool, next);
  };
  const forget = (): void => {
    edit(undefined);
    planning.reset();
  };
  const { data: plan, error } = planning;
  const effect = plan?.planned === text ? plan.effect : undefined;
  const apply = async (): Promise<string> => {
    const quotaFile = { name: QUOTA_NAME, text, replaces: draft?.base ?? generation };
    const { message } = await call('POST /v1/pools/:pool/apply', { of: pool, body: { quotaFile } });
    forget();
    return message;
  };
  return (
    <>
      {isStale && (
        <div role="alert" className="problem">
          <p>
            Another file was put in force{present?.by !== undefined && ` by ${present.by}`} since you began to edit:
            yours cannot be applied over it.
          </p>
          <p>
            <button type="button" onClick={() => saveAs(QUOTA_NAME, text)}>
              Save mine
            </button>{' '}
            <button type="button" onClick={forget}>
              Drop mine, show the one in force
            </button>
          </p>
        </div>
      )}
      <textarea
        ref={area}
        aria-label="Quota file (TOML)"
        spellCheck={false}
        autoComplete="off"
        wrap="off"
        rows={Math.min(28, Math.max(10, text.split('\n').length + 1))}
        value={text}
        onChange={(event) => edit(event.target.value)}
      />
      <div className="filters">
        <button type="button" className="main" disabled={planning.isPending} onClick={() => planning.mutate(text)}>
          {planning.isPending ? 'A decision is computed ..' : 'What would change'}
        </button>
        {rights.isOffered && (
          <AskingButton
            name="Apply .."
            refusal={rights.refusal ?? (isStale ? 'another file was put in force meanwhile' : undefined)}
            ask={() => planning.mutate(text, { onSuccess: () => setAsked(true) })}
          />
        )}
        <label className="file-choice">
          Open a file{' '}
          <input type="file" accept=".toml,text/plain" onChange={(event) => void opened(event.target, edit)} />
        </label>
        {draft !== undefined && !isStale && !isElsewhere && (
          <button type="button" className="quiet" onClick={forget}>
            drop my changes
          </button>
        )}
        <span role="status" className="note told">
          {told}
        </span>
      </div>
      {rights.isLocal && !isElsewhere && (
        <p className="note">
          This page of <code>jobctl ui</code> applies no files. Save it, and run{' '}
          <Command line={`jobctl quota apply ${QUOTA_NAME}${pool === 'default' ? '' : ` --pool ${pool}`}`} />{' '}
          <button type="button" className="quiet" onClick={() => saveAs(QUOTA_NAME, text)}>
            save
          </button>
        </p>
      )}
      {error !== null && <Problems error={error} file={QUOTA_NAME} text={text} area={area} />}
      {effect !== undefined && <ShownEffect effect={effect} />}
      {isAsked && effect !== undefined && (
        <Question
          title={`Apply the quota file to pool ${pool}?`}
          answer="Apply"
          isFinal={effect.preempted.length > 0}
          act={apply}
          tell={setTold}
          done={() => setAsked(false)}
        >
          <Preempted effect={effect} />
        </Question>
      )}
    </>
  );
}

/** Whether the caller may apply files, by the access table. */
function useApplyRight(pool: string, isElsewhere: boolean) {
  const { data: who } = useAnswer('GET /v1/whoami', {}, { everyMs: 60_000 });
  const { data } = useAnswer('GET /v1/access/explain', { query: { pool, verb: 'quota-apply' } }, { everyMs: 30_000 });
  const [right] = data?.rows ?? [];
  const isLocal = who?.issuer === 'jobctl ui';
  const refusal = right === undefined || right.isAllowed ? undefined : right.why;
  return { isLocal, refusal, isOffered: right?.isAllowed === true && !isLocal && !isElsewhere };
}

interface Planned {
  readonly pool: string;
  readonly use: QuotaFileParts['use'];
  readonly text: string;
  /** The pool file with which the draft is checked. Undefined: it is not known here, so the rules in force are used. */
  readonly poolFile: string | undefined;
}

async function plannedEffect({ pool, use, text, poolFile }: Planned): Promise<Effect> {
  const of = 'POST /v1/pools/:pool/quota/plan';
  const body = {
    quotaFile: { name: QUOTA_NAME, text },
    ...(poolFile !== undefined && { poolFile: { name: POOL_NAME, text: poolFile } }),
  };
  const [before, after] = await Promise.all([call(of, { of: pool, body: {} }), call(of, { of: pool, body })]);
  return effectOf(before, after, use);
}

async function opened(input: HTMLInputElement, edit: (text: string) => void): Promise<void> {
  const [file] = input.files ?? [];
  if (file !== undefined) edit(await file.text());
  // Lets the same file be opened again after it has changed.
  input.value = '';
}

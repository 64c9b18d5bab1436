import { type ReactNode, useState } from 'react';
import { type Answer, type Call, call } from './api.js';
import { useAnswer } from './parts/answer.js';
import { AskingButton, Question } from './parts/question.js';

type Row = Answer<'GET /v1/jobs/:id'>;
type VerbCall = Extract<Call, `POST /v1/jobs/:id/${'cancel' | 'stop' | 'resume' | 'restart' | 'priority'}`>;

interface Verb {
  readonly name: string;
  readonly of: VerbCall;
  /** Explains the effect before the verb is run. */
  readonly question: string;
  readonly isFor: (row: Row) => boolean;
  readonly field?: ReactNode;
  readonly body?: (form: FormData) => object;
  readonly isFinal?: true;
}

const isPaused = ({ phase }: Row): boolean => phase === 'paused' || phase === 'released';

const VERBS: readonly Verb[] = [
  {
    name: 'Stop',
    of: 'POST /v1/jobs/:id/stop',
    question: 'The command ends, with notice and its grace. The job keeps its slices for a while, unless they go back.',
    isFor: (row) => !isPaused(row),
    field: (
      <label className="check">
        <input type="checkbox" name="release" /> give slices and chips back
      </label>
    ),
    body: (form) => (form.has('release') ? { release: true } : {}),
  },
  {
    name: 'Resume',
    of: 'POST /v1/jobs/:id/resume',
    question: 'The job goes on with a new attempt.',
    isFor: isPaused,
  },
  {
    name: 'Restart',
    of: 'POST /v1/jobs/:id/restart',
    question: 'The command ends and starts again, on the same slices.',
    isFor: ({ phase }) => phase !== 'queued',
  },
  {
    name: 'Priority',
    of: 'POST /v1/jobs/:id/priority',
    question: 'Another place in its project’s line. It may cost other jobs their chips.',
    isFor: () => true,
    field: (
      <label>
        Priority{' '}
        <select name="priority" defaultValue="3">
          {[1, 2, 3, 4, 5].map((priority) => (
            <option key={priority} value={priority}>
              {priority}
              {priority === 1 ? ' (first)' : priority === 5 ? ' (last)' : ''}
            </option>
          ))}
        </select>
      </label>
    ),
    body: (form) => ({ priority: Number(form.get('priority')) }),
  },
  {
    name: 'Cancel',
    of: 'POST /v1/jobs/:id/cancel',
    question: 'The job ends for good, and its slices are deleted. This cannot be undone.',
    isFor: () => true,
    isFinal: true,
  },
];

/** The buttons of a job. A button that the access table refuses is grey, and says who may use it. */
export function Verbs({ row }: { readonly row: Row }) {
  const { id, endedAt } = row;
  const [chosen, choose] = useState<Verb>();
  const [told, setTold] = useState('');
  const rights = useAnswer(
    'GET /v1/access/explain',
    { query: { job: id } },
    { everyMs: 30_000, isWanted: endedAt === undefined },
  );
  if (endedAt !== undefined) return null;
  const refusalOf = ({ of }: Verb): string | undefined => {
    const word = of.split('/').at(-1);
    const right = rights.data?.rows.find(({ verb }) => verb === word);
    return right?.isAllowed === false ? right.why : undefined;
  };
  return (
    <div className="verbs">
      <span role="status" className="note">
        {told}
      </span>
      {VERBS.filter(({ isFor }) => isFor(row)).map((verb) => (
        <AskingButton
          key={verb.name}
          name={verb.name}
          isFinal={verb.isFinal === true}
          refusal={refusalOf(verb)}
          ask={() => choose(verb)}
        />
      ))}
      {chosen !== undefined && (
        <Question
          key={chosen.name}
          title={`${chosen.name} ${id}?`}
          answer={chosen.name}
          isFinal={chosen.isFinal === true}
          act={(form) => act(chosen, id, form)}
          tell={setTold}
          done={() => choose(undefined)}
        >
          <p>{chosen.question}</p>
          {chosen.field}
        </Question>
      )}
    </div>
  );
}

async function act({ of, body }: Verb, id: string, form: FormData): Promise<string> {
  const answer = await call(of, { of: id, body: (body?.(form) ?? {}) as never });
  if ('message' in answer) return answer.message;
  return answer.state === 'done' ? 'It has ended already.' : 'It is being cancelled.';
}

import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { objectBytes, objectNames, objectText } from './api.js';
import { plainText } from './log/ansi.js';
import { Problem } from './parts/answer.js';
import { useNow } from './parts/clock.js';
import { Command, saveAs, sha256Of } from './parts/save.js';
import { type Column, Table } from './parts/table.js';
import { type ManifestPlace, manifestsOf, outputsIn, type StoredFile, type StoredOutputs } from './records.js';
import { clock, count, sizeText } from './words.js';

/** Limit of hosts whose files are listed. `jobctl outputs` lists all. */
const MOST_HOSTS = 16;
/** The server's limit of bytes per answer. */
const MOST_BYTES = 16 * 1_024 * 1_024;
const LOOK_MS = 15_000;

interface OutputsParts {
  readonly job: string;
  readonly isOver: boolean;
}

/** Files that a job's hosts stored in a chosen attempt, or else in the newest attempt that stored any. */
// Loaded when it is first opened.
export function Outputs({ job, isOver }: OutputsParts) {
  const [attempt, setAttempt] = useState<number>();
  const asking = useQuery({
    queryKey: ['outputs', job, attempt],
    queryFn: ({ signal }) => readOutputs(job, attempt, signal),
    refetchInterval: isOver ? false : LOOK_MS,
  });
  const { data } = asking;
  const [problem, setProblem] = useState<string>();
  const rows = data?.hosts.flatMap(({ host, files }) => files.map((file): Row => ({ ...file, host, job }))) ?? [];
  const notes = data?.hosts.flatMap(({ host, outputs }) => notesOf(host, outputs)) ?? [];
  return (
    <section>
      <Problem {...asking} />
      {data === undefined && asking.error === null && <p className="note">Loading ..</p>}
      {data !== undefined && (
        <>
          <p className="outputs-head">
            {data.attempts.length > 1 ? (
              <label>
                Attempt{' '}
                <select value={data.attempt} onChange={(event) => setAttempt(Number(event.target.value))}>
                  {data.attempts.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              </label>
            ) : (
              data.attempt !== undefined && <span>Attempt {data.attempt}</span>
            )}{' '}
            {rows.length > 0 && (
              <>
                <span className="note">
                  {count(rows.length, 'file')}, {sizeText(rows.reduce((sum, { size = 0 }) => sum + size, 0))}. All of
                  them:
                </span>{' '}
                <Command
                  line={`jobctl download ${job}${data.attempts.length > 1 ? ` --attempt ${data.attempt}` : ''}`}
                />
              </>
            )}
          </p>
          {data.more > 0 && (
            <p className="note">
              {count(data.more, 'more host')} stored files: <Command line={`jobctl outputs ${job}`} />
            </p>
          )}
          {notes.map((note) => (
            <p key={note} className="warn">
              {note}
            </p>
          ))}
          {problem !== undefined && (
            <p role="alert" className="problem">
              {problem}
            </p>
          )}
          <Table
            caption="Outputs"
            columns={columnsOf(data.hosts.length > 1, setProblem)}
            rows={rows}
            keyOf={({ host, path }) => `${host} ${path}`}
            nothing={isOver ? 'Its hosts have stored no files.' : 'Its hosts have stored no files yet.'}
          />
        </>
      )}
    </section>
  );
}

interface Row extends StoredFile {
  readonly host: number;
  readonly job: string;
}

interface Read {
  /** Attempts that have stored anything, the newest first. */
  readonly attempts: readonly number[];
  readonly attempt: number | undefined;
  readonly hosts: readonly {
    readonly host: number;
    readonly files: readonly StoredFile[];
    readonly outputs: StoredOutputs;
  }[];
  /** Number of hosts that are not listed. */
  readonly more: number;
}

async function readOutputs(job: string, wanted: number | undefined, signal: AbortSignal): Promise<Read> {
  const all = manifestsOf(await objectNames(`jobs/${job}/outputs/manifests/`, signal));
  const attempts = [...new Set(all.map((place) => place.attempt))];
  const asked = wanted === undefined ? attempts : [wanted];
  let found: Read = { attempts, attempt: asked[0], hosts: [], more: 0 };
  for (const attempt of asked) {
    const places = all.filter((place) => place.attempt === attempt);
    const hosts = await Promise.all(places.slice(0, MOST_HOSTS).map((place) => readHost(place, signal)));
    found = { attempts, attempt, hosts: hosts.flat(), more: Math.max(0, places.length - MOST_HOSTS) };
    // An attempt that was cut short has often stored nothing.
    if (found.hosts.some(({ files }) => files.length > 0)) return found;
  }
  return found;
}

async function readHost({ name, host }: ManifestPlace, signal: AbortSignal): Promise<Read['hosts']> {
  const outputs = outputsIn(await objectText(name, signal));
  return outputs === undefined ? [] : [{ host, files: outputs.files, outputs }];
}

function notesOf(host: number, { left, isEarlier, problems }: StoredOutputs): readonly string[] {
  return [
    ...(left > 0 ? [`host ${host}: ${count(left, 'more file')} are not listed here`] : []),
    ...(isEarlier ? [`host ${host}: as they were while the command was running`] : []),
    ...problems.map((problem) => `host ${host}: ${plainText(problem)}`),
  ];
}

const columnsOf = (hasHosts: boolean, tell: (problem: string | undefined) => void): readonly Column<Row>[] => [
  ...(hasHosts
    ? [{ title: 'Host', cell: ({ host }: Row) => host, by: ({ host }: Row) => host, isNumber: true } as const]
    : []),
  {
    title: 'File',
    cell: ({ path, target }) => (
      <code>
        {plainText(path)}
        {target !== undefined && ` -> ${plainText(target)}`}
      </code>
    ),
    by: ({ path }) => path,
  },
  {
    title: 'Size',
    cell: ({ size }) => (size === undefined ? 'link' : sizeText(size)),
    by: ({ size = -1 }) => size,
    isNumber: true,
  },
  {
    title: 'Changed',
    cell: ({ modifiedAt }) => <Time at={modifiedAt} />,
    by: ({ modifiedAt = 0 }) => modifiedAt,
    isMinor: true,
  },
  { title: 'Download', cell: (row) => <Save key={row.path} row={row} tell={tell} /> },
];

const Time = ({ at }: { readonly at: number | undefined }) => {
  const now = useNow(30_000);
  return at === undefined ? null : clock(at, now);
};

/** A button that saves a file. It is for files that fit into one answer, so that their bytes can be compared with the hash. */
function Save({
  row: { job, host, path, size, sha256 },
  tell,
}: {
  readonly row: Row;
  readonly tell: (problem?: string) => void;
}) {
  const saving = useMutation({
    mutationFn: async () => {
      const bytes = await objectBytes(`jobs/${job}/outputs/contents/${sha256}`);
      if ((await sha256Of(bytes)) !== sha256)
        throw new Error(`${plainText(path)} is stored with other bytes than its manifest says. Nothing was saved.`);
      saveAs(plainText(path.split('/').at(-1) ?? 'file'), bytes);
    },
    onSuccess: () => tell(undefined),
    onError: ({ message }) => tell(message),
  });
  if (sha256 === undefined || size === undefined) return null;
  if (size > MOST_BYTES || !isSecureContext) return <span className="note">jobctl download, host {host}</span>;
  return (
    <button type="button" className="quiet" disabled={saving.isPending} onClick={() => saving.mutate()}>
      {saving.isPending ? 'reading ..' : 'save'}
      <span className="hidden"> {plainText(path)}</span>
    </button>
  );
}

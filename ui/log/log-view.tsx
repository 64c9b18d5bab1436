import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { hostsOf, type LinePlace, linePlace, lineText } from '../address.js';
import { followLog, Refused } from '../api.js';
import { changeSearch, useAddress } from '../parts/link.js';
import { count, linkedParts } from '../words.js';
import { spansOf } from './ansi.js';
import { bytesOf, type LogLine, LogLines, matchesOf } from './log-lines.js';

interface LogParts {
  readonly job: string;
  readonly attempts: number;
  /** Undefined: not known. */
  readonly hosts: number | undefined;
}

/**
 * Number of lines of each host that are read at first. It is low because a young log has one object per line. A button reads
 * ten times as many.
 */
const TAIL = 100;
const MOST_TAIL = 10_000;
/** Number of bytes that are read before the linked line. */
const BEFORE_LINE = 32_768;
/** Shortest time between two drawings of the screen, however many lines arrive. */
const DRAW_MS = 100;
const LINE_PX = 18;
const READING = 'reading ..';

// Loaded with the first job.
export function Log({ job, attempts, hosts }: LogParts) {
  const { search } = useAddress();
  const said = new URLSearchParams(search);
  const hostText = said.get('host') ?? '';
  const attemptText = said.get('attempt') ?? '';
  const linked = linePlace(said.get('line'));
  const [tail, setTail] = useState(TAIL);
  const { lines, dropped, state } = useLog(job, { attemptText, hostText, tail, from: useFirst(linked) });
  const hasEarlier = tail < MOST_TAIL && lines.length > 0 && !lines.some(({ offset }) => offset === 0);
  const text = said.get('find') ?? '';
  const [isFiltered, setFiltered] = useState(false);
  const matches = useMemo(() => matchesOf(lines, text), [lines, text]);
  const [match, setMatch] = useState(-1);
  const shown = isFiltered && text !== '' ? matches : undefined;
  const next = (step: number): void =>
    setMatch((before) => (matches.length === 0 ? -1 : (before + step + matches.length) % matches.length));
  const target = match >= 0 ? matches[match] : undefined;
  return (
    <div className="log">
      <form
        className="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          next(1);
        }}
      >
        <label>
          <span className="hidden">Search the log</span>
          <input
            type="search"
            placeholder="Search lines  ( / )"
            value={text}
            onChange={(event) => {
              setMatch(-1);
              changeSearch({ find: event.target.value });
            }}
          />
        </label>
        {text !== '' && (
          <>
            <span className="note" role="status">
              {match >= 0
                ? `${match + 1} of ${matches.length}`
                : count(matches.length, 'match').replace('matchs', 'matches')}
            </span>
            <button type="button" onClick={() => next(-1)} aria-label="Previous match">
              ↑
            </button>
            <button type="submit" aria-label="Next match">
              ↓
            </button>
            <label className="check">
              <input type="checkbox" checked={isFiltered} onChange={(event) => setFiltered(event.target.checked)} />
              only these
            </label>
          </>
        )}
        <label>
          hosts{' '}
          <input
            className="short"
            defaultValue={hostText}
            placeholder={hosts === undefined || hosts < 2 ? 'all' : `all ${hosts}`}
            aria-label="Hosts, such as 0,2-4"
            onBlur={(event) => changeSearch({ host: event.target.value, line: undefined })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              changeSearch({ host: event.currentTarget.value, line: undefined });
            }}
          />
        </label>
        {attempts > 1 && (
          <label>
            attempt{' '}
            <select
              value={attemptText}
              onChange={(event) => changeSearch({ attempt: event.target.value, line: undefined })}
            >
              <option value="">last</option>
              {Array.from({ length: Math.min(attempts, 200) }, (_, at) => (
                <option key={at}>{attempts - at}</option>
              ))}
            </select>
          </label>
        )}
        {hasEarlier && (
          <button type="button" onClick={() => setTail(tail * 10)}>
            Earlier lines
          </button>
        )}
        <span className={`note ${state.isBroken ? 'warn' : ''}`} role="status">
          {state.words}
        </span>
      </form>
      {dropped > 0 && (
        <p className="note">{count(dropped, 'earlier line')} of this log left the page: `jobctl logs` has them all.</p>
      )}
      <Lines
        lines={lines}
        dropped={dropped}
        shown={shown}
        find={text}
        target={target}
        linked={linked}
        nothing={nothingWords(state, shown !== undefined)}
        isManyHosts={hostsOf(hostText)?.length !== 1 && hosts !== 1}
        link={linkTo}
      />
    </div>
  );
}

/** The same function at each drawing, so that unchanged lines are not drawn again. */
const linkTo = (line: LogLine): void =>
  changeSearch({ line: lineText(line), host: String(line.host), attempt: String(line.attempt) });

function nothingWords({ words, isBroken }: LogState, isFiltered: boolean): string {
  if (isFiltered) return 'No line has this text.';
  if (isBroken === true) return '';
  if (words === READING) return 'What is written of it is being read.';
  return words === LIVE.words
    ? 'Nothing was written yet.'
    : 'Nothing is stored of it: nothing was written, or it was deleted.';
}

/** The value of the first drawing. A line that is linked later must not make the log be read again. */
const useFirst = <T,>(value: T): T => useState(value)[0];

interface Wish {
  readonly attemptText: string;
  readonly hostText: string;
  readonly tail: number;
  readonly from: LinePlace | undefined;
}
interface LogState {
  readonly words: string;
  readonly isBroken?: true;
}

/** One shared object: a new one for each piece of log would draw all lines again. */
const LIVE: LogState = { words: 'live' };

function useLog(job: string, { attemptText, hostText, tail, from }: Wish) {
  const store = useRef(new LogLines());
  const [state, setState] = useState<LogState>({ words: READING });
  const [, draw] = useReducer((times: number) => times + 1, 0);
  useEffect(() => {
    const lines = new LogLines();
    store.current = lines;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      timer ??= setTimeout(() => ((timer = undefined), draw()), DRAW_MS);
    };
    setState({ words: READING });
    draw();
    const attempt = Number(attemptText) || undefined;
    const hosts = hostsOf(hostText);
    const begin =
      from !== undefined && hosts?.includes(from.host) === true && attempt === from.attempt ? from : undefined;
    const wish = {
      ...{ attempt, hosts, tail },
      position: begin && `${begin.attempt};${begin.host}:${Math.max(0, begin.offset - BEFORE_LINE)}`,
    };
    followLog(
      job,
      wish,
      {
        stretch: ({ bytes, ...more }) => {
          lines.push({ ...more, bytes: bytesOf(bytes) });
          setState((before) => (before.words === LIVE.words ? before : LIVE));
          changed();
        },
        attemptEnd: (of) => (lines.close(of), changed()),
        end: () => {
          lines.close();
          setState({ words: 'complete' });
          changed();
        },
      },
      stop.signal,
    ).catch((error: unknown) => {
      const words = error instanceof Refused ? error.message : String(error);
      if (stop.signal.aborted) return;
      // A person who may not read it any more no longer sees it.
      if (error instanceof Refused && error.code === 'forbidden') store.current = new LogLines();
      setState({ words, isBroken: true });
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [job, attemptText, hostText, tail, from]);
  const { lines, dropped } = store.current;
  const [length, last] = [lines.length, lines.at(-1)];
  // The list grows in place; a new one is what tells those who look at it.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const seen = useMemo(() => lines.slice(), [lines, length, last]);
  return { lines: seen, dropped, state };
}

interface LinesParts {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  /** Indexes of the lines that are shown. Absent: all. */
  readonly shown: readonly number[] | undefined;
  readonly find: string;
  /** Index of the current match of a search. */
  readonly target: number | undefined;
  readonly linked: LinePlace | undefined;
  readonly isManyHosts: boolean;
  /** Text that is shown if there are no lines. */
  readonly nothing: string;
  readonly link: (line: LogLine) => void;
}

function Lines({ lines, shown, find, target, linked, isManyHosts, nothing, link }: LinesParts) {
  const place = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(linked === undefined);
  const total = shown?.length ?? lines.length;
  const indexOf = (at: number): number => shown?.[at] ?? at;
  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => place.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  useEffect(() => {
    if (isAtEnd && total > 0) rows.scrollToIndex(total - 1, { align: 'end' });
  }, [isAtEnd, total, rows]);
  useEffect(() => {
    if (target === undefined) return;
    setAtEnd(false);
    rows.scrollToIndex(shown === undefined ? target : shown.indexOf(target), { align: 'center' });
  }, [target, shown, rows]);
  const linkedAt = linked === undefined ? -1 : lines.findIndex((line) => isLine(line, linked));
  const wasThere = useRef(false);
  useEffect(() => {
    if (linkedAt < 0 || wasThere.current) return;
    wasThere.current = true;
    rows.scrollToIndex(linkedAt, { align: 'center' });
  }, [linkedAt, rows]);
  const lastTop = useRef(0);
  const scrolled = (): void => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = place.current ?? {};
    // New lines lengthen the list, which does not count as scrolling away from its end.
    const isUp = scrollTop < lastTop.current;
    lastTop.current = scrollTop;
    if (scrollTop + clientHeight >= scrollHeight - 2 * LINE_PX) setAtEnd(true);
    else if (isUp) setAtEnd(false);
  };
  const pressed = ({ key }: KeyboardEvent): void => {
    const step = { j: 1, k: -1 }[key];
    if (step !== undefined) place.current?.scrollBy(0, step * LINE_PX);
    if (key === 'G') setAtEnd(true);
  };
  return (
    <div className="lines-frame">
      <div
        ref={place}
        className="lines"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Lines of the log"
        onScroll={scrolled}
        onKeyDown={pressed}
      >
        <div className="space" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const line = lines[indexOf(index)];
            if (line === undefined) return null;
            const isMarked = indexOf(index) === target || (linked !== undefined && isLine(line, linked));
            return (
              <Line
                key={`${line.attempt}.${line.host}.${line.offset}.${line.isNote === true}`}
                line={line}
                top={start}
                find={find}
                isMarked={isMarked}
                isManyHosts={isManyHosts}
                link={link}
              />
            );
          })}
        </div>
      </div>
      {total === 0 && <p className="note empty">{nothing}</p>}
      {!isAtEnd && total > 0 && (
        <button type="button" className="to-end" onClick={() => setAtEnd(true)}>
          To the end ↓
        </button>
      )}
    </div>
  );
}

const isLine = (line: LogLine, place: LinePlace): boolean =>
  line.offset === place.offset && line.host === place.host && line.attempt === place.attempt;

interface LineParts {
  readonly line: LogLine;
  readonly top: number;
  readonly find: string;
  readonly isMarked: boolean;
  readonly isManyHosts: boolean;
  readonly link: (line: LogLine) => void;
}

const Line = memo(function Line({ line, top, find, isMarked, isManyHosts, link }: LineParts) {
  return (
    <div
      className={`line${isMarked ? ' marked' : ''}${line.isNote === true ? ' lost' : ''}`}
      style={{ transform: `translateY(${top}px)` }}
    >
      <button type="button" tabIndex={-1} className="anchor" title="Link to this line" onClick={() => link(line)}>
        {isManyHosts ? line.host : '#'}
      </button>
      <span className="text">
        {spansOf(line.text).map(({ text, colour, background, isBold, isDim, isUnderlined }, at) => (
          <span
            key={at}
            className={[
              colour === undefined ? '' : `c${colour}`,
              background === undefined ? '' : `b${background}`,
              isBold === true ? 'bold' : '',
              isDim === true ? 'dim' : '',
              isUnderlined === true ? 'under' : '',
            ]
              .join(' ')
              .trim()}
          >
            <Linked text={text} find={find} />
          </span>
        ))}
      </span>
    </div>
  );
});

/** Makes addresses in a text links, which send no referrer. */
function Linked({ text, find }: { readonly text: string; readonly find: string }) {
  return linkedParts(text).map(({ text: part, href }, at) =>
    href === undefined ? (
      <Found key={at} text={part} find={find} />
    ) : (
      <a key={at} href={href} target="_blank" rel="noopener noreferrer">
        <Found text={part} find={find} />
      </a>
    ),
  );
}

function Found({ text, find }: { readonly text: string; readonly find: string }) {
  if (find === '') return text;
  const at = text.toLowerCase().indexOf(find.toLowerCase());
  if (at < 0) return text;
  const end = at + find.length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      <Found text={text.slice(end)} find={find} />
    </>
  );
}

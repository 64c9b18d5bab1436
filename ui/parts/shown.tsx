import type { ReactNode } from 'react';
import { clock, duration, onClock, toneOf } from '../words.js';
import { useNow } from './clock.js';

/** A phase: its name, with a mark in its colour. */
export function Phase({ phase, label = phase }: { readonly phase: string; readonly label?: string }) {
  return <span className={`phase ${toneOf(phase)}`}>{label.replaceAll('-', ' ')}</span>;
}

/** The time since `at`. Its tooltip has the time itself. */
export function Since({ at, suffix = '' }: { readonly at: number; readonly suffix?: string }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={clock(at, now)}>
      {duration(now - at)}
      {suffix}
    </time>
  );
}

/** A time on the reader's clock. */
export function At({ at }: { readonly at: number }) {
  return <time dateTime={new Date(at).toISOString()}>{clock(at, useNow(60_000))}</time>;
}

/** A sentence of the server, with its times on the reader's clock. */
export function Sentence({ text }: { readonly text: string }) {
  return <>{onClock(text, useNow(30_000))}</>;
}

export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

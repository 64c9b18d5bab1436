import { useEffect, useRef } from 'react';
import { addressOf } from '../address.js';
import { go } from './link.js';

/** Keys of the page. The words are what the help shows. */
const KEYS: readonly (readonly [key: string, words: string])[] = [
  ['/', 'search in this screen'],
  ['j, k', 'next, previous job, row or line'],
  ['x', 'choose the row in focus, to compare it'],
  ['Enter', 'open the job in focus'],
  ['b', 'all jobs'],
  ['p', 'the pool'],
  ['s', 'schedules'],
  ['?', 'this list'],
  ['Esc', 'leave a dialog or the search'],
];

/** Whether a text field has the focus, so that keys are input for it. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isBox = target instanceof HTMLInputElement && target.type === 'checkbox';
  return target.isContentEditable || (!isBox && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (key === 'Escape' && target instanceof HTMLInputElement && target.type === 'search') {
        // Chromium would clear the search field. Its text stays.
        event.preventDefault();
        target.blur();
      }
      if (ctrlKey || metaKey || altKey || isTyping(target) || document.querySelector('dialog[open]') !== null) return;
      const search = document.querySelector<HTMLInputElement>('input[type=search]');
      const deeds: Readonly<Record<string, (() => void) | undefined>> = {
        '/': search === null ? undefined : () => search.focus(),
        b: () => go(addressOf({ name: 'board' })),
        p: () => go(addressOf({ name: 'pool', id: 'default' })),
        s: () => go(addressOf({ name: 'schedules' })),
        '?': () => dialog.current?.showModal(),
      };
      const deed = deeds[key];
      if (deed === undefined) return;
      event.preventDefault();
      deed();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl className="keys">
        {KEYS.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

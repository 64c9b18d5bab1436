import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useRef } from 'react';

interface QuestionParts {
  readonly title: string;
  /** Explains the effect of the answer, and may hold fields of the form. */
  readonly children: ReactNode;
  /** Text of the button that acts. */
  readonly answer: string;
  /** It cannot be undone. */
  readonly isFinal?: boolean;
  /** Acts. @returns the message that is shown then @throws Error with the reason, which the dialog shows */
  readonly act: (form: FormData) => Promise<string>;
  /** Gets that message. */
  readonly tell: (words: string) => void;
  /** The dialog is closed, whatever was answered. */
  readonly done: () => void;
}

/** A question before something is changed. The answer in focus is the harmless one. */
export function Question({ title, children, answer, isFinal = false, act, tell, done }: QuestionParts) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  const queries = useQueryClient();
  const asking = useMutation({
    mutationFn: act,
    onSuccess: (words) => {
      tell(words);
      void queries.invalidateQueries();
      dialog.current?.close();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    asking.mutate(new FormData(event.currentTarget));
  };
  const opened = (element: HTMLDialogElement | null): void => {
    dialog.current = element;
    if (element !== null && !element.open) element.showModal();
  };
  return (
    <dialog ref={opened} onClose={done} aria-labelledby="question-title">
      <form onSubmit={submit}>
        <h2 id="question-title">{title}</h2>
        {children}
        {asking.error !== null && (
          <p role="alert" className="problem">
            {asking.error.message}
          </p>
        )}
        <div className="answers">
          <button type="button" onClick={() => dialog.current?.close()} autoFocus>
            No, go back
          </button>
          <button type="submit" className={isFinal ? 'final' : 'main'} disabled={asking.isPending}>
            {answer}
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface AskingButtonParts {
  readonly name: string;
  readonly isFinal?: boolean;
  /** The reason why the caller may not act. The button is then grey, and shows it. */
  readonly refusal: string | undefined;
  readonly ask: () => void;
}

/** A button that opens a question. */
export function AskingButton({ name, isFinal = false, refusal, ask }: AskingButtonParts) {
  return (
    <button
      type="button"
      className={isFinal ? 'final' : ''}
      aria-disabled={refusal !== undefined}
      title={refusal}
      onClick={() => refusal === undefined && ask()}
    >
      {name}
    </button>
  );
}

import { useState } from 'react';

/** Puts bytes or a text into a file of the person's computer. */
export function saveAs(name: string, content: ArrayBuffer | string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then, so it can be freed.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** SHA-256 in hex. Undefined: the browser computes none, because the page came over plain HTTP from another computer. */
export async function sha256Of(bytes: ArrayBuffer): Promise<string | undefined> {
  if (!isSecureContext) return undefined;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A command line to run in a terminal, with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => void navigator.clipboard.writeText(line).then(() => setCopied(true));
  return (
    <span className="command">
      <code>{line}</code>
      {isSecureContext && (
        <button type="button" className="quiet" onClick={copy}>
          {isCopied ? 'copied' : 'copy'}
          <span className="hidden"> {line}</span>
        </button>
      )}
    </span>
  );
}

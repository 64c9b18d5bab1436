/** A resource in a provider's own listing. The auditor's reader of each kind judges nothing and leaves nothing out. */
export interface AuditedResource {
  /** The provider's name for it, such as `node`. */
  readonly kind: string;
  /** The unit by which the provider lists resources: on Cloud TPU the Google project. */
  readonly account: string;
  readonly zone: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The type's name, for people. */
  readonly accelerator: string;
  /** Absent if the type is unknown. A request counts the chips that it asks for, and its machines count them again. */
  readonly chips?: number;
  /** Only for machines: the request that they belong to. */
  readonly request?: string;
  /** RFC 3339. */
  readonly createTime?: string;
}

/** Hears each part of an account that could not be read, such as `nodes in us-central1-a`, and the answer. */
export type OnUnread = (part: string, error: Error) => void;

/** For callers that need a complete listing: part of a listing must not pass for all of it. */
export const refuseUnread: OnUnread = (_part, error) => {
  throw error;
};

/** Reads the parts concurrently. A part that fails does not stop the others, and what it returned before counts. */
export async function readParts<Item>(
  parts: readonly (readonly [name: string, read: (take: (item: Item) => void) => Promise<void>])[],
  onUnread: OnUnread,
): Promise<readonly Item[]> {
  const found = parts.map(async ([name, read]) => {
    const items: Item[] = [];
    await read((item) => items.push(item)).catch((error: Error) => onUnread(name, error));
    return items;
  });
  return (await Promise.all(found)).flat();
}

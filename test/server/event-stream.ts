export interface StreamEvent {
  readonly name: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

/** Server-sent events as they come. Ends with the stream. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of response.body ?? []) {
    rest += decoder.decode(piece as Uint8Array, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string): string =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? '';
      if (field('event') === '') continue;
      yield { name: field('event'), id: field('id'), data: JSON.parse(field('data')) as StreamEvent['data'] };
    }
  }
}

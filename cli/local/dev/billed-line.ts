/** The first line that a user must see about a stack on real Cloud TPU. */
export function billedLine({ googleProject }: { readonly googleProject: string }): string {
  return `REAL Cloud TPU, billed to project ${googleProject}: a slice costs from its creation until it is deleted`;
}

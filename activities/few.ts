/** Looks by name cost two calls each, of a budget of five a second that all slices share; one listing tells of all in its zone. */
const FEW = 8;

/** Counts a worker's slices that do the same thing at once. A few look by name, which is quicker; many use the listing. */
export class Few {
  #count = 0;

  get isExceeded(): boolean {
    return this.#count > FEW;
  }

  /** @returns to be called when it is over; again is no harm */
  enter(): () => void {
    this.#count += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.#count -= 1;
      isOver = true;
    };
  }
}

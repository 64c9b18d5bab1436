/** A moment at which a resource must be checked. */
export interface Appointment {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  readonly kind: 'node' | 'queued-resource';
  /** Full name of the resource. */
  readonly name: string;
}

/**
 * Due times of resources in a binary heap: with ten thousand resources, only the due ones cost work. Appointments are never
 * removed early: an outdated one is dropped when its time comes.
 */
export class Agenda {
  readonly #heap: Appointment[] = [];
  readonly #isCurrent: (appointment: Appointment) => boolean;

  /** @param isCurrent false: the resource is gone, or waits for another moment by now */
  constructor(isCurrent: (appointment: Appointment) => boolean) {
    this.#isCurrent = isCurrent;
  }

  add(appointment: Appointment): void {
    const heap = this.#heap;
    let index = heap.length;
    for (let parent = (index - 1) >> 1; index > 0 && at(heap[parent]) > appointment.at; parent = (index - 1) >> 1) {
      heap[index] = heap[parent] as Appointment;
      index = parent;
    }
    heap[index] = appointment;
  }

  /** The earliest moment, or undefined. */
  next(): number | undefined {
    while (this.#heap[0] !== undefined && !this.#isCurrent(this.#heap[0])) this.#take();
    return this.#heap[0]?.at;
  }

  /** Removes and returns what is due at `moment` or before, in order of time. */
  takeUntil(moment: number): readonly Appointment[] {
    const taken: Appointment[] = [];
    for (let next = this.next(); next !== undefined && next <= moment; next = this.next()) {
      const appointment = this.#take();
      if (appointment !== undefined) taken.push(appointment);
    }
    return taken;
  }

  #take(): Appointment | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return top;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child = at(heap[left + 1]) < at(heap[left]) ? left + 1 : left;
      if (at(heap[child]) >= last.at) break;
      heap[index] = heap[child] as Appointment;
      index = child;
    }
    heap[index] = last;
    return top;
  }
}

function at(appointment: Appointment | undefined): number {
  return appointment?.at ?? Infinity;
}

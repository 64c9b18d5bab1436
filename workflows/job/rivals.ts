import type { SliceView } from '../../contract/job.js';
import type { MachineRef } from '../../domain/machines.js';
import {
  copied,
  isAllowed,
  isWhole,
  lossOf,
  type Member,
  presentOf,
  type SliceCarry,
  type SliceLoss,
  viewsOf,
} from './slice-members.js';

/** Requests for the whole gang in another zone, beside the first (docs/adr/0101). */
export interface RivalCarry {
  /** The try of a zone (`Zones`) for which these are requested. */
  readonly zoneTry: number;
  readonly slices: readonly SliceCarry[];
  /** It was told to end, and is not seen gone. */
  readonly isLeaving?: true;
  /** The job's user was told of it. */
  readonly isShown?: true;
}

interface Rival {
  readonly zoneTry: number;
  members: Member[];
  isLeaving: boolean;
  isShown: boolean;
}

/** Requests beside the job's own ones. State only, as `Slices`, whose part it is. */
export class Rivals {
  #rivals: Rival[];
  readonly #requests: number;

  /** @param requests number of requests that the job makes for its slices */
  constructor(requests: number, carry: readonly RivalCarry[] = []) {
    this.#requests = requests;
    this.#rivals = carry.map(({ zoneTry, slices, isLeaving, isShown }) => ({
      zoneTry,
      members: copied(slices),
      isLeaving: isLeaving ?? false,
      isShown: isShown ?? false,
    }));
  }

  /** Views of the requests, while they exist and the provider may have received them. */
  get views(): readonly SliceView[] {
    return this.#rivals.flatMap(({ members, isLeaving }) =>
      members
        .filter((member) => member.state !== 'gone' && (member.isBeside === undefined || isAllowed(member)))
        .map((member): Member => (isLeaving ? { ...member, state: 'lost', detail: 'told to go' } : member))
        .flatMap(viewsOf),
    );
  }

  get members(): readonly Member[] {
    return this.#rivals.flatMap(({ members }) => members);
  }

  get #waiting(): readonly Rival[] {
    return this.#rivals.filter(({ isLeaving }) => !isLeaving);
  }

  /** Tries of zones that are asked beside the first, in the order in which they began. */
  get tries(): readonly number[] {
    return this.#waiting.map(({ zoneTry }) => zoneTry);
  }

  /**
   * The members of `tries` of which the job's user was told. One that the full pool refused is not shown, because no provider
   * was asked.
   */
  get shown(): readonly number[] {
    return this.#waiting.filter(({ isShown }) => isShown).map(({ zoneTry }) => zoneTry);
  }

  /** The first try that its pool has allowed and of which the job's user was not told. */
  get unshown(): number | undefined {
    return this.#waiting.find(({ members, isShown }) => !isShown && members.some(isAllowed))?.zoneTry;
  }

  /** Notes that the job's user was told of the try. */
  show(zoneTry: number): void {
    for (const rival of this.#waiting) if (rival.zoneTry === zoneTry) rival.isShown = true;
  }

  /** Whether requests that were told to end still exist. */
  get isLeaving(): boolean {
    return this.#rivals.some(({ isLeaving }) => isLeaving);
  }

  /** The try all of whose slices are ready. */
  get ready(): number | undefined {
    return this.#waiting.find(({ members }) => isWhole(members, this.#requests))?.zoneTry;
  }

  /** The first try that is lost, with the reason. */
  get lost(): (SliceLoss & { readonly zoneTry: number }) | undefined {
    for (const { zoneTry, members } of this.#waiting) {
      const loss = lossOf(members);
      if (loss) return { ...loss, zoneTry };
    }
    return undefined;
  }

  /** The requests of a try, to which more are added. */
  membersOf(zoneTry: number): Member[] {
    const known = this.#waiting.find((rival) => rival.zoneTry === zoneTry);
    const rival = known ?? { zoneTry, members: [], isLeaving: false, isShown: false };
    if (known === undefined) this.#rivals.push(rival);
    return rival.members;
  }

  /** Takes the try's requests out, and keeps `former` in their place until they are seen gone. */
  exchange(zoneTry: number, former: { readonly zoneTry: number; readonly members: Member[] }): Member[] {
    const rival = this.#rivals.find((each) => each.zoneTry === zoneTry);
    if (rival === undefined) throw new TypeError(`no rival of try ${zoneTry}`);
    const leaving: Rival = { ...former, isLeaving: true, isShown: true };
    this.#rivals = [...this.#rivals.filter((each) => each !== rival), leaving];
    this.forgetGone();
    return rival.members;
  }

  /** @returns the try's requests that still exist, which have to be told to end */
  drop(zoneTry: number): readonly MachineRef[] {
    const rival = this.#waiting.find((each) => each.zoneTry === zoneTry);
    if (rival === undefined) return [];
    rival.isLeaving = true;
    this.forgetGone();
    return presentOf(rival.members);
  }

  /** Call it when a request is seen gone. */
  forgetGone(): void {
    this.#rivals = this.#rivals.filter(({ members, isLeaving }) => !isLeaving || presentOf(members).length > 0);
  }

  /** State to carry over a continue-as-new. */
  carry(): readonly RivalCarry[] {
    return this.#rivals.map(({ zoneTry, members, isLeaving, isShown }) => {
      const slices = copied(members);
      return { zoneTry, slices, ...(isLeaving && { isLeaving }), ...(isShown && { isShown }) };
    });
  }
}

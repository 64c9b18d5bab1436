import type { z } from 'zod';
import type { RequestContext, RequestSection, ResolvedRequest } from '../machine-kinds/kind.js';
import { KINDS, type MachineRequest } from '../machine-kinds/registry.js';
import { reachFacts } from '../slice.js';
import { given } from './fields.js';
import type { Report } from './report.js';

type AnySection = RequestSection<MachineRequest>;

/** The sections by which a job asks for machines, one of each kind. */
export const REQUEST_SECTIONS = Object.values(KINDS).map((kind): AnySection => kind.section);

/** Sections whose machines are pods, which take an image. */
export const POD_SECTIONS = Object.values(KINDS).flatMap(({ reach, section }) =>
  reachFacts(reach).areContainers ? [section.name] : [],
);

type SectionName<Request> = Request extends unknown ? keyof Request : never;
type RequestForms = { [Name in SectionName<MachineRequest>]: z.ZodOptional<z.ZodNullable<z.ZodType>> };

export const requestForms = (): RequestForms =>
  Object.fromEntries(REQUEST_SECTIONS.map(({ name, form }) => [name, form().nullish()])) as unknown as RequestForms;

/**
 * Resolves the request for machines: a job file has the section of one kind.
 * @returns undefined if it has no such section, or if its section names no machines; both are reported
 */
export function resolveRequest(
  file: Readonly<Record<string, unknown>>,
  context: RequestContext,
  report: Report,
  sections: readonly AnySection[] = REQUEST_SECTIONS,
): ResolvedRequest<MachineRequest> | undefined {
  const [asked, other] = sections.filter(({ name }) => given(file[name]) !== undefined);
  if (asked === undefined) {
    reportMissing(sections, report);
    return undefined;
  }
  if (other !== undefined) {
    const message = `${asked.name} and ${other.name} are both given`;
    report.problem([other.name], file[other.name], message, 'the slices of a job are of one kind: keep one section');
  }
  if (context.atomic && !asked.takesAtomic) {
    const message = `is not for machines of the section ${asked.name}: each of their slices is asked for alone`;
    report.problem(['atomic'], true, message, 'leave atomic out: the job starts when all of its slices are there');
  }
  return asked.resolve(file[asked.name], context, report);
}

function reportMissing(sections: readonly AnySection[], report: Report): void {
  // A wrong section is already reported.
  const [first] = sections;
  if (first === undefined || sections.some(({ name }) => report.wasDropped([name]))) return;
  const choice = sections.map(({ name, least }) => `${name}, with ${least}`).join(', or ');
  report.missing([first.name], `a job needs the section ${choice}`);
}

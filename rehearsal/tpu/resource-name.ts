import { ApiError, apiErrors } from './api-error.js';

/** `projects/P/locations/Z`. In a listing a zone of `-` means all zones. */
export interface Location {
  readonly project: string;
  readonly zone: string;
}

export function parseLocation(parent: string): Location {
  const match = /^projects\/([^/]+)\/locations\/([^/]+)$/.exec(parent);
  if (match === null) throw invalid(parent, 'projects/PROJECT/locations/ZONE');
  return { project: match[1] ?? '', zone: match[2] ?? '' };
}

/** Parses a location in which resources may be created: the zone's name must have Google's form. */
export function parseZone(parent: string): Location {
  const location = parseLocation(parent);
  if (!isZoneName(location.zone)) throw apiErrors.unknownZone(location.project, location.zone);
  return location;
}

export function isZoneName(zone: string): boolean {
  return /^[a-z]+-[a-z]+\d+-[a-z]$/.test(zone);
}

export function zoneOf(name: string): string {
  return name.split('/')[3] ?? '';
}

export function parentOf(name: string): string {
  return name.split('/').slice(0, 4).join('/');
}

export function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Whether a resource is in the location, which may be `locations/-`. */
export function isIn(name: string, parent: string): boolean {
  const { project, zone } = parseLocation(parent);
  return zone === '-' ? name.startsWith(`projects/${project}/locations/`) : parentOf(name) === parent;
}

/** Checks the form of an id in Cloud TPU's protos (docs/facts.md, "Cloud TPU"), and the length of a host's name. */
export function checkId(field: string, id: string): void {
  if (/^[A-Za-z0-9_.~+%-]{1,63}$/.test(id)) return;
  throw new ApiError(
    'INVALID_ARGUMENT',
    `${field}: '${id}' is not valid; wanted [A-Za-z0-9_.~+%-], 1 to 63 characters`,
  );
}

function invalid(name: string, wanted: string): ApiError {
  return new ApiError('INVALID_ARGUMENT', `Resource name '${name}' is not valid; wanted ${wanted}`);
}

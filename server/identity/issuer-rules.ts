/** The parts of an issuer's configuration (server/config.ts) that decide who is let in and whether two can be confused. */
export interface IssuerRules {
  readonly issuer: string;
  readonly user: 'email' | 'email-local-part' | 'sub';
  readonly hostedDomains?: readonly string[] | undefined;
  readonly emailDomains?: readonly string[] | undefined;
  readonly groupsClaim: string | null;
  readonly groupPrefix?: string | undefined;
  readonly allowedGroups?: readonly string[] | undefined;
  readonly anyAccount: boolean;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
  readonly page?: { readonly clientId: string; readonly name?: string | undefined } | undefined;
}

export interface IssuerProblem {
  /** Path inside the configuration. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Issuers at which anyone in the world has an account or can make one in a minute: a valid token of theirs does not show that its
 * subject belongs here. Values of `iss`, without a slash at the end.
 */
const OF_EVERYBODY: ReadonlySet<string> = new Set([
  'https://accounts.google.com',
  'https://appleid.apple.com',
  'https://gitlab.com',
  // Personal accounts at Microsoft; a company's tenant has another id.
  'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  // Any workflow of any repository gets a token for any audience.
  'https://token.actions.githubusercontent.com',
]);

/** Returns the problems of issuers that each have a valid form (docs/serve.md, "Identity"). Pure. */
export function issuerProblems(issuers: readonly IssuerRules[]): readonly IssuerProblem[] {
  const alone = issuers.flatMap((issuer, at) => ownProblems(issuer).map((problem) => below(at, problem)));
  const isTwice = new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length;
  return [
    ...alone,
    ...(isTwice ? [{ path: ['issuers'], message: 'an issuer is named twice' }] : []),
    ...(issuers.length > 1 ? [...sameUsers(issuers), ...sameGroups(issuers)] : []),
  ];
}

interface PageRules {
  readonly issuers: readonly IssuerRules[];
  readonly publicUrl?: string | undefined;
}

/** Returns the problems of logins in the page (docs/serve.md, "Log in by the page"). Pure. */
export function pageProblems({ issuers, publicUrl }: PageRules): readonly IssuerProblem[] {
  const names = issuers.flatMap(({ page }) => (page === undefined ? [] : [page.name]));
  return issuers.flatMap(({ page, audiences, scopes }, at) => {
    if (page === undefined) return [];
    const problem = (key: string, message: string): IssuerProblem => ({ path: ['issuers', at, 'page', key], message });
    const { clientId, name } = page;
    const isTwice = names.indexOf(name) !== names.lastIndexOf(name);
    return [
      ...(publicUrl === undefined
        ? [{ path: ['publicUrl'], message: `is missing: issuers.${at} sends people back to it (page)` }]
        : []),
      ...(audiences.includes(clientId)
        ? []
        : [problem('clientId', `'${clientId}' is none of audiences, so its tokens would be refused: add it there`)]),
      ...(names.length > 1 && name === undefined
        ? [problem('name', 'is missing: each of several issuers has an address of its own to send people back to')]
        : []),
      ...(name !== undefined && isTwice ? [problem('name', `'${name}' is the name of another issuer too`)] : []),
      ...(scopes.includes('openid')
        ? []
        : [{ path: ['issuers', at, 'scopes'], message: 'without openid the issuer gives no ID token' }]),
    ];
  });
}

const below = (at: number, { path, message }: IssuerProblem): IssuerProblem => ({
  path: ['issuers', at, ...path],
  message,
});

function ownProblems(issuer: IssuerRules): readonly IssuerProblem[] {
  const { user, emailDomains, groupPrefix, groupsClaim, allowedGroups } = issuer;
  const problems: IssuerProblem[] = [];
  if (user === 'email-local-part' && emailDomains?.length !== 1)
    problems.push({
      path: ['user'],
      message: 'email-local-part needs exactly one of emailDomains: in two domains a name would be two people',
    });
  if (isOfEverybody(issuer))
    problems.push({
      path: [],
      message:
        `everybody in the world who has an account at ${issuer.issuer} would be let in; name hostedDomains (Google ` +
        'Workspace), emailDomains or allowedGroups; if everybody is meant: "anyAccount": true',
    });
  if (groupsClaim === null && (groupPrefix !== undefined || allowedGroups !== undefined))
    problems.push({
      path: ['groupsClaim'],
      message: 'null takes no groups: groupPrefix and allowedGroups need a claim',
    });
  return problems;
}

function isOfEverybody({ issuer, hostedDomains, emailDomains, allowedGroups, anyAccount }: IssuerRules): boolean {
  if (!OF_EVERYBODY.has(issuer.replace(/(?<!\/)\/+$/, ''))) return false;
  return !anyAccount && hostedDomains === undefined && emailDomains === undefined && allowedGroups === undefined;
}

/** Two subjects with one name from two issuers are one user, so each of several issuers must be limited to its own names. */
function sameUsers(issuers: readonly IssuerRules[]): readonly IssuerProblem[] {
  return issuers.flatMap(({ user, emailDomains }, at) => {
    const problem = (message: string): readonly IssuerProblem[] => [{ path: ['issuers', at], message }];
    if (user === 'sub')
      return problem('user sub: beside another issuer its names may be those of other people; use email');
    if (user === 'email-local-part' && issuers.findIndex((each) => each.user === user) !== at)
      return problem('user email-local-part: one issuer alone may, or a name would be two people');
    if (emailDomains === undefined)
      return problem('emailDomains: is missing; one of several issuers must not name people of another');
    return [];
  });
}

/**
 * A group is known only by its name (`group:tpu-operators`), so no two issuers may be able to give the same name. At most one
 * issuer gives groups under their own names. Each other one has a unique prefix or gives no groups.
 */
function sameGroups(issuers: readonly IssuerRules[]): readonly IssuerProblem[] {
  const bare = issuers.findIndex(({ groupsClaim, groupPrefix }) => groupsClaim !== null && groupPrefix === undefined);
  return issuers.flatMap(({ groupsClaim, groupPrefix }, at) => {
    if (groupsClaim === null || at === bare) return [];
    if (groupPrefix === undefined)
      return [
        {
          path: ['issuers', at, 'groupPrefix'],
          message:
            `is missing: issuers.${bare} gives groups under their own names too, so whoever makes groups at one issuer would ` +
            'be in a group of the other, such as its operators; name a prefix, such as "partner/", which the pool file then ' +
            'says (group:partner/NAME), or take no groups of it: "groupsClaim": null',
        },
      ];
    const twin = issuers.findIndex(
      (other, place) => place < at && other.groupPrefix !== undefined && overlap(other.groupPrefix, groupPrefix),
    );
    if (twin === -1) return [];
    const message = `'${groupPrefix}' and '${issuers[twin]?.groupPrefix}' of issuers.${twin} can make one name: neither may begin with the other`;
    return [{ path: ['issuers', at, 'groupPrefix'], message }];
  });
}

const overlap = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);

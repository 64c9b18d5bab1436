import { createHmac } from 'node:crypto';
import { lookup as systemLookup } from 'node:dns/promises';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import nodemailer from 'nodemailer';
import ipaddr from 'ipaddr.js';
import { messageOf } from '../../domain/errors.js';
import { boundedLine, visibleText } from '../../domain/outside-text.js';
import type { Delivery, Destination, NoticeMessage, NoticeSender } from './port.js';

/** The mail server: a URL such as `smtps://USER:PASSWORD@HOST`, read anew for each mail, and the address that mails are from. */
interface MailSettings {
  readonly url: () => Promise<string>;
  readonly from: string;
}

export function noticeSender(reach: Reach, mail: MailSettings | undefined): NoticeSender {
  return {
    sendsMail: mail !== undefined,
    send: async (to, message) => {
      try {
        return await sendTo(to, message, reach, mail);
      } catch (error) {
        const why = messageOf(error);
        return { kind: error instanceof ForbiddenAddress ? 'never' : 'later', why: boundedLine(why, MOST_WHY) };
      }
    },
  };
}

const MOST_WHY = 400;

function sendTo(
  to: Destination,
  message: NoticeMessage,
  reach: Reach,
  mail: MailSettings | undefined,
): Promise<Delivery> {
  switch (to.kind) {
    case 'webhook':
      return sendWebhook(to, message, reach);
    case 'slack':
      return sendSlack(to.url, message, reach);
    case 'mail':
      return mail === undefined
        ? Promise.resolve({ kind: 'never', why: 'this installation sends no mail' })
        : sendMail(to.to, message, mail);
  }
}

// Webhooks -------------------------------------------------------------------------------------------------------------

const KEY_PREFIX = 'whsec_';
const KEY_BYTES = { least: 24, most: 64 };
const KEY_RULE = `${KEY_PREFIX} and ${KEY_BYTES.least} to ${KEY_BYTES.most} bytes in base64`;

/** The bytes of a signing key, or undefined if the text is not a signing key. */
export function signingKey(text: string): Buffer | undefined {
  const line = text.trim();
  const base64 = line.slice(KEY_PREFIX.length);
  if (!line.startsWith(KEY_PREFIX) || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length >= KEY_BYTES.least && bytes.length <= KEY_BYTES.most ? bytes : undefined;
}

/** The header `webhook-signature` of Standard Webhooks 1.0. @param timestamp in seconds */
export const signatureOf = (key: Buffer, id: string, timestamp: number, body: string): string =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;

async function sendWebhook(
  { url, key: text }: Extract<Destination, { kind: 'webhook' }>,
  { id, type, timestamp: at, data }: NoticeMessage,
  reach: Reach,
): Promise<Delivery> {
  const key = signingKey(text);
  if (key === undefined) return { kind: 'never', why: `its secret is no signing key: ${KEY_RULE}` };
  const body = JSON.stringify({ type, timestamp: at, data });
  const timestamp = Math.floor(Date.now() / 1000);
  const signed = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf(key, id, timestamp, body),
  };
  return deliveryOf(await guardedPost(url, body, { ...HEADERS, ...signed }, reach));
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'jobctl' };

/** Answers of the 4xx class that may pass. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
const LONGEST_ASKED_MS = 3_600_000;

export function deliveryOf({ status, retryAfter, text }: Answer): Delivery {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const said = text === '' ? '' : `: ${text}`;
  if (status >= 300 && status < 400)
    return { kind: 'never', why: `it answered ${status}, and redirects are not followed` };
  if (status >= 400 && status < 500 && !PASSING.has(status))
    return { kind: 'never', why: `it answered ${status}${said}` };
  const afterMs = pauseOf(retryAfter, Date.now());
  return { kind: 'later', why: `it answered ${status}${said}`, ...(afterMs === undefined ? {} : { afterMs }) };
}

/** The pause that Retry-After asks for, in seconds or until a date. */
function pauseOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1_000), LONGEST_ASKED_MS);
}

// Slack ----------------------------------------------------------------------------------------------------------------

/** Limit of a block's text. Slack allows 3,000 characters. */
const MOST_SLACK_TEXT = 2_900;

/** Text in Slack's markup, in which nothing is a link, a mention or a command. */
const slackEscaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The body for an incoming webhook: a text for notifications, and the same as blocks. */
export function slackBody({ title, lines }: Pick<NoticeMessage, 'title' | 'lines'>): unknown {
  const cut = (text: string): string => slackEscaped(text.slice(0, MOST_SLACK_TEXT / 5)).slice(0, MOST_SLACK_TEXT);
  const [first = '', ...rest] = lines;
  const section = { type: 'section', text: { type: 'mrkdwn', text: `*${cut(title)}*\n${cut(first)}` } };
  const context = { type: 'context', elements: rest.map((line) => ({ type: 'mrkdwn', text: cut(line) })) };
  return { text: cut(title), blocks: rest.length === 0 ? [section] : [section, context] };
}

async function sendSlack(address: string, message: NoticeMessage, reach: Reach): Promise<Delivery> {
  const url = address.trim();
  if (!URL.canParse(url)) return { kind: 'never', why: 'its secret is no URL of an incoming webhook' };
  return deliveryOf(await guardedPost(url, JSON.stringify(slackBody(message)), HEADERS, reach));
}

// Mail -----------------------------------------------------------------------------------------------------------------

const MOST_SUBJECT = 150;
const SMTP_TIMEOUT_MS = 20_000;

interface SmtpError extends Error {
  readonly code?: string;
  readonly responseCode?: number;
}

async function sendMail(
  to: readonly string[],
  { id, title, lines }: NoticeMessage,
  { url, from }: MailSettings,
): Promise<Delivery> {
  const transport = nodemailer.createTransport({
    ...smtpOptions((await url()).trim()),
    connectionTimeout: SMTP_TIMEOUT_MS,
    greetingTimeout: SMTP_TIMEOUT_MS,
    socketTimeout: SMTP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      from,
      to: to.map((address) => ({ name: '', address })),
      subject: boundedLine(title, MOST_SUBJECT),
      text: `${lines.join('\n')}\n`,
      messageId: `<${id}@jobctl>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
    return { kind: 'sent' };
  } catch (error) {
    const { code, responseCode = 0, message } = error as SmtpError;
    const why = boundedLine(`the mail server: ${message}`, MOST_WHY);
    // The operator can mend a login; the server's refusal of a mail or a recipient stays.
    const isFinal = responseCode >= 500 && code !== 'EAUTH';
    return { kind: isFinal ? 'never' : 'later', why };
  } finally {
    transport.close();
  }
}

/** @throws Error without the URL, which holds a password */
function smtpOptions(text: string): {
  host: string;
  port: number;
  secure: boolean;
  auth?: { user: string; pass: string };
} {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['smtp:', 'smtps:'].includes(url.protocol))
    throw new Error('notify.smtp.url is no URL of a mail server: smtp://HOST:PORT or smtps://USER:PASSWORD@HOST');
  const secure = url.protocol === 'smtps:';
  const login = { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    ...(login.user === '' ? {} : { auth: login }),
  };
}

interface Resolved {
  readonly address: string;
  readonly family: number;
}
export type Resolve = (host: string) => Promise<readonly Resolved[]>;

/** CIDRs of networks that are not public but may be posted to. Plain http is allowed only for loopback addresses in them. */
interface Reach {
  readonly networks: readonly string[];
  /** Replaces the computer's resolver. */
  readonly resolve?: Resolve;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The beginning of the body, in visible characters. */
  readonly text: string;
}

/** The URL leads to an address that this worker does not post to. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

const MOST_ANSWER_BYTES = 4_096;
const MOST_SHOWN = 200;
const TIMEOUT_MS = 30_000;

/**
 * Posts to a URL that a user named. The name is resolved once, its addresses are checked, and the connection goes to a checked
 * address, so a resolver that answers otherwise the second time changes nothing. Redirects are not followed.
 * @throws ForbiddenAddress; Error without the URL, whose path may be a secret
 */
export async function guardedPost(
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  reach: Reach,
): Promise<Answer> {
  const url = new URL(address);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const resolved = await resolvedBy(reach, host);
  const allowed = resolved.filter((each) => mayReach(each.address, url.protocol, reach));
  if (allowed.length === 0) throw new ForbiddenAddress(whyForbidden(host, resolved, url.protocol));
  return send(url, { body, headers, lookup: fixed(allowed) });
}

async function resolvedBy({ resolve = resolveAll }: Reach, host: string): Promise<readonly Resolved[]> {
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family }];
}

const resolveAll: Resolve = (host) => systemLookup(host, { all: true });

/**
 * Returns whether a notice may be posted to the address: a public one, or one in a network of the worker's configuration. An IPv6
 * form of an IPv4 address is judged like that address.
 */
export function mayReach(address: string, protocol: string, { networks }: Pick<Reach, 'networks'>): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  const isListed = networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    return ip.kind() === base.kind() && ip.match([base, bits] as never);
  });
  if (protocol === 'http:') return isListed && ip.range() === 'loopback';
  return protocol === 'https:' && (isListed || ip.range() === 'unicast');
}

function whyForbidden(host: string, resolved: readonly Resolved[], protocol: string): string {
  if (resolved.length === 0) return `${host} has no address`;
  const shown = resolved.map(({ address }) => address).join(', ');
  const what = shown === host ? host : `${host} leads to ${shown}, which`;
  if (protocol === 'http:') return `${what} is not posted to by plain http`;
  return `${what} is no public address; an operator can allow its network: notify.networks of the worker's configuration`;
}

const fixed =
  (addresses: readonly Resolved[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

interface Request {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lookup: LookupFunction;
}

function send(url: URL, { body, headers, lookup }: Request): Promise<Answer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    // No connection is kept: the next request checks its addresses anew.
    agent: false,
    lookup,
    signal,
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(signal.aborted ? new Error(`${url.host} did not answer within ${TIMEOUT_MS / 1000} s`) : error);
    const request = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, options, (response) => {
      beginning(response).then((text) => {
        const retryAfter = response.headers['retry-after'];
        resolve({ status: response.statusCode ?? 0, retryAfter, text });
        request.destroy();
      }, fail);
    });
    request.on('error', fail);
    request.end(body);
  });
}

async function beginning(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_ANSWER_BYTES) break;
  }
  const text = Buffer.concat(chunks).toString('utf8').replaceAll(/\s+/g, ' ').trim();
  return visibleText(text.slice(0, MOST_SHOWN));
}

import type { OutgoingHttpHeaders } from 'node:http';
import type { StoreAnswer } from './call.js';
import type { StoreError } from './store-error.js';

const HEAD = "<?xml version='1.0' encoding='UTF-8'?>";
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** @param content well-formed XML. */
export function xmlAnswer(
  status: number,
  element: string,
  content: string,
  headers: OutgoingHttpHeaders = {},
): StoreAnswer {
  const namespace = element === 'Error' ? '' : ` xmlns='${NAMESPACE}'`;
  const text = `${HEAD}<${element}${namespace}>${content}</${element}>`;
  const type = { 'content-type': 'application/xml; charset=UTF-8', 'content-length': Buffer.byteLength(text) };
  return { kind: 'bytes', status, headers: { ...headers, ...type }, content: Buffer.from(text) };
}

export function xmlError({ httpStatus, xmlCode, message }: StoreError): StoreAnswer {
  return xmlAnswer(httpStatus, 'Error', `<Code>${xmlCode}</Code><Message>${escapeXml(message)}</Message>`);
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

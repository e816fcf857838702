import { askRaw, type RawAnswer } from '../hostile/raw-request.js';
import type { Service } from '../service.js';
import type { Attempt } from './changed-calls.js';

/** Sends a call as somebody, header by header: one may be empty, or hold a line too many. */
export async function sendAttempt(
  { url, tokenOf }: Pick<Service, 'url' | 'tokenOf'>,
  { method, path, headers, needsToken, body, text, type }: Attempt,
  email: string,
): Promise<RawAnswer> {
  const lines = Object.entries(headers).map(([name, value]) => (value === '' ? name : `${name}: ${value}`));
  const token = needsToken ? [`Authorization: Bearer ${await tokenOf(email)}`] : [];
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  const framing =
    sent === '' ? [] : [`Content-Type: ${type ?? 'application/json'}`, `Content-Length: ${Buffer.byteLength(sent)}`];
  return askRaw(url, { method, path, headers: [...lines, ...token, ...framing], body: sent });
}

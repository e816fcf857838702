import { sendRawRequest, type RawResponse } from '../hostile/raw-request.js';
import type { Service } from '../service.js';
import type { Attempt } from './changed-calls.js';

/** Sends a call with raw headers, which may be empty or contain a line break. */
export async function sendAttempt(
  { url, tokenOf }: Pick<Service, 'url' | 'tokenOf'>,
  { method, path, headers, needsToken, body, text, type }: Attempt,
  email: string,
): Promise<RawResponse> {
  const lines = Object.entries(headers).map(([name, value]) => (value === '' ? name : `${name}: ${value}`));
  const token = needsToken ? [`Authorization: Bearer ${await tokenOf(email)}`] : [];
  const sent = text ?? (body === undefined ? '' : JSON.stringify(body));
  const framing =
    sent === '' ? [] : [`Content-Type: ${type ?? 'application/json'}`, `Content-Length: ${Buffer.byteLength(sent)}`];
  return sendRawRequest(url, { method, path, headers: [...lines, ...token, ...framing], body: sent });
}

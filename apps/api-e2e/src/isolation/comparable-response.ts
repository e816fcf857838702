import type { HttpResponse } from '../responses.js';

/** The headers that differ between two equal responses: the last one counts requests. */
const CHANGING = ['date', 'x-request-id', 'ratelimit'];

export const withoutRequestId = (text: string): string => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

/** A response as text, without the parts that differ between two equal responses. */
export function comparable({ status, headers, text }: HttpResponse): string {
  const lines = [...headers].filter(([name]) => !CHANGING.includes(name)).map((header) => header.join(': '));
  return [status, ...lines.sort(), withoutRequestId(text)].join('\n');
}

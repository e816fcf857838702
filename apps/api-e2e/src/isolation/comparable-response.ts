import type { HttpResponse } from '../responses.js';

/** The headers that differ between two equal responses: the last one counts requests. */
const CHANGING = ['date', 'x-request-id', 'ratelimit'];

export const withoutRequestId = (text: string): string => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

/** A response as text, without the parts that differ between two equal responses. */
export function comparable({ status, headers, text }: HttpResponse): string {
  const lines = [...headers]
    .filter(([name]) => !CHANGING.includes(name))
    .map(([name, value]) => `${name}: ${name === 'link' ? withoutRequest(value) : value}`);
  return [status, ...lines.sort(), withoutRequestId(text)].join('\n');
}

/** A link repeats the filters of its request, and its cursor is signed with them. */
export const withoutRequest = (link: string): string => link.replace(/([?&](?:cursor|resourceId)=)[^&>]*/g, '$1');

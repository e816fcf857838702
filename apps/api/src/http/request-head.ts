import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { type CountedHeader, repeatedHeader } from './header-lines.js';
import { LIMITS } from './limits.js';
import { hasBrokenQuery } from './query-encoding.js';
import { allowedMethods, type RouteIndex } from './route-index.js';

/** Headers with one value each. If one is sent twice, two readers may use different values (RFC 9110, section 5.3). */
const SINGLE_HEADERS = {
  /** They determine the target and the end of a request: 400 before the caller is authenticated (RFC 9112, section 3.2). */
  framing: new Set<CountedHeader>(['host', 'content-length']),
  other: new Set<CountedHeader>(['content-type', 'idempotency-key', 'accept']),
};

/** @throws Refusal `uri_too_long`, `headers_too_large`, `header_repeated` */
export function checkHead(request: FastifyRequest): void {
  const { url, raw } = request;
  if (url.length > LIMITS.urlBytes) throw new Refusal('uri_too_long');
  if (raw.rawHeaders.length / 2 > LIMITS.headers) throw new Refusal('headers_too_large');
  refuseRepeated(request, SINGLE_HEADERS.framing);
}

/**
 * The refusal of a path or a method that is not served, with `Allow` on the reply. Which of them exist is public: the document shows them.
 */
export function routeRefusal(routes: RouteIndex, request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
  // If pages of other origins may call, the router has a route for OPTIONS on every path.
  if (!request.is404 && request.method !== 'OPTIONS' && !hasEmptyParameter(request)) return undefined;
  const methods = allowedMethods(routes, request.url);
  if (methods.length === 0) return new Refusal('route_not_found');
  reply.header('Allow', methods.join(', '));
  return new Refusal('method_not_allowed', `This path supports ${methods.join(', ')}.`);
}

/** The router matches an empty path segment, and Nest responds 404 to it in the handler only. */
const hasEmptyParameter = ({ params }: FastifyRequest) => Object.values(params as Record<string, string>).includes('');

/**
 * Checks the rest of the head after the caller is authorized.
 *
 * @throws Refusal `unsupported_media_type`, `request_malformed`, `header_repeated`
 */
export function checkRest(request: FastifyRequest): void {
  const { headers, url } = request;
  // A body packed by a coding could be any size once unpacked.
  const coding = headers['content-encoding'];
  if (coding !== undefined && !['', 'identity'].includes(coding.toLowerCase()))
    throw new Refusal('unsupported_media_type');
  if (hasBrokenQuery(url))
    throw new Refusal('request_malformed', 'The query is not well-formed: check its percent-encoding.');
  refuseRepeated(request, SINGLE_HEADERS.other);
}

function refuseRepeated(request: FastifyRequest, names: ReadonlySet<CountedHeader>): void {
  const name = repeatedHeader(request, names);
  if (name !== undefined) throw new Refusal('header_repeated', `Send the header ${name} once.`);
}

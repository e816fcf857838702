import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { type EnvironmentReader, parseNetwork } from '@banking/process';
import { hasUnknownCoding, isBodyRead } from './connections.js';
import { LIMITS } from './limits.js';

/** The media types of an operation that declares none. */
export const JSON_ONLY = ['application/json'] as const;

/**
 * Selects the media type of the response by an Accept header (RFC 9110, section 12.5.1): by weight, then by exactness of the range, then
 * by the order of `offered`. The most specific matching range sets the weight of a type. Undefined if the header allows none.
 */
export function preferredType<T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === '') return offered[0];
  const weights = weightsOf(accept);
  const choices = offered.map((type) => {
    const ranges = [type, `${type.split('/', 1)[0]}/*`, '*/*'];
    const fit = ranges.findIndex((range) => weights.has(range));
    return { type, weight: weights.get(ranges[fit] ?? '') ?? 0, exactness: -fit };
  });
  const [best] = choices
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || b.exactness - a.exactness);
  return best?.type;
}

function weightsOf(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(type, weight === undefined || !/^(0|1)(\.[0-9]{0,3})?$/.test(weight) ? 1 : Number(weight));
  }
  return weights;
}

/** A request target without the scheme and host of the absolute form (RFC 9112, section 3.2.2), which the caller chooses freely. */
export function originFormOf(target: string): string {
  const [, rest] = /^https?:\/\/[^/?]*(.*)$/is.exec(target) ?? [];
  return rest === undefined ? target : rest.startsWith('/') ? rest : `/${rest}`;
}

/** An IPv4 address in the form of IPv6, as a socket that listens on both has it. */
const MAPPED = /^::ffff:(?=\d+\.)/i;

const plain = (address: string): string => address.trim().replace(MAPPED, '');

/**
 * The address that a request comes from: the peer of the connection. If that is a trusted proxy, the last address of `X-Forwarded-For`
 * before the trusted ones: a client can write any address before it. Empty without a peer: a socket that was reset has none.
 */
export function sourceAddressOf(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = plain(peer ?? '');
  for (const text of (forwardedFor ?? '').split(',').reverse()) {
    const before = plain(text);
    // A zone of IPv6 is any text.
    if (isIP(before) === 0 || before.includes('%') || !trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'))
      return address;
    address = before;
  }
  return address;
}

export const sourceOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>, trusted: BlockList): string =>
  sourceAddressOf(ip, [headers['x-forwarded-for'] ?? []].flat().join(','), trusted);

/** The proxies whose `X-Forwarded-For` is read: addresses and networks, separated by commas. Default: none. */
export function readTrustedProxies({ text, mistakes }: EnvironmentReader): BlockList {
  const proxies = new BlockList();
  const listed = (text('TRUSTED_PROXIES') ?? '').split(',').map((part) => part.trim());
  for (const part of listed.filter(Boolean)) {
    const network = parseNetwork(part);
    if (network === undefined) {
      mistakes.push(
        `TRUSTED_PROXIES contains "${part}". Write addresses and networks like 10.0.0.0/8, separated by commas.`,
      );
    } else proxies.addSubnet(network.address, network.prefix, network.family);
  }
  return proxies;
}

/** Headers whose lines the service counts. Node keeps only the first line of some headers and joins the lines of others. */
const COUNTED = [
  'host',
  'accept',
  'content-type',
  'content-length',
  'idempotency-key',
  'workspace-id',
  'authorization',
] as const;

export type CountedHeader = (typeof COUNTED)[number];

/** The values of the counted headers, one for each line. */
export interface HeaderLines {
  readonly values: Readonly<Partial<Record<CountedHeader, readonly string[]>>>;
  /** The headers with more than one line, in the order in which they are repeated. */
  readonly repeated: readonly CountedHeader[];
}

type ScannedRequest = { readonly raw: Pick<IncomingMessage, 'rawHeaders'>; headerLines?: HeaderLines };

/** Most headers are told apart by the length of their name, which costs less than to fold its case. */
const BY_LENGTH: readonly (readonly CountedHeader[])[] = Array.from({ length: 16 }, (_, length) =>
  COUNTED.filter((name) => name.length === length),
);
const NONE: readonly string[] = [];

/** The values of a header, one for each line. The headers of a request are scanned once. */
export function headerLines(request: ScannedRequest, name: CountedHeader): readonly string[] {
  return linesOf(request).values[name] ?? NONE;
}

export function repeatedHeader(request: ScannedRequest, names: ReadonlySet<CountedHeader>): CountedHeader | undefined {
  return linesOf(request).repeated.find((name) => names.has(name));
}

function linesOf(request: ScannedRequest): HeaderLines {
  return (request.headerLines ??= scan(request.raw.rawHeaders));
}

/** @param rawHeaders names and values alternate */
function scan(rawHeaders: readonly string[]): HeaderLines {
  const values: Partial<Record<CountedHeader, string[]>> = {};
  const repeated: CountedHeader[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = countedName(rawHeaders[index]!);
    if (name === undefined) continue;
    const value = rawHeaders[index + 1]!;
    const lines = values[name];
    if (lines === undefined) values[name] = [value];
    else if (lines.push(value) === 2) repeated.push(name);
  }
  return { values, repeated };
}

function countedName(written: string): CountedHeader | undefined {
  const names = BY_LENGTH[written.length];
  if (names === undefined || names.length === 0) return undefined;
  const folded = written.toLowerCase();
  return names.find((name) => name === folded);
}

/**
 * Whether the query of a URL has percent-encoding that is not UTF-8, such as half of a surrogate pair, an overlong form or a `%` alone.
 * Fastify passes such a value on undecoded, as if it contained literal percent signs.
 */
export function hasBrokenQuery(url: string): boolean {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return false;
  try {
    decodeURIComponent(url.slice(start));
    return false;
  } catch {
    return true;
  }
}

export type RouteIndex = Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>;

/** Adds each route to the index when it is registered. Call it before the first route. */
export function indexRoutes(server: FastifyInstance): RouteIndex {
  const routes: RouteIndex = new Map();
  server.addHook('onRoute', ({ url, method }) => {
    // The cross-origin library registers such a route for OPTIONS.
    if (url.endsWith('*')) return;
    const entry = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const one of [method].flat()) entry.methods.add(one);
    routes.set(url, entry);
  });
  return routes;
}

/** The methods of the route with exactly this path; else those of all routes whose parameters match it. */
function allowedMethods(routes: RouteIndex, path: string): string[] {
  const exact = routes.get(path);
  const matching = exact ? [exact] : [...routes.values()].filter(({ pattern }) => pattern.test(path));
  return [...new Set(matching.flatMap(({ methods }) => [...methods]))].sort();
}

function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}

/** Headers with one value each. If one is sent twice, two readers may use different values (RFC 9110, section 5.3). */
const SINGLE_HEADERS = {
  /** They determine the target and the end of a request: 400 before the caller is authenticated (RFC 9112, section 3.2). */
  framing: new Set<CountedHeader>(['host', 'content-length']),
  other: new Set<CountedHeader>(['content-type', 'idempotency-key', 'accept']),
};

/** @throws Refusal `uri_too_long`, `headers_too_large`, `header_repeated`, `request_malformed` */
export function checkHead(request: FastifyRequest): void {
  const { url, raw } = request;
  if (url.length > LIMITS.urlBytes) throw new Refusal('uri_too_long');
  if (raw.rawHeaders.length / 2 > LIMITS.headers) throw new Refusal('headers_too_large');
  refuseRepeated(request, SINGLE_HEADERS.framing);
  if (hasUnknownCoding(request)) throw new Refusal('request_malformed', 'Transfer-Encoding may be chunked only.');
}

/**
 * The refusal of a path or a method that is not served, with `Allow` on the reply. Which of them exist is public: the document shows them.
 */
export function routeRefusal(routes: RouteIndex, request: FastifyRequest, reply: FastifyReply): Refusal | undefined {
  const path = request.url.split('?', 1)[0] ?? '';
  // For another method, the router matches a route with a parameter, which would read a segment of this path as an id.
  const isOtherMethod = routes.get(path)?.methods.has(request.method) === false;
  // If pages of other origins may call, the router has a route for OPTIONS on every path.
  if (!request.is404 && request.method !== 'OPTIONS' && !hasEmptyParameter(request) && !isOtherMethod) return undefined;
  const methods = allowedMethods(routes, path);
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
  const isPacked = coding !== undefined && !['', 'identity'].includes(coding.toLowerCase());
  if (isPacked && isBodyRead(request)) throw new Refusal('unsupported_media_type');
  if (hasBrokenQuery(url))
    throw new Refusal('request_malformed', 'The query is not well-formed: check its percent-encoding.');
  refuseRepeated(request, SINGLE_HEADERS.other);
}

function refuseRepeated(request: FastifyRequest, names: ReadonlySet<CountedHeader>): void {
  const name = repeatedHeader(request, names);
  if (name !== undefined) throw new Refusal('header_repeated', `Send the header ${name} once.`);
}

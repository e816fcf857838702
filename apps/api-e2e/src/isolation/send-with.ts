import { sendRequest, type HttpResponse, type RequestOptions } from '../responses.js';
import type { CalledService } from './services.js';
import { kindOf } from './cases.js';
import type { IdentifierSource, Way } from './identifier-sources.js';
import { nameOf, type Position } from './positions.js';
import { requestOf } from './requests.js';
import type { Caller } from './workspaces.js';

/** Attempts of one request, on a machine that is busy with other programs. */
const ATTEMPTS_MAX = 10;

/** Sends a request again after a 503, which means that it was not executed. */
export async function sendUntilServed(
  service: CalledService,
  path: string,
  options: RequestOptions,
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    const response = await sendRequest(service, path, options);
    if (response.status !== 503 || attempt === ATTEMPTS_MAX) return response;
  }
}

/**
 * Calls an operation.
 *
 * @param positions get their identifiers from `replacing`, the other required ones from `own`
 */
export function sendWith(
  service: CalledService,
  { email }: Pick<Caller, 'email'>,
  way: Way,
  positions: readonly Position[],
  replacing: IdentifierSource,
  own: IdentifierSource,
): Promise<HttpResponse> {
  const names = new Set(positions.map(nameOf));
  const { path, ...request } = requestOf(way.route, way.variant, (position, isRequired) => {
    const kind = kindOf(position)!;
    if (names.has(nameOf(position))) return replacing(kind, way);
    return isRequired ? own(kind, way) : undefined;
  });
  const isPublic = way.route.operation.security.length === 0;
  return sendUntilServed(service, path, { ...request, ...(!isPublic && { as: email }) });
}

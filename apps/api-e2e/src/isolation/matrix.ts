import { nameOf, type Position, requestWith } from '../documented/inputs.js';
import { type HttpResponse, type RequestOptions, sendRequest } from '../responses.js';
import type { Caller, Holdings } from './callers.js';
import {
  type Case,
  chosenIdentifiers,
  describeCase,
  type IdentifierSource,
  kindOf,
  ownIdentifiers,
  type Plan,
  unknownIdentifiers,
  type Way,
} from './cases.js';
import { type Kind, KINDS } from './classification.js';
import type { CalledService, Rows } from './services.js';
import type { World } from './world.js';

/** The headers that differ between two equal responses: two are of the connection, and the last one counts requests. */
const CHANGING = ['date', 'x-request-id', 'connection', 'keep-alive', 'ratelimit'];

export const withoutRequestId = (text: string): string => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

/** A response as text, without the parts that differ between two equal responses. */
function comparable({ status, headers, text }: HttpResponse): string {
  const lines = [...headers]
    .filter(([name]) => !CHANGING.includes(name))
    .map(([name, value]) => `${name}: ${name === 'link' ? withoutRequest(value) : value}`);
  return [status, ...lines.sort(), withoutRequestId(text)].join('\n');
}

/** A link repeats the filters of its request, and its cursor is signed with them. */
const withoutRequest = (link: string): string => link.replace(/([?&](?:cursor|resourceId)=)[^&>]*/g, '$1');

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
function sendWith(
  service: CalledService,
  { email }: Pick<Caller, 'email'>,
  way: Way,
  positions: readonly Position[],
  replacing: IdentifierSource,
  own: IdentifierSource,
): Promise<HttpResponse> {
  const names = new Set(positions.map(nameOf));
  const { path, ...request } = requestWith(way.route, way.variant, (position, isRequired) => {
    const kind = kindOf(position)!;
    if (names.has(nameOf(position))) return replacing(kind, way);
    return isRequired ? own(kind, way) : undefined;
  });
  const isPublic = way.route.operation.security.length === 0;
  return sendUntilServed(service, path, { ...request, ...(!isPublic && { as: email }) });
}

/** An operation that a valid request of this world cannot execute, with its status. */
const REFUSED_CONTROLS: Readonly<Record<string, number>> = {
  resumeOrder: 409,
  acceptInvitation: 404,
  replaceLimits: 409,
  // The rules are those of the holdings, and the caller made what waits.
  replaceApprovalRules: 409,
  decideApproval: 403,
};

/** Operations that use up a resource of a kind. */
const USES_UP: Readonly<Record<string, Kind>> = {
  deleteRecipient: 'recipient',
  cancelOrder: 'order',
  placeOrder: 'quote',
  deleteWebhookEndpoint: 'webhookEndpoint',
  deleteServiceAccount: 'serviceAccount',
  revokeServiceAccountKey: 'serviceAccountKey',
  rotateServiceAccountKey: 'serviceAccountKey',
  withdrawApproval: 'approval',
  changeMember: 'member',
  removeMember: 'member',
};

/** Begins the fault of a case that was not tried. */
export const REFUSED_OWNER = 'the request of the owner is refused with';

/** Sends the cases to one service and compares the responses. Each check returns what is wrong, or undefined. */
export class Matrix {
  constructor(
    private readonly service: CalledService,
    private readonly world: World,
    private readonly rows: Rows,
  ) {}

  /** Everything that is wrong with an operation. */
  async faultsOf({ route, cases, controls }: Pick<Plan, 'route' | 'cases' | 'controls'>): Promise<string[]> {
    const faults: (string | undefined)[] = [];
    const before = await this.ownerRows();
    for (const control of controls) faults.push(await this.checkControl(control));
    if (!isEqual(before, await this.ownerRows()))
      faults.push('a request without its identifiers changes the workspace');
    for (const one of cases) faults.push(await this.checkCase(one));
    // Reads are not compared one by one. Before a creation the owner sends a request too.
    if (route.method === 'GET' && !isEqual(before, await this.ownerRows())) faults.push('a read changes the workspace');
    return faults.filter((fault) => fault !== undefined);
  }

  /** Proves that the request of the control is valid, and that its response contains nothing of the other workspace. */
  private async checkControl(control: Case): Promise<string | undefined> {
    const { operationId } = control.route.operation;
    const kinds = control.positions.map((position) => kindOf(position)!);
    const holdings = await freshHoldings(this.world.holdingsOf(control.caller), kinds, control);
    const own = ownIdentifiers(holdings, this.world.cursorsOf(control.caller));
    const response = await this.send(control, own, own);
    const isRefused = response.status === REFUSED_CONTROLS[operationId];
    const isValid = isRefused || (response.status >= 200 && response.status < 300);
    const fault = isValid ? this.disclosed(response, []) : `is refused with ${response.status}: ${response.text}`;
    return fault && `${describeCase(control)}, all identifiers its own: ${fault}`;
  }

  /** Proves that the other workspace is not changed, and not disclosed by the response or by a difference of responses. */
  async checkCase(one: Case): Promise<string | undefined> {
    const kinds = one.positions.map((position) => kindOf(position)!);
    const chosen = await this.useAsOwner(one, kinds);
    if (typeof chosen === 'string') return `${describeCase(one)}: ${chosen}`;
    const isRead = one.route.method === 'GET';
    const before = isRead ? [] : await this.ownerRows();
    const response = await this.send(one, chosen);
    const after = isRead ? [] : await this.ownerRows();
    const fault =
      (await this.difference(one, kinds, response)) ??
      this.disclosed(response, this.repeatable(one, chosen, kinds)) ??
      (isEqual(before, after) ? undefined : 'changes the other workspace');
    return fault && `${describeCase(one)}: ${fault}`;
  }

  /**
   * Sends a request with a key or a reference as the owner first, so that the case repeats a stored request.
   *
   * @returns the identifiers of the request, or why it was refused
   */
  private async useAsOwner(one: Case, kinds: readonly Kind[]): Promise<IdentifierSource | string> {
    const { callers, cursorsOf } = this.world;
    const isStored = kinds.some((kind) => KINDS[kind] === 'independent');
    const holdings = await freshHoldings(this.world.ownerHoldings, isStored ? kinds : [], one);
    const chosen = chosenIdentifiers(holdings, cursorsOf('owner'));
    if (!isStored) return chosen;
    const own = ownIdentifiers(holdings, cursorsOf('owner'));
    const { status, text } = await sendWith(this.service, callers.owner, one, one.positions, chosen, own);
    return status < 300 ? chosen : `${REFUSED_OWNER} ${status}: ${text}`;
  }

  /** What distinguishes the response from that for identifiers that exist nowhere, or that are new. */
  private async difference(one: Case, kinds: readonly Kind[], response: HttpResponse): Promise<string | undefined> {
    if (response.headers.has('idempotent-replayed')) return 'replays a response';
    const expectations = kinds.map((kind) => KINDS[kind]);
    if (expectations.includes('public')) {
      return response.status === 201 ? undefined : `responds with ${response.status}`;
    }
    const other = await this.send(one, unknownIdentifiers(this.world.cursorsOf(one.caller)));
    if (expectations.includes('absent')) {
      const [seen, expected] = [comparable(response), comparable(other)];
      return seen === expected ? undefined : `responds ${seen} instead of ${expected}`;
    }
    return response.status === other.status ? undefined : `responds with ${response.status}: ${response.text}`;
  }

  /** The texts of the other workspace in a response. */
  private disclosed({ text, headers }: HttpResponse, sent: readonly string[]): string | undefined {
    const lines = [...headers].map(([name, value]) => `${name}: ${name === 'link' ? withoutRequest(value) : value}`);
    const received = [text, ...lines].join('\n');
    const cleaned = sent.reduce((rest, value) => rest.replaceAll(value, ''), received);
    const found = this.world.canaries.filter((canary) => cleaned.toLowerCase().includes(canary.toLowerCase()));
    return found.length === 0 ? undefined : `discloses ${found.join(', ')}: ${received}`;
  }

  /** The values of the request that its response may repeat: those that are no resource of the other workspace. */
  private repeatable(one: Case, chosen: IdentifierSource, kinds: readonly Kind[]): string[] {
    return kinds.filter((kind) => KINDS[kind] !== 'absent').map((kind) => String(chosen(kind, one)));
  }

  /** @param own the source of required identifiers at the other positions */
  private send(
    one: Case,
    replacing: IdentifierSource,
    own = ownIdentifiers(this.world.holdingsOf(one.caller), this.world.cursorsOf(one.caller)),
  ): Promise<HttpResponse> {
    return sendWith(this.service, this.world.callers[one.caller], one, one.positions, replacing, own);
  }

  private ownerRows(): Promise<readonly string[]> {
    return this.rows.rowsOf(this.world.callers.owner.workspaceId);
  }
}

const isEqual = (before: readonly string[], after: readonly string[]) => before.join('\n') === after.join('\n');

/** The holdings with a new resource instead of the one that the operation uses up. */
async function freshHoldings(holdings: Holdings, kinds: readonly Kind[], { route }: Case): Promise<Holdings> {
  const usedUp = USES_UP[route.operation.operationId];
  if (usedUp === undefined || (usedUp === 'quote' && !kinds.includes('quote'))) return holdings;
  return holdings.with(usedUp);
}

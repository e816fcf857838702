import { callOf, examplesInTurn } from '../documented/document.js';
import type { FreshService } from '../documented/fresh-service.js';
import { operationAt, proveDocumented } from '../responses.js';
import { ADA, BOB, EVE } from '../service.js';
import { fillRequest } from './fill-request.js';
import { HttpSender, type ReceivedResponse, type SentRequest } from './http-sender.js';
import { KnownIds } from './known-ids.js';
import { ResponseCheck } from './response-check.js';
import { fuzzedRoutes } from './routes.js';
import type { Step } from './step.js';

/** How often an operation succeeded and was refused. */
export interface Outcomes {
  succeeded: number;
  refused: number;
}

/** More than sequences run at the same time. */
const CONNECTIONS = 16;
/** The account of the examples, and the money that each sequence begins with. */
const PAYING_ACCOUNT = '/accounts/1';
const FUNDS = '10000000';

/** How often the recipients of the examples are replaced by new ones, because sequences delete them. */
const SEQUENCES_PER_RECIPIENT = 5;

/** Runs sequences of requests against a service and checks each response. */
export class SequenceRunner {
  readonly statuses = new Map<number, number>();
  readonly outcomes = new Map<string, Outcomes>();
  requests = 0;

  private readonly sender: HttpSender;
  private readonly check: ResponseCheck;
  private readonly routes;
  private readonly tokens = new Map<string, string>();
  /** New recipients for those of the examples, by their ids: 1 is internal, 2 is in India. */
  private readonly recipients = new Map<number, number>();
  private sequences = 0;

  constructor(private readonly service: FreshService) {
    this.sender = new HttpSender(service.url, CONNECTIONS);
    this.check = new ResponseCheck(service.document);
    this.routes = fuzzedRoutes(service.document);
    for (const { operationId } of this.routes) this.outcomes.set(operationId, { succeeded: 0, refused: 0 });
  }

  /** Signs the callers in, and sends each example of the document once: some operations succeed once only. */
  async start(): Promise<void> {
    for (const [name, email] of Object.entries({ ada: ADA, bob: BOB, eve: EVE })) {
      this.tokens.set(name, `Bearer ${await this.service.tokenOf(email)}`);
    }
    await this.sendExamples();
  }

  private async sendExamples(): Promise<void> {
    const authorization = this.tokens.get('ada');
    const current = this.routes
      .map(({ route }) => route)
      .filter(({ operation }) => !operation.operationId.endsWith('Formerly'));
    for (const [route, name] of examplesInTurn(current)) {
      const call = callOf(route, name);
      const headers = {
        ...call.headers,
        ...(call.needsToken && authorization !== undefined && { Authorization: authorization }),
        ...(call.body !== undefined && { 'Content-Type': 'application/json' }),
      };
      const body = call.body === undefined ? undefined : JSON.stringify(call.body);
      const request = { method: call.method, path: call.path, headers, body };
      await this.sendAndCheck(request, [textOf(request)]);
    }
  }

  /** @throws Error with all requests of the sequence if a response is not what the document promises */
  async run(steps: readonly Step[]): Promise<void> {
    const transcript: string[] = [];
    const ids = new KnownIds();
    const keys = new Map<string, string>();
    await this.prepare();
    for (const step of steps) {
      const route = this.routes.find(({ operationId }) => operationId === step.operationId);
      if (route === undefined) throw new Error(`there is no operation ${step.operationId}`);
      const request = fillRequest({
        route,
        step,
        ids,
        authorization: this.tokens.get(step.caller),
        workspace: step.caller === 'eve' ? 3 : 1,
        lastKey: keys.get(step.operationId),
        recipients: this.recipients,
      });
      transcript.push(textOf(request));
      const key = request.headers['Idempotency-Key'];
      if (key !== undefined) keys.set(step.operationId, key);
      const response = await this.sendAndCheck(request, transcript);
      if (response.status < 300)
        ids.learn(step.operationId, request.path, parsed(response), response.headers.get('link'));
    }
  }

  close(): void {
    this.sender.close();
  }

  /** Sequences leave disabled accounts and deleted recipients, and spend money. */
  private async prepare(): Promise<void> {
    await this.sendAsAda('PATCH', PAYING_ACCOUNT, '{"status":"enabled"}');
    await this.sendAsAda('POST', `/sandbox${PAYING_ACCOUNT}/fundings`, `{"amount":"${FUNDS}"}`);
    this.sequences += 1;
    if (this.sequences % SEQUENCES_PER_RECIPIENT !== 1) return;
    for (const [id, operation] of [
      [1, 'addInternalRecipient'],
      [2, 'addInternationalRecipient'],
    ] as const) {
      const route = this.routes.find(({ operationId }) => operationId === operation);
      if (route === undefined) continue;
      const { method, path, body } = callOf(route.route);
      const response = await this.sendAsAda(method, path, JSON.stringify(body));
      this.recipients.set(id, (parsed(response) as { id: number }).id);
    }
  }

  private async sendAsAda(method: string, path: string, body: string): Promise<ReceivedResponse> {
    const Authorization = this.tokens.get('ada') ?? '';
    const headers = { Authorization, 'Workspace-ID': '1', 'Content-Type': 'application/json' };
    const request = { method, path, headers, body };
    return this.sendAndCheck(request, [textOf(request)]);
  }

  private async sendAndCheck(request: SentRequest, transcript: readonly string[]): Promise<ReceivedResponse> {
    let response: ReceivedResponse | undefined;
    try {
      response = await this.sender.send(request);
      this.count(request, response);
      const faults = this.check.faultsIn(request, response);
      if (faults.length > 0) throw new Error(faults.join('\n'));
      await proveDocumented(this.service, request.method, request.path, response.status);
      return response;
    } catch (error) {
      const received = response && `Response ${response.status}: ${response.body.slice(0, 2_000)}`;
      throw new Error([(error as Error).message, received, 'Requests:', ...transcript].filter(Boolean).join('\n'), {
        cause: error,
      });
    }
  }

  private count(request: SentRequest, { status }: ReceivedResponse): void {
    this.requests += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    const document = this.service.document;
    const operation = operationAt(document, request.method, request.path)?.operationId ?? '';
    const outcome = this.outcomes.get(operation);
    if (outcome === undefined) return;
    if (status < 400) outcome.succeeded += 1;
    else outcome.refused += 1;
  }
}

/** A request in a form to repeat. Tokens are omitted: `npm run -s token` prints one. */
function textOf({ method, path, headers, body }: SentRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${name === 'Authorization' ? '…' : value}`);
  return `  ${[`${method} ${path}`, ...shown, body].filter((part) => part !== undefined).join(' | ')}`;
}

function parsed({ body }: ReceivedResponse): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

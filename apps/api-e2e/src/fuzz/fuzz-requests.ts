import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { callOf, type Document, type DocumentedResponse, examplesInTurn, routesOf } from '../documented/document.js';
import { PLANTED } from '../documented/inputs.js';
import { faultsInError, HttpSender, type ReceivedResponse, type SentRequest } from '../hostile/raw-request.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { operationAt, proveDocumented } from '../responses.js';
import { banking, type FreshService } from '../running-service.js';
import { ADA, BOB, EVE } from '../service.js';
import { fillRequest, KnownIds, sequencesOf, type Step } from './sequences.js';

/** Checks responses against the OpenAPI document. */
export class ResponseCheck {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(private readonly document: Document) {
    this.ajv.addSchema({ $id: 'document', components: { schemas: absolute(document.components.schemas) } });
  }

  /** The faults of a response, apart from its status, which `proveDocumented` checks. */
  faultsIn(request: SentRequest, response: ReceivedResponse): string[] {
    const { status, body } = response;
    if (status >= 500) return [`the status is ${status}`];
    if (request.method === 'HEAD' || status === 204 || status === 304) {
      return body === '' ? [] : [`a response with the status ${status} has a body`];
    }
    const faults = status < 400 ? [] : faultsInError({ ...response, closedAfterMs: 0 });
    if (status >= 400 && PLANTED.test(body)) faults.push('it repeats a value of the request');
    return [...faults, ...this.schemaFaults(request, response)];
  }

  private schemaFaults({ method, path }: SentRequest, { status, headers, body }: ReceivedResponse): string[] {
    const operation = operationAt(this.document, method, path);
    const documented = operation?.responses[String(status)] as DocumentedResponse | undefined;
    if (operation === undefined || documented === undefined) return [];
    const type = (headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
    const contents = (documented.content ?? {}) as Readonly<Record<string, { readonly schema?: unknown }>>;
    const content = contents[type];
    if (content === undefined) return [`the document does not list ${type} for ${operation.operationId} ${status}`];
    if (type !== 'application/json') return [];
    const name = `${operation.operationId} ${status}`;
    const validate = this.validators.get(name) ?? this.ajv.compile(absolute(content.schema) as object);
    this.validators.set(name, validate);
    if (validate(JSON.parse(body))) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `its body ${instancePath} ${message}`);
  }
}

/** References as a schema outside of the document writes them. */
const absolute = <T>(part: T): T =>
  JSON.parse(JSON.stringify(part).replaceAll('"#/components/', '"document#/components/')) as T;

/** How often an operation succeeded and was refused. */
interface Outcomes {
  succeeded: number;
  refused: number;
}

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** The position of one failed sequence below the seed. Only this sequence runs. */
  readonly path?: string | undefined;
  /** How many sequences run at the same time. */
  readonly clients?: number;
  readonly onProgress?: (requests: number) => void;
  readonly signal?: AbortSignal;
}

export interface FuzzReport {
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly outcomes: ReadonlyMap<string, Outcomes>;
  /** What went wrong, none after a pass. */
  readonly faults: readonly string[];
}

/** A failed sequence is found in its batch by the seed of the batch, so the seed of a run fixes those of its batches. */
const SEQUENCES_PER_BATCH = 50;
/** Shrinking ends after this time. The shortest sequence until then is reported. */
const SHRINK_MS = 60_000;

/** Sends random sequences of requests until their number is reached or one fails, then checks books and log and stops the service. */
export async function fuzzRequests(service: FreshService, options: FuzzOptions): Promise<FuzzReport> {
  const { requests, seed, path, clients = 1, onProgress, signal } = options;
  const runner = new SequenceRunner(service);
  const sequences = sequencesOf(service.document);
  const faults: string[] = [];
  let nextBatch = seed;
  const client = async () => {
    while (runner.requests < requests && faults.length === 0 && signal?.aborted !== true) {
      const fault = await runBatch(runner, sequences, { seed: nextBatch++, path, requests });
      if (fault !== undefined) faults.push(fault);
      onProgress?.(runner.requests);
      if (path !== undefined) return;
    }
  };
  try {
    await runner.start();
    await Promise.all(Array.from({ length: path === undefined ? clients : 1 }, client));
    await banking(service.dataDir, 'verify').catch((error: unknown) =>
      faults.push(`banking verify has a finding: ${String(error)}`),
    );
  } finally {
    runner.close();
    await service.stop();
  }
  faults.push(...faultsInLog(service.log));
  return { requests: runner.requests, statuses: runner.statuses, outcomes: runner.outcomes, faults };
}

/** @returns the failure of the shortest failed sequence, if one failed */
async function runBatch(
  runner: SequenceRunner,
  sequences: fc.Arbitrary<readonly Step[]>,
  { seed, path, requests }: Pick<FuzzOptions, 'seed' | 'path' | 'requests'>,
): Promise<string | undefined> {
  let failedAt: number | undefined;
  const run = async (steps: readonly Step[]) => {
    if (failedAt !== undefined && Date.now() - failedAt > SHRINK_MS) return;
    if (failedAt === undefined && path === undefined && runner.requests >= requests) return;
    try {
      await runner.run(steps);
    } catch (error) {
      failedAt ??= Date.now();
      throw error;
    }
  };
  const which = path === undefined ? { numRuns: SEQUENCES_PER_BATCH } : { numRuns: 1, path };
  const result = await fc.check(fc.asyncProperty(sequences, run), { seed, ...which });
  if (!result.failed) return undefined;
  const { errorInstance, counterexamplePath } = result;
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `${message}\nRepeat: npm run fuzz -- --seed ${seed} --path ${counterexamplePath ?? '0'}`;
}

/** Unhandled errors, credentials and values of requests in the log. */
export function faultsInLog(log: string): string[] {
  const planted = log.split('\n').filter((line) => PLANTED.test(line));
  return [
    ...bugsIn(log).map((line) => `the log has an error: ${line}`),
    ...secretsIn(log).map((line) => `the log has ${line}`),
    ...planted.map((line) => `the log has a value of a request: ${line}`),
  ];
}

/** More than sequences run at the same time. */
const CONNECTIONS = 16;
/** The account of the examples, and the money that each sequence begins with. */
const PAYING_ACCOUNT = '/accounts/1';
const FUNDS = '10000000';
/** How often the recipients of the examples are replaced by new ones, because sequences delete them. */
const SEQUENCES_PER_RECIPIENT = 5;
/** The operations that add the recipients of the examples, by their ids: 1 is internal, 2 is in India. */
const RECIPIENTS = ['addInternalRecipient', 'addInternationalRecipient'];

/** Runs sequences of requests against a service and checks each response. */
class SequenceRunner {
  readonly statuses = new Map<number, number>();
  readonly outcomes = new Map<string, Outcomes>();
  requests = 0;

  private readonly sender: HttpSender;
  private readonly check: ResponseCheck;
  private readonly routes;
  private readonly tokens = new Map<string, string>();
  /** New recipients for those of the examples, by their ids. */
  private readonly recipients = new Map<number, number>();
  private sequences = 0;

  constructor(private readonly service: FreshService) {
    this.sender = new HttpSender(service.url, CONNECTIONS);
    this.check = new ResponseCheck(service.document);
    this.routes = new Map(routesOf(service.document).map((route) => [route.operation.operationId, route]));
    for (const operationId of this.routes.keys()) this.outcomes.set(operationId, { succeeded: 0, refused: 0 });
  }

  /** Signs the callers in, and sends each example of the document once: some operations succeed once only. */
  async start(): Promise<void> {
    for (const [name, email] of Object.entries({ ada: ADA, bob: BOB, eve: EVE })) {
      this.tokens.set(name, `Bearer ${await this.service.tokenOf(email)}`);
    }
    const current = [...this.routes.values()].filter(({ operation }) => !operation.operationId.endsWith('Formerly'));
    for (const [route, name] of examplesInTurn(current)) {
      const { method, path, headers, body } = callOf(route, name);
      await this.sendAsAda(method, path, body === undefined ? undefined : JSON.stringify(body), headers);
    }
  }

  /** @throws Error with all requests of the sequence if a response is not what the document promises */
  async run(steps: readonly Step[]): Promise<void> {
    const transcript: string[] = [];
    const ids = new KnownIds();
    const keys = new Map<string, string>();
    await this.prepare();
    for (const step of steps) {
      const request = fillRequest({
        route: this.routeOf(step.operationId),
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
      const { status, headers, body } = await this.sendAndCheck(request, transcript);
      if (status < 300) ids.learn(step.operationId, request.path, parsed(body), headers.get('link'));
    }
  }

  close(): void {
    this.sender.close();
  }

  private routeOf(operationId: string) {
    const route = this.routes.get(operationId);
    if (route === undefined) throw new Error(`there is no operation ${operationId}`);
    return route;
  }

  /** Sequences leave disabled accounts and deleted recipients, and spend money. */
  private async prepare(): Promise<void> {
    await this.sendAsAda('PATCH', PAYING_ACCOUNT, '{"status":"enabled"}');
    await this.sendAsAda('POST', `/sandbox${PAYING_ACCOUNT}/fundings`, `{"amount":"${FUNDS}"}`);
    this.sequences += 1;
    if (this.sequences % SEQUENCES_PER_RECIPIENT !== 1) return;
    for (const [at, operation] of RECIPIENTS.entries()) {
      const { method, path, body } = callOf(this.routeOf(operation));
      const response = await this.sendAsAda(method, path, JSON.stringify(body));
      this.recipients.set(at + 1, (parsed(response.body) as { id: number }).id);
    }
  }

  private sendAsAda(
    method: string,
    path: string,
    body: string | undefined,
    more: Readonly<Record<string, string>> = { 'Workspace-ID': '1' },
  ): Promise<ReceivedResponse> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = { Authorization: this.tokens.get('ada') ?? '', ...type, ...more };
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

  private count({ method, path }: SentRequest, { status }: ReceivedResponse): void {
    this.requests += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    const outcome = this.outcomes.get(operationAt(this.service.document, method, path)?.operationId ?? '');
    if (outcome !== undefined) outcome[status < 400 ? 'succeeded' : 'refused'] += 1;
  }
}

/** A request in a form to repeat. Tokens are omitted: `npm run -s token` prints one. */
function textOf({ method, path, headers, body }: SentRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${name === 'Authorization' ? '…' : value}`);
  return `  ${[`${method} ${path}`, ...shown, body].filter((part) => part !== undefined).join(' | ')}`;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { faultsInError } from '../hostile/raw-request.js';
import type { Document } from '../documented/document.js';
import { operationAt } from '../responses.js';
import type { ReceivedResponse, SentRequest } from './http-sender.js';
import { PLANTED } from './step.js';

interface Content {
  readonly schema?: unknown;
}
interface Documented {
  readonly content?: Readonly<Record<string, Content>>;
}

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
    const documented = operation?.responses[String(status)] as Documented | undefined;
    if (operation === undefined || documented === undefined) return [];
    const type = (headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
    const content = documented.content?.[type];
    if (content === undefined) return [`the document does not list ${type} for ${operation.operationId} ${status}`];
    if (type !== 'application/json') return [];
    const validate = this.validatorOf(`${operation.operationId} ${status}`, content.schema);
    if (validate(JSON.parse(body))) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `its body ${instancePath} ${message}`);
  }

  private validatorOf(name: string, schema: unknown): ValidateFunction {
    const known = this.validators.get(name);
    if (known) return known;
    const compiled = this.ajv.compile(absolute(schema) as object);
    this.validators.set(name, compiled);
    return compiled;
  }
}

/** References as a schema outside of the document writes them. */
const absolute = <T>(part: T): T =>
  JSON.parse(JSON.stringify(part).replaceAll('"#/components/', '"document#/components/')) as T;

import { fetchDocument } from './documented/read-document.js';
import type { Service } from './service.js';

/** A response with its complete body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body as received. */
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown;
}

export interface RequestOptions {
  readonly method?: string;
  /** E-mail of the caller. Without it, the request has no token. */
  readonly as?: string | undefined;
  /** Sent as Workspace-ID. */
  readonly workspace?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
}

/** Sends a request. @throws Error when the OpenAPI document of the service does not list the status of the response */
export async function sendRequest(
  service: Pick<Service, 'url' | 'tokenOf'>,
  path: string,
  options: RequestOptions = {},
): Promise<HttpResponse> {
  const { body, method = body === undefined ? 'GET' : 'POST', as, workspace, headers } = options;
  const response = await fetch(`${service.url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(as !== undefined && { authorization: `Bearer ${await service.tokenOf(as)}` }),
      ...(workspace !== undefined && { 'workspace-id': String(workspace) }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const received = { status: response.status, headers: response.headers, text, body: parsed(text) };
  await proveDocumented(service, method, path, received.status);
  return received;
}

/** The parts of an OpenAPI document that the specs read. */
interface OpenApi {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<Record<string, unknown>>;
}

const documents = new Map<string, Promise<OpenApi>>();

/** The OpenAPI document of a service, fetched once. */
export function openApiOf({ url }: Pick<Service, 'url'>): Promise<OpenApi> {
  const known = documents.get(url);
  if (known) return known;
  const document = fetchDocument({ url });
  documents.set(url, document);
  return document;
}

/** Statuses of responses sent before routing: documented in the introduction, not at each operation. */
const BEFORE_ANY_OPERATION = [400, 404, 405, 408, 413, 414, 415, 431];

/** @throws Error when the operation does not document the status */
export async function proveDocumented(
  service: Pick<Service, 'url'>,
  method: string,
  path: string,
  status: number,
): Promise<void> {
  const document = await openApiOf(service);
  const operation = operationAt(document, method, path);
  if (operation && Object.hasOwn(operation.responses, String(status))) return;
  const isInTable = document.info.description.includes(`| ${status} |`);
  if (BEFORE_ANY_OPERATION.includes(status) && isInTable && (status > 404 || !operation)) return;
  if (!operation && !path.startsWith('/recipients/') && isPage(path)) return;
  throw new Error(`${method} ${path} responded with ${status}, which the OpenAPI document does not list`);
}

const patterns = new Map<string, RegExp>();

/** The pattern of the paths of a template, made once. */
function patternOf(template: string): RegExp {
  const known = patterns.get(template);
  if (known) return known;
  const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);
  patterns.set(template, pattern);
  return pattern;
}

/** The operation of a path. HEAD is handled like GET. */
export function operationAt({ paths }: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.split('?', 1)[0] ?? '';
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  // A template that lists the path itself comes first, but its methods may be others: `/recipients/internal` has no GET.
  const templates = [bare, ...Object.keys(paths).filter((template) => patternOf(template).test(bare))];
  const found = templates.find((template) => Object.hasOwn(paths, template) && paths[template]?.[verb] !== undefined);
  return found === undefined ? undefined : paths[found]?.[verb];
}

/** The document does not describe itself or the docs page. */
const isPage = (path: string) => /^\/(docs|openapi\.json)/.test(path);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

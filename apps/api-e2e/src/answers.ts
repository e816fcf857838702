import type { Service } from './service.js';

/** An answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** As it came. */
  readonly text: string;
  /** As JSON; undefined where it is none. */
  readonly body: unknown;
}

export interface Question {
  readonly method?: string;
  /** E-mail of who asks; nobody without it. */
  readonly as?: string | undefined;
  /** Sent as Workspace-ID. */
  readonly workspace?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; a text as it is. */
  readonly body?: unknown;
}

/** Asks the service and proves, of every answer, that it is one the OpenAPI document of that service promises. */
export async function ask(service: Service, path: string, question: Question = {}): Promise<Answer> {
  const { body, method = body === undefined ? 'GET' : 'POST', as, workspace, headers } = question;
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
  const answer = { status: response.status, headers: response.headers, text, body: parsed(text) };
  await proveDocumented(service, method, path, answer.status);
  return answer;
}

/** An OpenAPI document, as far as the specs read it. */
export interface OpenApi {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly security?: readonly unknown[];
  readonly responses: Readonly<Record<string, unknown>>;
}

const documents = new Map<string, Promise<OpenApi>>();

/** The OpenAPI document of a service, fetched once. */
export function openApiOf({ url }: Pick<Service, 'url'>): Promise<OpenApi> {
  const known = documents.get(url);
  if (known) return known;
  const document = fetch(`${url}/openapi.json`).then((response) => response.json() as Promise<OpenApi>);
  documents.set(url, document);
  return document;
}

/** Answers given before an operation is known stand in the table of the introduction, not at each operation. */
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
  throw new Error(`${method} ${path} answered ${status}, which the OpenAPI document does not promise`);
}

/** The operation a path leads to; HEAD is answered as GET is. */
function operationAt({ paths }: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.split('?', 1)[0] ?? '';
  const isMeant = (candidate: string) => new RegExp(`^${candidate.replace(/\{\w+\}/g, '[^/]+')}$`).test(bare);
  const template = Object.hasOwn(paths, bare) ? bare : Object.keys(paths).find(isMeant);
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  return template === undefined ? undefined : paths[template]?.[verb];
}

/** The document and the page that shows it do not document themselves. */
const isPage = (path: string) => /^\/(docs|openapi\.json)/.test(path);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import type { Document, DocumentedResponse } from './document.js';

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI document of a running service. */
export async function fetchDocument({ url }: { readonly url: string }): Promise<Document> {
  return dereferenced((await (await fetch(`${url}/openapi.json`)).json()) as Json);
}

/** Puts the responses of the components in place of the references of operations. References to schemas and headers stay. */
export function dereferenced(document: Json): Document {
  const { responses = {} } = document['components'] as {
    readonly responses?: Readonly<Record<string, DocumentedResponse>>;
  };
  const paths = Object.entries(document['paths'] as Readonly<Record<string, Json>>).map(([path, item]) => {
    const operations = Object.entries(item).map(([method, operation]) => {
      const own = Object.entries((operation as { readonly responses: Readonly<Record<string, Reference>> }).responses);
      const resolved = own.map(([status, one]) => [status, resolvedResponse(one, responses)] as const);
      return [method, { ...(operation as Json), responses: Object.fromEntries(resolved) }] as const;
    });
    return [path, Object.fromEntries(operations)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) } as unknown as Document;
}

interface Reference {
  readonly $ref?: string;
  readonly description?: string;
}

/**
 * A response of several operations with the reasons of one. Its reference lists them in its description, which replaces that of the
 * response.
 */
function resolvedResponse(
  response: Reference,
  shared: Readonly<Record<string, DocumentedResponse>>,
): DocumentedResponse | Reference {
  const { $ref, description } = response;
  if ($ref === undefined) return response;
  const target = shared[$ref.replace('#/components/responses/', '')];
  if (target?.content === undefined) throw new Error(`the document has no response ${$ref}`);
  if (description === undefined) return target;
  const json = target.content['application/json'];
  const named = [...description.matchAll(/`(\w+)`/g)].map(([, reason = '']) => [reason, json.examples[reason]]);
  return {
    ...target,
    description,
    content: { 'application/json': { ...json, examples: Object.fromEntries(named) as typeof json.examples } },
  };
}

/**
 * What a reference of the document names.
 *
 * @param reference such as `#/components/schemas/Order`
 */
const named = (document, reference) =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce((within, key) => within[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);

/** A part of the document, with what it refers to in place of its references, and `$$ref` as its name. One to a part around it stays. */
function resolved(document, part, around = []) {
  if (Array.isArray(part)) return part.map((item) => resolved(document, item, around));
  if (part === null || typeof part !== 'object') return part;
  const { $ref: reference, ...beside } = part;
  if (typeof reference === 'string') {
    if (around.includes(reference)) return part;
    const within = [...around, reference];
    const target = resolved(document, named(document, reference), within);
    return { ...target, ...resolved(document, beside, within), $$ref: reference };
  }
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolved(document, value, around)]));
}

/**
 * Resolves an operation that is unfolded. The resolver of Swagger UI for OpenAPI 3.1 reads the whole document each time, which takes seconds
 * (https://github.com/swagger-api/swagger-ui/issues/10748). All references of our document are to itself.
 */
export const localReferences = () => ({
  fn: {
    resolveSubtree: async (document, path) => {
      const part = path.reduce((within, key) => within?.[key], document);
      return { spec: resolved(document, part), errors: [] };
    },
  },
});

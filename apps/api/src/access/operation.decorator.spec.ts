import type { OperationId } from './access-check.js';
import { Operation, type OperationText } from './operation.decorator.js';

const TEXT: OperationText = { summary: 'A route', description: 'A route.', provenance: 'ours' };

/** What the decorator declares of a route: its configuration for Fastify, and whether the document asks for a token. */
function declared(id: OperationId, text: Partial<OperationText> = {}) {
  const handler = () => undefined;
  const route = { value: handler };
  Operation(id, { ...TEXT, ...text })({}, 'handler', route);
  return {
    config: Reflect.getMetadata('__fastify_route_config__', handler) as unknown,
    isSecured: Reflect.hasMetadata('swagger/apiSecurity', handler),
  };
}

describe('the configuration of a route', () => {
  it.each<[string, Partial<OperationText>, object]>([
    ['has nothing else by default', {}, { hasQuery: false }],
    ['has a query where that is said', { hasQuery: true }, { hasQuery: true }],
    ['has the types of files', { wholeTypes: ['text/csv'] }, { hasQuery: false, wholeTypes: ['text/csv'] }],
    ['has how long requests are held', { isHeld: true }, { hasQuery: false, holdMs: 20_000 }],
    ['has its media types', { mediaTypes: ['text/csv'] }, { hasQuery: false, mediaTypes: ['text/csv'] }],
    ['is cached with an ETag', { hasETag: true }, { hasQuery: false, isCached: true }],
    ['is not cached at a former path', { hasETag: true, canonical: '/other' }, { hasQuery: false }],
  ])('%s', (_what, text, expected) => {
    expect(declared('listApps', text).config).toStrictEqual({ operation: 'listApps', ...expected });
  });

  it.each<[string, Partial<OperationText>, object]>([
    ['has the rows of a page', {}, { hasQuery: true, pageRows: 100 }],
    ['may have other rows of a page', { rowsByDefault: 7 }, { hasQuery: true, pageRows: 7 }],
    ['may have pages without a query', { hasQuery: false }, { hasQuery: false, pageRows: 100 }],
  ])('of a list %s', (_what, text, expected) => {
    expect(declared('listTransfers', text).config).toStrictEqual({ operation: 'listTransfers', ...expected });
  });

  it('asks for a token unless the operation is public', () => {
    expect([declared('listApps').isSecured, declared('getLiveness').isSecured]).toEqual([true, false]);
  });
});

import { sendRequest, openApiOf } from '../responses.js';
import type { Service } from '../service.js';
import { faultsIn } from './shapes.js';

export function healthContract(provide: () => Service): void {
  const service = provide();

  describe('health and OpenAPI document', () => {
    it.each(['/health/live', '/health/ready'])(
      'reports healthy at %s without a token, and forbids caching',
      async (path) => {
        const response = await sendRequest(service, path);

        expect(response.status).toBe(200);
        expect(faultsIn(response.body, 'Health')).toEqual([]);
        expect(response.body).toMatchObject({ status: 'ok' });
        expect(response.headers.get('cache-control')).toBe('no-store');
      },
    );

    it('marks the origin of every operation and describes every error', async () => {
      const { paths } = await openApiOf(service);

      const operations = Object.values(paths).flatMap((path) => Object.values(path)) as unknown as Record<
        string,
        unknown
      >[];
      expect(operations.map((operation) => operation['x-provenance'])).not.toContain(undefined);
      expect(operations.flatMap(({ responses }) => Object.keys(responses as object))).not.toContain('default');
    });

    it('documents the five published operations unchanged', async () => {
      const { paths } = await openApiOf(service);

      for (const path of [
        '/recipients/countries/{country}/corridors',
        '/transfers/{transferId}',
        '/apps/{appId}/users',
        '/products',
        '/apps',
      ]) {
        expect(paths[path]?.['get']).toMatchObject({ 'x-provenance': 'stated', responses: { 200: {}, 401: {} } });
      }
    });
  });
}

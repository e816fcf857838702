import { ask, openApiOf } from '../answers.js';
import type { Service } from '../service.js';
import { mistakesIn } from './shapes.js';

export function healthContract(provide: () => Service): void {
  const service = provide();

  describe('and its health', () => {
    it.each(['/health/live', '/health/ready'])(
      'When %s is asked by anybody Then it is well, and nothing keeps the answer',
      async (path) => {
        const answer = await ask(service, path);

        expect(answer.status).toBe(200);
        expect(mistakesIn(answer.body, 'Health')).toEqual([]);
        expect(answer.body).toMatchObject({ status: 'ok' });
        expect(answer.headers.get('cache-control')).toBe('no-store');
      },
    );

    it('When the OpenAPI document is read Then every operation says where it comes from and every error is described', async () => {
      const { paths } = await openApiOf(service);

      const operations = Object.values(paths).flatMap((path) => Object.values(path)) as unknown as Record<
        string,
        unknown
      >[];
      expect(operations.map((operation) => operation['x-provenance'])).not.toContain(undefined);
      expect(operations.flatMap(({ responses }) => Object.keys(responses as object))).not.toContain('default');
    });

    it('When the OpenAPI document is asked Then the five published operations are in it as published', async () => {
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
      expect(paths['/countries/{country}/corridors']?.['get']?.deprecated).toBe(true);
    });
  });
}

import { Refusal } from '@banking/domain';
import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { CorridorsModule } from './corridors.module.js';

const CORRIDOR = { id: 1, destinationCountry: 'IN', edges: {} };

describe('CorridorsController', () => {
  const banking = {
    listCorridors: jest.fn(async (_: object, { country }: { country: string }) => {
      if (country === 'ZZ') throw new Refusal('country_unknown');
      return [CORRIDOR];
    }),
  };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(CorridorsModule, banking);
  });
  afterAll(() => app.close());

  it('lists the corridors to a country with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /recipients/countries/IN/corridors');

    expect({ status, body, etag: headers.etag }).toEqual({ status: 200, body: [CORRIDOR], etag: expect.any(String) });
    expect(headers).not.toHaveProperty('deprecation');
    expect(banking.listCorridors).toHaveBeenCalledWith(ADA, { country: 'IN' });
  });

  it('lists them at the other path, with a link to the canonical one and without a date of removal', async () => {
    const { status, headers, body } = await app.send('GET /countries/IN/corridors');

    expect({ status, body }).toEqual({ status: 200, body: [CORRIDOR] });
    expect(headers.link).toBe('</payments/recipients/countries/IN/corridors>; rel="canonical"');
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/deprecation|sunset/)]));
  });

  it('refuses a country that does not exist', async () => {
    const response = await app.send('GET /recipients/countries/ZZ/corridors');

    expect(response).toMatchObject({ status: 404, body: { reason: 'country_unknown' } });
  });
});

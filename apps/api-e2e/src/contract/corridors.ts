import { BankingClient } from '@banking/client';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

export function corridorsContract(provide: () => Service): void {
  const service = provide();
  const read = (path: string) => sendRequest(service, path, { as: ADA });

  describe('GET /recipients/countries/{countryCode}/corridors', () => {
    it('returns the published fields, and limits in the limit currency', async () => {
      const client = new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });
      const corridors = await client.corridors.list('IN');

      expect(corridors.length).toBeGreaterThan(0);
      expect(faultsIn(corridors, 'Corridor[]')).toEqual([]);
      for (const corridor of corridors) {
        expect(corridor.destinationCountry).toBe('IN');
        expect(['LOCAL', 'SWIFT']).toContain(corridor.payoutMethod);
        expect(['Individual', 'Corporate']).toContain(corridor.beneficiaryAccountType);
        expect(corridor.edges.destinationCurrency?.id).toBe(corridor.destinationCurrencyID);
        expect(corridor.edges.limitCurrency?.id).toBe(corridor.limitCurrencyID);
        expect(BigInt(corridor.minimumAmount ?? 0)).toBeLessThanOrEqual(BigInt(corridor.maximumAmount ?? 0));
      }
    });

    it.each(['in', 'In', 'iN', 'IND', 'ind', 'Ind'])('accepts the country code %s', async (country) => {
      const [spelt, plain] = [
        await read(`/recipients/countries/${country}/corridors`),
        await read('/recipients/countries/IN/corridors'),
      ];

      expect(spelt.status).toBe(200);
      expect(spelt.text).toBe(plain.text);
    });

    it.each(['KP', 'AQ', 'BVT'])('returns an empty list for %s, a country without corridors', async (country) => {
      const response = await read(`/recipients/countries/${country}/corridors`);

      expect([response.status, response.text]).toEqual([200, '[]']);
    });

    it.each([
      'ZZ',
      'XX',
      'UK',
      'ZZZ',
      'I',
      'INDIA',
      '12',
      '%F0%9F%87%AE%F0%9F%87%B3',
      'I%20N',
      '%20',
      'IN%00',
      'ın'.replace('ı', '%C4%B1'),
    ])('refuses the country code %s', async (country) => {
      const response = await read(`/recipients/countries/${country}/corridors`);

      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({ errorCode: 'invalid_request', reason: 'country_unknown' });
    });

    it.each(['IN', 'deu', 'KP'])('returns the same bytes on the other path for %s', async (country) => {
      const former = await read(`/countries/${country}/corridors`);
      const canonical = await read(`/recipients/countries/${country}/corridors`);

      expect(former.status).toBe(200);
      expect(former.text).toBe(canonical.text);
    });

    it('links the other path to the canonical one, and names no date of removal', async () => {
      const { headers } = await read('/countries/IN/corridors');
      const canonical = await read('/recipients/countries/IN/corridors');

      expect(headers.get('link')).toBe('</recipients/countries/IN/corridors>; rel="canonical"');
      expect(['deprecation', 'sunset'].filter((name) => headers.has(name))).toEqual([]);
      expect(canonical.headers.has('link')).toBe(false);
    });

    it('returns the same refusal with the link on the other path', async () => {
      const former = await read('/countries/ZZ/corridors');

      expect(former.body).toMatchObject({ errorCode: 'invalid_request', reason: 'country_unknown' });
      expect(former.headers.get('link')).toBe('</recipients/countries/ZZ/corridors>; rel="canonical"');
    });
  });
}

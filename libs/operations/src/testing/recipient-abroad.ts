import type { BankingService, RecipientId, Scope } from '@banking/domain';

/** A company in Germany that is paid over SWIFT. The last four characters of its IBAN choose what the sandbox's network does. */
export async function recipientAbroad(service: BankingService, scope: Scope, iban: string): Promise<RecipientId> {
  const data = {
    beneficiaryName: 'Asha Rao',
    beneficiaryAddress: 'Uferstrasse 4, 13357 Berlin',
    destinationCountry: 'DE',
    beneficiaryAccountType: 'Corporate',
    beneficiaryCountryCode: 'DE',
    beneficiaryAccountNumber: iban,
    routingCodeType1: 'SWIFT',
    routingCodeValue1: 'DEUTDEFF',
  };
  const corridor = { payoutMethod: 'SWIFT', currencyCode: 'EUR', countryCode: 'DE' };
  return (await service.addInternationalRecipient(scope, { ...corridor, data })).resource.id;
}

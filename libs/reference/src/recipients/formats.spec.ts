import { checkRecipient } from './check-recipient.js';
import { demoReference } from '../reference-document.js';
import { type Field, type BeneficiarySchema, recipientSchemasOf } from './recipient-schema.js';

const CORRIDORS = demoReference().corridors!;

type Details = Partial<Record<Field, unknown>> & Record<string, unknown>;

const ACCOUNT = 'beneficiaryAccountNumber';
const CODE = 'routingCodeValue1';

describe('checkRecipient for an account number', () => {
  it.each([
    ['DE EUR LOCAL', 'DE75512108001245126199', 'DE89370400440532013000'],
    ['FR EUR LOCAL', 'FR1420041010050500013M02606', 'FR7630006000011234567890189'],
    ['GB EUR LOCAL', 'GB29NWBK60161331926819', 'GB33BUKB20201555555555'],
    ['NL EUR SWIFT', 'NL91ABNA0417164300', 'NL02ABNA0123456789'],
    ['PK PKR LOCAL', 'PK36SCBL0000001123456702', 'PK22SCBL00000011234567AB'],
    ['CH CHF LOCAL', 'CH9300762011623852957', 'CH5604835012345678009'],
    ['KW KWD LOCAL', 'KW81CBKU0000000000001234560101', 'KW74NBOK0000000000001000372151'],
    ['BR USD SWIFT', 'BR1800360305000010009795493C1', 'BR9700360305000010009795493P1'],
    ['MX MXN LOCAL', '032180000118359719', '032180000118359719'],
    ['AR USD SWIFT', '2850590940090418135201', '0170099220000067797370'],
    ['NG NGN LOCAL', '0000014579', '0000014579'],
    ['MA EUR SWIFT', '011519000001205000534921', '007799000000000000000118'],
    ['GB GBP LOCAL', '31926819', '00000001'],
    ['US USD LOCAL', '1234', '12345678901234567'],
    ['IN INR LOCAL', '501001234', '501001234567890123'],
    ['AU AUD SWIFT', '12345678', '06200012345678'],
    ['GH USD SWIFT', '0012003400567', 'AB1234'],
  ])('accepts for %s the numbers %s and %s', (route, ...numbers) => {
    for (const number of numbers) expect(faultsOf(route, { [ACCOUNT]: number })).toEqual([]);
  });

  it.each([
    ['DE EUR LOCAL', 'DE89370400440532013001', 'check_digits'],
    ['DE EUR LOCAL', 'DE98370400440532013000', 'check_digits'],
    ['DE EUR LOCAL', 'DE8937040044053201300', 'format'],
    ['DE EUR LOCAL', 'de89370400440532013000', 'format'],
    ['DE EUR LOCAL', 'DE89 3704 0044 0532 0130 00', 'format'],
    ['DE EUR LOCAL', 'FR1420041010050500013M02606', 'format'],
    ['DE EUR LOCAL', 'DE８９370400440532013000', 'format'],
    ['FR EUR LOCAL', 'FR0630006000011234567890188', 'national_check_digits'],
    ['SK EUR LOCAL', 'SK1211115351562002977968', 'national_check_digits'],
    ['CH CHF LOCAL', 'CH4431999123000889012', 'qr_iban'],
    ['PK PKR LOCAL', 'PK36SCBL00000011234567AB', 'check_digits'],
    ['MX MXN LOCAL', '032180000118359718', 'check_digits'],
    ['MX MXN LOCAL', '03218000011835971', 'format'],
    ['MX MXN LOCAL', '032 180 00011835971 9', 'format'],
    ['AR USD SWIFT', '2850590940090418135200', 'check_digits'],
    ['AR USD SWIFT', '2850591940090418135201', 'check_digits'],
    ['AR USD SWIFT', '285059094009041813520', 'format'],
    ['NG NGN LOCAL', '0000014578', 'check_digits'],
    ['NG NGN LOCAL', '000001457', 'format'],
    ['NG NGN LOCAL', '00000145790', 'format'],
    ['MA EUR SWIFT', '011519000001205000534922', 'check_digits'],
    ['MA EUR SWIFT', '111519000001205000534921', 'check_digits'],
    ['MA EUR SWIFT', 'MA64011519000001205000534921', 'format'],
    ['GB GBP LOCAL', '3192681', 'format'],
    ['GB GBP LOCAL', '319268190', 'format'],
    ['GB GBP LOCAL', 'GB29NWBK60161331926819', 'format'],
    ['US USD LOCAL', '123', 'format'],
    ['US USD LOCAL', '123456789012345678', 'format'],
    ['US USD LOCAL', '12-3456789', 'format'],
    ['IN INR LOCAL', '50100123', 'format'],
    ['IN INR LOCAL', '5010012345678901234', 'format'],
    ['IN INR LOCAL', '50100abc456789', 'format'],
    ['GH USD SWIFT', '123', 'format'],
    ['GH USD SWIFT', 'A'.repeat(35), 'format'],
    ['GH USD SWIFT', '0012 0034', 'format'],
  ])('refuses for %s the number %j with the reason %s', (route, number, reason) => {
    const faults = faultsOf(route, { [ACCOUNT]: number });

    expect(faults).toEqual([{ path: `/data/${ACCOUNT}`, reason, message: expect.stringContaining(ACCOUNT) }]);
    expect(faults[0]?.message).toMatch(/For example: \S+$/);
  });

  it('does not check the NUBAN digit of a bank with a longer code', () => {
    expect(faultsOf('NG NGN LOCAL', { [ACCOUNT]: '0000014578', [CODE]: '000016' })).toEqual([]);
  });
});

describe('checkRecipient for a routing code', () => {
  it.each([
    ['DE EUR LOCAL', 'DEUTDEFF', 'DEUTDEFF500'],
    ['GB GBP SWIFT', 'BARCGB22', 'RBOSJESH'],
    ['FR EUR LOCAL', 'BNPAFRPP', 'AGRIRERX'],
    ['US USD LOCAL', '026009593', '322271627'],
    ['GB GBP LOCAL', '601613', '200000'],
    ['AU AUD LOCAL', '062000', '083004'],
    ['IN INR LOCAL', 'HDFC0000001', 'SBIN0RRKRGB'],
    ['CA CAD LOCAL', '000305432', '000400042'],
    ['HK HKD LOCAL', '004', '024'],
    ['SG SGD LOCAL', '7171', '7339501'],
    ['CN CNY LOCAL', '102100099996', '308584000013'],
    ['BR BRL LOCAL', '0010001', '3410262'],
    ['ZA ZAR LOCAL', '250655', '632005'],
  ])('accepts for %s the codes %s and %s', (route, ...codes) => {
    for (const code of codes) expect(faultsOf(route, { [CODE]: code })).toEqual([]);
  });

  it.each([
    ['DE EUR LOCAL', 'BNPAFRPP', 'format'],
    ['DE EUR LOCAL', 'DEUTDEFF50', 'format'],
    ['DE EUR LOCAL', 'deutdeff', 'format'],
    ['GB GBP SWIFT', 'RBOSIEDX', 'format'],
    ['US USD LOCAL', '021000022', 'check_digits'],
    ['US USD LOCAL', '000000000', 'check_digits'],
    ['US USD LOCAL', '999999992', 'format'],
    ['US USD LOCAL', '02100002', 'format'],
    ['GB GBP LOCAL', '60-16-13', 'format'],
    ['GB GBP LOCAL', '60161', 'format'],
    ['GB GBP LOCAL', '6016130', 'format'],
    ['AU AUD LOCAL', '062-000', 'format'],
    ['AU AUD LOCAL', '62000', 'format'],
    ['AU AUD LOCAL', 'CTBAAU', 'format'],
    ['IN INR LOCAL', 'HDFC1000001', 'format'],
    ['IN INR LOCAL', 'HDFC000001', 'format'],
    ['IN INR LOCAL', 'hdfc0000001', 'format'],
    ['CA CAD LOCAL', '05432-003', 'format'],
    ['CA CAD LOCAL', '100305432', 'format'],
    ['CA CAD LOCAL', '00305432', 'format'],
    ['HK HKD LOCAL', '4', 'format'],
    ['HK HKD LOCAL', '0041', 'format'],
    ['HK HKD LOCAL', 'HSBCHKHH', 'format'],
    ['SG SGD LOCAL', '71', 'format'],
    ['SG SGD LOCAL', '71711', 'format'],
    ['SG SGD LOCAL', 'DBSSSGSG', 'format'],
    ['BR BRL LOCAL', '001', 'format'],
    ['BR BRL LOCAL', '001-0001', 'format'],
    ['BR BRL LOCAL', '00100019', 'format'],
    ['MX MXN LOCAL', '002', 'bank_mismatch'],
  ])('refuses for %s the code %j with the reason %s', (route, code, reason) => {
    expect(faultsOf(route, { [CODE]: code })).toEqual([
      { path: `/data/${CODE}`, reason, message: expect.stringContaining(CODE) },
    ]);
  });
});

describe('checkRecipient for a PIX key', () => {
  it.each([
    ['Individual', 'CPF', '12345678909', '12345678900', 'check_digits'],
    ['Individual', 'CPF', '52998224725', '11111111111', 'check_digits'],
    ['Individual', 'CPF', '11144477735', '123.456.789-09', 'format'],
    ['Corporate', 'CNPJ', '00038166000105', '00038166000106', 'check_digits'],
    ['Corporate', 'CNPJ', '12ABC34501DE35', '12ABC34501DE36', 'check_digits'],
    ['Corporate', 'CNPJ', '00000000000191', '00.000.000/0001-91', 'format'],
    ['Individual', 'PHONE', '+5561988880000', '61988880000', 'format'],
    ['Individual', 'EMAIL', 'maria@example.com.br', 'Maria@Example.com', 'format'],
    ['Corporate', 'EMAIL', 'a@b.co', `a@${'b'.repeat(80)}.co`, 'too_long'],
    ['Corporate', 'EVP', '123e4567-e89b-12d3-a456-426655440000', '123e4567e89b12d3a456426655440000', 'format'],
  ])('accepts for %s by %s the key %s, and refuses %s', (beneficiaryAccountType, kind, good, bad, reason) => {
    const route = { beneficiaryAccountType, routingCodeType1: 'PIX KEY', [CODE]: kind };

    expect(faultsOf('BR BRL LOCAL', { ...route, [ACCOUNT]: good })).toEqual([]);
    expect(reasonsOf('BR BRL LOCAL', { ...route, [ACCOUNT]: bad })).toEqual([`/data/${ACCOUNT} ${reason}`]);
  });
});

/** The faults of the example of a route with these changes. */
function faultsOf(route: string, changes: Details) {
  const schemas = schemasOf(route);
  const data: Details = { ...exampleOf(schemas), ...besides(route, changes[ACCOUNT]), ...changes };
  for (const [field, value] of Object.entries(changes)) if (value === undefined) delete data[field];
  return checkRecipient(schemas, data);
}

/** The routing code of a Mexican account, which is also the beginning of the account number. */
function besides(route: string, account: unknown): Details {
  return route.startsWith('MX') && typeof account === 'string' ? { [CODE]: account.slice(0, 3) } : {};
}

function reasonsOf(route: string, changes: Details): string[] {
  return faultsOf(route, changes).map(({ path, reason }) => `${path} ${reason}`);
}

function schemasOf(route: string): BeneficiarySchema[] {
  const [countryCode = '', currencyCode = '', method] = route.split(' ');
  return recipientSchemasOf(
    CORRIDORS.filter(
      ({ destinationCountry, destinationCurrency, payoutMethod }) =>
        destinationCountry === countryCode && destinationCurrency === currencyCode && payoutMethod === method,
    ),
  );
}

function exampleOf([schema]: readonly BeneficiarySchema[]): Details {
  return { ...schema?.examples[0] };
}

import type { BeneficiaryAccountType, Known } from '@banking/domain';
import type { Source } from '../source.js';
import type { Format } from './format.js';

const DICT: Source = {
  name: 'Banco Central do Brasil, API of the DICT: the kinds of PIX key and how each is written',
  date: '2026-11-21',
  kind: 'public',
};

/** One kind of PIX key, by its name in the DICT. */
interface PixKey {
  readonly kind: 'CPF' | 'CNPJ' | 'PHONE' | 'EMAIL' | 'EVP';
  readonly heldBy: readonly Known<BeneficiaryAccountType>[];
  readonly key: Format;
}

/**
 * A key replaces the account number and identifies the bank. Its kind is sent as well, because eleven digits may be a CPF, a
 * telephone number or an account. CNPJs may contain letters since July 2026.
 */
export const PIX_KEYS: readonly PixKey[] = [
  pix('CPF', ['Individual'], {
    rule: '11 digits, without dots and hyphen',
    pattern: '^[0-9]{11}$',
    example: '12345678909',
    check: 'cpf',
  }),
  pix('CNPJ', ['Corporate'], {
    rule: '14 characters in capitals: 12 letters or digits, then 2 check digits, without dots, slash and hyphen',
    pattern: '^[A-Z0-9]{12}[0-9]{2}$',
    example: '00038166000105',
    check: 'cnpj',
  }),
  pix('PHONE', ['Individual', 'Corporate'], {
    rule: 'a plus sign, the country code and the number, 15 digits at most, without spaces or hyphens',
    pattern: '^\\+[1-9][0-9]{6,14}$',
    example: '+5561988880000',
  }),
  pix('EMAIL', ['Individual', 'Corporate'], {
    rule: 'at most 77 characters, in small letters',
    pattern: "^[a-z0-9.!#$%&'*+/=?^_`\\{\\|\\}~\\-]{1,64}@[a-z0-9\\-]+(?:\\.[a-z0-9\\-]+){1,8}$",
    maxLength: 77,
    example: 'contato@example.com.br',
  }),
  pix('EVP', ['Individual', 'Corporate'], {
    rule: 'the random key of 36 characters, in small letters and with its hyphens',
    pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    example: '123e4567-e89b-12d3-a456-426655440000',
  }),
];

function pix(kind: PixKey['kind'], heldBy: PixKey['heldBy'], format: Omit<Format, 'name' | 'source'>): PixKey {
  return { kind, heldBy, key: { ...format, name: `PIX key, ${kind}`, source: DICT } };
}

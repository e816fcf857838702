import type { ReceivingDetails } from '@banking/domain';
import { OwnTextField } from '../http/field.decorator.js';

export class ReceivingDetailsDto implements ReceivingDetails {
  @OwnTextField('The holder of the bank account, as the payer writes it.', 'Harbour Payments GmbH')
  readonly holder!: string;

  @OwnTextField('The IBAN of the bank account.', 'DE89370400440532013000', false)
  readonly iban?: string;

  @OwnTextField('The number of a bank account without an IBAN.', '000123456789', false)
  readonly accountNumber?: string;

  @OwnTextField('The BIC of the bank.', 'COBADEFFXXX')
  readonly bic!: string;

  @OwnTextField('Code of the currency (ISO 4217).', 'EUR')
  readonly currency!: ReceivingDetails['currency'];

  @OwnTextField('What the payer writes as the reference: the code of the account.', 'BA0500000000001001')
  readonly reference!: string;
}

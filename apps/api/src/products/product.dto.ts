import type { Currency, Product } from '@banking/domain';
import { AmountField, EdgeField, Field, IdField, KnownValues, TextField, TimeField } from '../http/field.decorator.js';

export class CurrencyDto implements Currency {
  @IdField('The currency. This service uses its ISO 4217 numeric code.', 978)
  readonly id!: Currency['id'];

  @TextField('ISO 4217 code.', 'EUR')
  readonly code!: Currency['code'];

  @TextField('Full name.', 'Euro')
  readonly name!: string;

  @TextField('Sign for display.', '€', false)
  readonly symbol?: string;

  @Field('known', {
    type: 'integer',
    minimum: 0,
    maximum: 4,
    description: 'Decimal places: 2 for USD, 0 for JPY, 3 for KWD. They convert minor units to whole units.',
    example: 2,
    required: false,
  })
  readonly decimals?: number;

  @KnownValues()
  @AmountField('Smallest SWIFT withdrawal, in minor units of this currency: `"5000"` in EUR is 50.00.', '5000', false)
  readonly swiftMinimumWithdrawalAmount?: NonNullable<Currency['swiftMinimumWithdrawalAmount']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Currency['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Currency['updatedAt']>;
}

class ProductEdgesDto {
  @EdgeField(() => CurrencyDto, 'The one currency of the product.')
  readonly currency!: CurrencyDto;
}

export class ProductDto implements Product {
  @IdField('The product.', 2)
  readonly id!: Product['id'];

  @TextField('Name.', 'EUR current account')
  readonly name!: string;

  @TextField('Purpose of the product.', 'A current account that holds euros and pays out at home and abroad.', false)
  readonly description?: string;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Product['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Product['updatedAt']>;

  @EdgeField(() => ProductEdgesDto, 'Related records.')
  readonly edges!: ProductEdgesDto;
}

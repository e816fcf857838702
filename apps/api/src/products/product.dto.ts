import type { Product } from '@banking/domain';
import { EdgeField, IdField, TextField, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from './currency.dto.js';

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

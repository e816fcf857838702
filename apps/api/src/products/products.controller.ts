import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type Product } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../http/operation.decorator.js';
import { ProductDto } from './product.dto.js';

@ApiTags('Products')
@Controller('products')
export class ProductsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listProducts', {
    summary: 'List the banking products',
    description: 'All products an account can be opened from, one for each currency.',
    provenance: 'stated',
    refusals: [],
    examples: [{ name: 'products', summary: 'All products' }],
  })
  @ApiOkResponse({ description: 'The products, whole.', type: [ProductDto] })
  list(@CalledBy() caller: Caller): Promise<readonly Product[]> {
    return this.banking.listProducts(caller);
  }
}

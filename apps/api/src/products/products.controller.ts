import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../http/operation.decorator.js';
import { ReferenceAnswers } from '../http/reference-answers.js';
import { ProductDto } from './product.dto.js';

@ApiTags('Products')
@Controller('products')
export class ProductsController {
  constructor(
    private readonly banking: BankingService,
    private readonly reference: ReferenceAnswers,
  ) {}

  @Get()
  @Operation('listProducts', {
    summary: 'List the banking products',
    description:
      'What an account can be opened from: one product for each currency, with the `decimals` that say how its amounts are read.',
    provenance: 'stated',
    refusals: [],
    hasETag: true,
    examples: [{ name: 'products', summary: 'All products' }],
  })
  @ApiOkResponse({ description: 'The products, whole.', type: [ProductDto] })
  list(@CalledBy() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.reference.send(reply, 'products', () => this.banking.listProducts(caller));
  }
}

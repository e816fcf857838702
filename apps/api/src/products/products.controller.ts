import { Controller, Get, Module, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation } from '../access/operation.decorator.js';
import { CachedResponses, CachedResponsesModule } from '../http/cached-responses.js';
import { ProductDto } from './product.dto.js';

@ApiTags('Products')
@Controller('products')
class ProductsController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get()
  @Operation('listProducts', {
    summary: 'List the banking products',
    description:
      'Lists the products that an account can be opened from, one for each currency. `decimals` says how to read its amounts.',
    provenance: 'stated',
    hasETag: true,
  })
  @ApiOkResponse({ description: 'All products.', type: [ProductDto] })
  list(@CalledBy() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.responses.send(reply, 'products', () => this.banking.listProducts(caller));
  }
}

@Module({ imports: [CachedResponsesModule], controllers: [ProductsController] })
export class ProductsModule {}

import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { CachedResponses } from '../http/cached-responses.js';
import * as docs from './products.docs.js';
import { ProductDto } from './product.dto.js';

@ApiTags('Products')
@Controller('products')
export class ProductsController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get()
  @Operation('listProducts', docs.listProducts)
  @ApiOkResponse({ description: 'All products.', type: [ProductDto] })
  list(@CalledBy() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.responses.send(reply, 'products', () => this.banking.listProducts(caller));
  }
}

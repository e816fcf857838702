import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type RequestOptions, type Order, type OrderId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { linkNext, PageQueryDto, sendPage } from '../input/page.js';
import * as docs from './orders.docs.js';
import { OrderLimit } from './order-limit.js';
import { OrderQueryDto, PlaceOrderInputDto } from './order-input.dto.js';
import { OrderDto } from './order.dto.js';

@ApiTags('Orders')
@Controller()
export class OrdersController {
  constructor(
    private readonly banking: BankingService,
    private readonly limit: OrderLimit,
  ) {}

  @Get('orders')
  @Operation('listOrders', docs.listOrders)
  @ApiOkResponse({ description: 'A page of orders.', type: [OrderDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: OrderQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listOrders(caller, query));
  }

  @Post('accounts/:accountId/orders')
  @HttpCode(200)
  @Operation('placeOrder', docs.placeOrder)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiOkResponse({ description: 'The order.', type: OrderDto })
  async place(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) input: PlaceOrderInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const attempt = { ...options, workspaceId: caller.workspaceId, accountId, body: input };
    const placed = await this.limit.count(reply, attempt, () =>
      this.banking.placeOrder(caller, { ...input, accountId }, options),
    );
    return sendCreated(reply, `/accounts/${accountId}/orders`, placed);
  }

  @Get('accounts/:accountId/orders/:orderId')
  @Operation('getOrder', docs.getOrder)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiIdParam(...docs.ORDER_ID)
  @ApiOkResponse({ description: 'The order; `Link` leads to its earlier executions.', type: OrderDto })
  async get(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Order> {
    const { next, ...order } = await this.banking.getOrderPage(caller, { ...query, accountId, orderId });
    linkNext(reply, next);
    return order;
  }

  @Get('orders/:orderId')
  @Operation('getOrderById', docs.getOrderById)
  @ApiIdParam(...docs.ORDER_OF_WORKSPACE)
  @ApiOkResponse({ description: 'The order; `Link` leads to its earlier executions.', type: OrderDto })
  async getById(
    @CalledBy() caller: Caller,
    @Param('orderId', IdPipe) orderId: OrderId,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Order> {
    const { next, ...order } = await this.banking.getOrderPage(caller, { ...query, orderId });
    linkNext(reply, next);
    return order;
  }

  @Post('accounts/:accountId/orders/:orderId/cancellation')
  @HttpCode(200)
  @Operation('cancelOrder', docs.cancelOrder)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiIdParam(...docs.ORDER_ID)
  @ApiOkResponse({ description: 'The cancelled order.', type: OrderDto })
  cancel(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
  ): Promise<Order> {
    return this.banking.cancelOrder(caller, { accountId, orderId });
  }

  @Post('accounts/:accountId/orders/:orderId/resumption')
  @HttpCode(200)
  @Operation('resumeOrder', docs.resumeOrder)
  @ApiIdParam(...docs.ACCOUNT_ID)
  @ApiIdParam(...docs.ORDER_ID)
  @ApiOkResponse({ description: 'The resumed order.', type: OrderDto })
  resume(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
  ): Promise<Order> {
    return this.banking.resumeOrder(caller, { accountId, orderId });
  }
}

import { Body, Controller, Get, HttpCode, Module, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { type AccountId, BankingService, type Order, type OrderId, type RequestOptions } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { OrderLimit } from '../access/rate-limit.js';
import { ApiConfig } from '../config.js';
import { CachedResponses, CachedResponsesModule } from '../http/cached-responses.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { linkNext, PageQueryDto, sendPage } from '../input/page.js';
import { OrderDto, OrderQueryDto, PlaceOrderInputDto, PurposeQueryDto } from './order.dto.js';

const ACCOUNT_ID = ['accountId', 'The account of the workspace that pays.'] as const;
const ORDER_ID = ['orderId', 'An order of that account.'] as const;
const ORDER_OF_WORKSPACE = [
  'orderId',
  'An order of the workspace. The response is the same for an order of another workspace and one that does not exist.',
] as const;

@ApiTags('Orders')
@Controller('orders')
class PurposesController {
  constructor(
    private readonly banking: BankingService,
    private readonly responses: CachedResponses,
  ) {}

  @Get('purposes')
  @Operation('listPurposes', {
    summary: 'List the purpose codes',
    description: paragraphs(
      'Lists the codes that an order can have as `purposeCode`, each with its meaning.',
      'A country can have a list of its own, which `countryCode` selects. Other countries share one list.',
      '',
      'An order needs a purpose if its money leaves over `SWIFT` or in another currency, or if the country has a list of its own. ' +
        'A payment within a country or within SEPA needs none.',
    ),
    provenance: 'known',
    hasQuery: true,
    hasETag: true,
  })
  @ApiOkResponse({
    description: 'The meaning of each code.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'string', description: 'Meaning of the code.', example: 'Supplier payment' },
    },
  })
  list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PurposeQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { countryCode = '' } = query;
    return this.responses.send(reply, `purposes ${countryCode}`, () => this.banking.listPurposes(caller, query));
  }
}

const awaitsApproval = ({ approvalID, edges }: Order): boolean =>
  approvalID !== undefined && edges.executions?.some(({ status }) => status === 'awaiting_approval') === true;

@ApiTags('Orders')
@Controller()
class OrdersController {
  constructor(
    private readonly banking: BankingService,
    private readonly limit: OrderLimit,
  ) {}

  @Get('orders')
  @Operation('listOrders', {
    summary: 'List orders',
    description: paragraphs(
      'Lists the orders of the workspace, newest first, each with its latest ten executions.',
      'An order is listed if it matches all filters.',
    ),
    provenance: 'stated',
  })
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
  @Operation('placeOrder', {
    summary: 'Place an order',
    description: paragraphs(
      'Pays a recipient at once, at a later time, or repeatedly.',
      '',
      '**An instant order** debits `amount` and the fee before the response is sent. If it is refused, no money moves.',
      'Send it with an `Idempotency-Key`: the same order placed twice is two payments.',
      '',
      '**Completion:** the order is `completed` when no run of it is left.',
      'Its transaction is `completed` when the network confirms that the money has arrived, and `failed` when the network rejects it.',
      'After a failure, the full amount returns in a new transaction, and the fee is not refunded.',
      'A payment to an account of this service is completed at once.',
      '',
      '**Scheduled and recurring orders** are checked when they are placed and again at each run. The account needs the money only at the run.',
      'A refused run is recorded as a failed execution with its reason.',
      'A recurring order continues until three runs in a row have failed. Runs missed while the service was down are executed once.',
      '',
      '**Approvals:** if a rule of the workspace applies, the status of the response is 202. The order has an `approvalID`, and its run is ' +
        '`awaiting_approval`. It is carried out with the approvals, at the price of that moment or of its quote.',
      '',
      '**The price** is the price of the quote in `quoteID`, or else the current price.',
    ),
    provenance: 'stated',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiOkResponse({ description: 'The order.', type: OrderDto })
  @ApiAcceptedResponse({ description: 'The order, which awaits approvals. No money has moved.', type: OrderDto })
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
    if (awaitsApproval(placed.resource)) reply.code(202);
    return sendCreated(reply, `/accounts/${accountId}/orders`, placed);
  }

  @Get('accounts/:accountId/orders/:orderId')
  @Operation('getOrder', {
    summary: 'Retrieve an order',
    description: paragraphs(
      'Returns one order with its executions, each with its transaction and the tracking of a payment abroad.',
      'An order with more than `limit` executions has the latest of them, by sequence.',
      '`Link` leads to the same order with earlier executions.',
    ),
    provenance: 'stated',
    rowsByDefault: 1,
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiIdParam(...ORDER_ID)
  @ApiOkResponse({ description: 'The order; `Link` leads to its earlier executions.', type: OrderDto })
  async get(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Order> {
    const { next, ...order } = await this.banking.getOrder(caller, { ...query, accountId, orderId });
    linkNext(reply, next);
    return order;
  }

  @Get('orders/:orderId')
  @Operation('getOrderById', {
    summary: 'Retrieve an order by its id',
    description: paragraphs(
      'Returns one order of the workspace with its account and its executions, like `GET /accounts/{accountId}/orders/{orderId}`.',
      'Events and transactions name the order by this id.',
      'A gateway whose upstream does not have this operation responds with 404 `route_not_found`.',
    ),
    provenance: 'ours',
    rowsByDefault: 1,
  })
  @ApiIdParam(...ORDER_OF_WORKSPACE)
  @ApiOkResponse({ description: 'The order; `Link` leads to its earlier executions.', type: OrderDto })
  async getById(
    @CalledBy() caller: Caller,
    @Param('orderId', IdPipe) orderId: OrderId,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Order> {
    const { next, ...order } = await this.banking.getOrderById(caller, { ...query, orderId });
    linkNext(reply, next);
    return order;
  }

  @Post('accounts/:accountId/orders/:orderId/cancellation')
  @HttpCode(200)
  @Operation('cancelOrder', {
    summary: 'Cancel an order',
    description: paragraphs(
      'Cancels the runs of an order that are not executed yet. Executed runs are unchanged.',
      'The response has the latest 100 executions.',
      'An order without a remaining run cannot be cancelled.',
      'After a lost response, `order_not_cancellable` with the status `cancelled` means that the order is cancelled.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiIdParam(...ORDER_ID)
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
  @Operation('resumeOrder', {
    summary: 'Resume a paused order',
    description: paragraphs(
      'Resumes an order that shows `pausedAt`, and executes the runs it missed once, now.',
      'An order is paused if the user who placed it is no member of the workspace, or after three of its payouts in a row were rejected.',
      'The order runs on for the user who placed it if that user is a member, and otherwise for the administrator who resumes it.',
      'If neither is a member, the response is `role_insufficient`.',
      'An order that waits for approvals stays with its user, and one that the administrator has decided on too: `approver_is_maker`.',
      'Earlier rejections do not pause it again.',
      'After a lost response, `order_not_paused` can mean that the order is resumed: read the order.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiIdParam(...ORDER_ID)
  @ApiOkResponse({ description: 'The resumed order.', type: OrderDto })
  resume(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
  ): Promise<Order> {
    return this.banking.resumeOrder(caller, { accountId, orderId });
  }
}

const orderLimit = {
  provide: OrderLimit,
  inject: [ApiConfig],
  useFactory: ({ orderLimit }: ApiConfig) => new OrderLimit(orderLimit?.perMinute),
};

@Module({
  imports: [CachedResponsesModule],
  controllers: [PurposesController, OrdersController],
  providers: [orderLimit],
})
export class OrdersModule {}

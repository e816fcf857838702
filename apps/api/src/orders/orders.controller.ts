import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type AccountId, type Intent, type Order, type OrderId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { Operation } from '../http/operation.decorator.js';
import { IntentOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { linkNext, PageQueryDto, sendPage } from '../input/page.js';
import { OrderLimit } from './order-limit.js';
import { OrderQueryDto, OrderWishDto } from './order-input.dto.js';
import { OrderDto } from './order.dto.js';

const ACCOUNT_ID = ['accountId', 'The account of the workspace that pays.'] as const;
const ORDER_ID = ['orderId', 'An order of that account.'] as const;

@ApiTags('Orders')
@Controller()
export class OrdersController {
  constructor(
    private readonly banking: BankingService,
    private readonly limit: OrderLimit,
  ) {}

  @Get('orders')
  @Operation('listOrders', {
    summary: 'List orders',
    description:
      'The orders of the workspace, newest first, each with the latest ten of its executions. Filters narrow the list; all that are given must hold.',
    provenance: 'stated',
    refusals: ['parameter_invalid', 'id_malformed', 'timestamp_invalid', 'account_not_found', 'recipient_not_found'],
    isPaged: true,
    examples: [
      { name: 'active', summary: 'What is still to run', values: { 'Workspace-ID': 1, status: 'active', type: 'recurring', limit: 1 } }, // prettier-ignore
    ],
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
    description:
      'Pays a recipient: at once, at a later time, or again and again.\n\n**An instant order** has moved the money when it is answered: `amount` and the fee have left the account, or it is refused and nothing has happened. Send it with an `Idempotency-Key`: the same order, placed twice, is two payments.\n\n**Three finish lines.** The order is `completed` when nothing of it is left to run. Its transaction is `completed` when the network says that the money has arrived, and `failed` when it does not: then the full amount comes back as a new transaction, and the fee is kept. A payment to an account of this service is completed at once.\n\n**Later orders** are checked when they are placed and again when they run; the account must hold the money only then. A run that is refused is recorded as a failed execution with its reason. A recurring order goes on, until three in a row have failed. What was missed while the service was down runs once.\n\n**The price** is that of the quote that is named, else that of the moment.',
    provenance: 'stated',
    refusals: [
      'id_malformed',
      'amount_malformed',
      'amount_out_of_range',
      'timestamp_invalid',
      'account_not_found',
      'account_disabled',
      'recipient_invalid',
      'corridor_disabled',
      'amount_below_minimum',
      'amount_above_maximum',
      'insufficient_funds',
      'purpose_code_required',
      'purpose_code_invalid',
      'schedule_invalid',
      'quote_not_found',
      'quote_expired',
      'quote_used',
      'rate_unavailable',
      'external_reference_reused',
    ],
    body: 'creates',
    examples: [
      {
        name: 'india',
        summary: '2500.00 USD to a person in India, in rupees',
        values: { 'Workspace-ID': 1, accountId: 1, 'Idempotency-Key': 'order-ravi' },
        body: { amount: '250000', recipientID: 2, type: 'instant', purposeCode: 'IR002', description: 'Invoice 4711' },
      },
      {
        name: 'internal',
        summary: 'To an account of this service: completed at once',
        values: { 'Workspace-ID': 1, accountId: 1, 'Idempotency-Key': 'order-internal' },
        body: { amount: '5000', recipientID: 1, type: 'instant', description: 'Float for payroll' },
      },
      {
        name: 'monthly',
        summary: 'On the last day of every month',
        values: { 'Workspace-ID': 1, accountId: 1, 'Idempotency-Key': 'order-monthly' },
        body: {
          amount: '5000',
          recipientID: 1,
          type: 'recurring',
          repeatUnit: 'monthly',
          repeatValue: 1,
          startAt: '2099-01-31T09:00:00+01:00',
        },
      },
    ],
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiOkResponse({ description: 'The order as it stands.', type: OrderDto })
  async place(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Body(bodyPipe) wish: OrderWishDto,
    @IntentOf() intent: Intent,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const attempt = { ...intent, workspaceId: caller.workspaceId, accountId, body: wish };
    const placed = await this.limit.count(reply, attempt, () =>
      this.banking.placeOrder(caller, { ...wish, accountId }, intent),
    );
    return sendCreated(reply, `/accounts/${accountId}/orders`, placed);
  }

  @Get('accounts/:accountId/orders/:orderId')
  @Operation('getOrder', {
    summary: 'Retrieve an order',
    description:
      'One order with its executions, each with its transaction and the tracking of a payment abroad. An order with more than `limit` executions is answered with the latest of them, in the order of their sequence; `Link` leads to the same order with the executions before.',
    provenance: 'stated',
    refusals: ['id_malformed', 'order_not_found'],
    isPaged: true,
    examples: [
      { name: 'paid', summary: 'Paid to India: executed, tracked, arrived', values: { 'Workspace-ID': 1, accountId: 1, orderId: 1 } }, // prettier-ignore
      { name: 'monthly', summary: 'Runs every month', values: { 'Workspace-ID': 1, accountId: 2, orderId: 2 } },
      {
        name: 'cancelled',
        summary: 'Cancelled before it ran',
        values: { 'Workspace-ID': 1, accountId: 2, orderId: 4 },
      },
    ],
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
    const { order, next } = await this.banking.getOrderPage(caller, { ...query, accountId, orderId });
    linkNext(reply, next);
    return order;
  }

  @Post('accounts/:accountId/orders/:orderId/cancellation')
  @HttpCode(200)
  @Operation('cancelOrder', {
    summary: 'Cancel an order',
    description:
      'What has not been executed never will be. What has been, stays. The answer holds the latest 100 executions. An order of which nothing is left to run cannot be cancelled: so after a lost answer, `order_not_cancellable` with the status `cancelled` means that it is done.',
    provenance: 'ours',
    refusals: ['id_malformed', 'order_not_found', 'order_not_cancellable'],
    examples: [
      { name: 'scheduled', summary: 'An order for one day', values: { 'Workspace-ID': 1, accountId: 2, orderId: 3 } },
      { name: 'monthly', summary: 'An order that recurs', values: { 'Workspace-ID': 1, accountId: 2, orderId: 2 } },
    ],
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiIdParam(...ORDER_ID)
  @ApiOkResponse({ description: 'The order, cancelled.', type: OrderDto })
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
    description:
      'The order runs again, and what it missed runs once, now. An order that shows `pausedAt` is paused: because the user who placed it has no role in the workspace, or because three of its payouts in a row were rejected. From now on it runs for the administrator who resumes it, as long as that user has a role in the workspace. Rejections so far do not pause it again. After a lost answer, `order_not_paused` may mean that it is done: read the order.',
    provenance: 'ours',
    refusals: ['id_malformed', 'order_not_found', 'order_not_paused'],
    examples: [
      { name: 'placer', summary: 'Its placer has no role', values: { 'Workspace-ID': 1, accountId: 2, orderId: 5 } },
    ],
  })
  @ApiIdParam(...ACCOUNT_ID)
  @ApiIdParam(...ORDER_ID)
  @ApiOkResponse({ description: 'The order, which is not paused any more.', type: OrderDto })
  resume(
    @CalledBy() caller: Caller,
    @Param('accountId', IdPipe) accountId: AccountId,
    @Param('orderId', IdPipe) orderId: OrderId,
  ): Promise<Order> {
    return this.banking.resumeOrder(caller, { accountId, orderId });
  }
}

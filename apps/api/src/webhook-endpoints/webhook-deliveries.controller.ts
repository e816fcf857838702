import { Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { BankingService, type WebhookDelivery, type WebhookDeliveryId, type WebhookEndpointId } from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import { WebhookDeliveryDto } from './webhook-delivery.dto.js';
import { WebhookDeliveryQueryDto } from './webhook-endpoint-input.dto.js';
import * as docs from './webhook-endpoints.docs.js';

@ApiTags('Webhook endpoints')
@Controller('webhook-endpoints/:webhookEndpointId/deliveries')
export class WebhookDeliveriesController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listWebhookDeliveries', docs.listWebhookDeliveries)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'A page of deliveries.', type: [WebhookDeliveryDto] })
  async list(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Query(queryPipe) query: WebhookDeliveryQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listWebhookDeliveries(caller, { ...query, webhookEndpointId }));
  }

  @Post(':webhookDeliveryId/retry')
  @HttpCode(202)
  @Operation('retryWebhookDelivery', docs.retryWebhookDelivery)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiIdParam(...docs.WEBHOOK_DELIVERY_ID)
  @ApiAcceptedResponse({ description: 'The delivery, which is due.', type: WebhookDeliveryDto })
  retry(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Param('webhookDeliveryId', IdPipe) webhookDeliveryId: WebhookDeliveryId,
  ): Promise<WebhookDelivery> {
    return this.banking.retryWebhookDelivery(caller, { webhookEndpointId, webhookDeliveryId });
  }
}

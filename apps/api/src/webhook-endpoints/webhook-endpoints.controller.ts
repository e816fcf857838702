import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  type RequestOptions,
  type WebhookDelivery,
  type WebhookDeliveryId,
  type WebhookEndpoint,
  type WebhookEndpointId,
  type WebhookEndpointWithSecret,
  type WebhookReplay,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import {
  CreateWebhookEndpointInputDto,
  WebhookDeliveryDto,
  WebhookDeliveryQueryDto,
  WebhookEndpointChangeDto,
  WebhookEndpointDto,
  WebhookEndpointWithSecretDto,
  WebhookReplayDto,
  WebhookReplayInputDto,
} from './webhook-endpoint.dto.js';

const WEBHOOK_ENDPOINT_ID = [
  'webhookEndpointId',
  'A webhook endpoint of the workspace. The response is the same for one of another workspace and one that does not exist.',
] as const;
const WEBHOOK_DELIVERY_ID = ['webhookDeliveryId', 'A delivery of the endpoint.'] as const;

@ApiTags('Webhook endpoints')
@Controller('webhook-endpoints/:webhookEndpointId/deliveries')
class WebhookDeliveriesController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listWebhookDeliveries', {
    summary: 'List deliveries',
    description: paragraphs(
      'Lists the deliveries of an endpoint, newest first, each with its last attempt.',
      'Deliveries are kept as long as events.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
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
  @Operation('retryWebhookDelivery', {
    summary: 'Retry a delivery',
    description: 'Makes a pending or failed delivery due now: one more attempt follows shortly after.',
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiIdParam(...WEBHOOK_DELIVERY_ID)
  @ApiAcceptedResponse({ description: 'The delivery, which is due.', type: WebhookDeliveryDto })
  retry(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Param('webhookDeliveryId', IdPipe) webhookDeliveryId: WebhookDeliveryId,
  ): Promise<WebhookDelivery> {
    return this.banking.retryWebhookDelivery(caller, { webhookEndpointId, webhookDeliveryId });
  }
}

@ApiTags('Webhook endpoints')
@Controller('webhook-endpoints')
class WebhookEndpointsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listWebhookEndpoints', {
    summary: 'List webhook endpoints',
    description: 'Lists the webhook endpoints of the workspace, newest first, without their secrets.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of webhook endpoints.', type: [WebhookEndpointDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listWebhookEndpoints(caller, query));
  }

  @Post()
  @Operation('createWebhookEndpoint', {
    summary: 'Create a webhook endpoint',
    description: paragraphs(
      'Creates an address that receives the events of the workspace, from now on, as signed requests of [Standard Webhooks](https://www.standardwebhooks.com).',
      'A workspace has 20 endpoints at most.',
      '',
      'The response shows the `secret` once. The service stores it encrypted and never shows it again:',
      'the replay of a request with the same `Idempotency-Key` has no `secret`. If you lost the response, make a new secret.',
    ),
    provenance: 'ours',
  })
  @ApiCreatedResponse({ description: 'The new webhook endpoint.', type: WebhookEndpointWithSecretDto })
  async create(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: CreateWebhookEndpointInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const created = await this.banking.createWebhookEndpoint(caller, input, options);
    return sendCreated(reply, '/webhook-endpoints', created);
  }

  @Get(':webhookEndpointId')
  @Operation('getWebhookEndpoint', {
    summary: 'Retrieve a webhook endpoint',
    description: 'Returns one webhook endpoint without its secret.',
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'The webhook endpoint.', type: WebhookEndpointDto })
  get(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookEndpoint> {
    return this.banking.getWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Patch(':webhookEndpointId')
  @Operation('changeWebhookEndpoint', {
    summary: 'Change, disable or enable a webhook endpoint',
    description: paragraphs(
      'Changes the address, types or description of an endpoint, disables it, or enables it again. Omitted fields stay unchanged.',
      '',
      'An endpoint that is enabled again continues with the first event that was not delivered.',
      'Nothing is lost while it is disabled, as long as the deployment keeps the events.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'The changed webhook endpoint.', type: WebhookEndpointDto })
  change(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Body(bodyPipe) change: WebhookEndpointChangeDto,
  ): Promise<WebhookEndpoint> {
    return this.banking.changeWebhookEndpoint(caller, { ...change, webhookEndpointId });
  }

  @Delete(':webhookEndpointId')
  @HttpCode(204)
  @Operation('deleteWebhookEndpoint', {
    summary: 'Delete a webhook endpoint',
    description: paragraphs(
      'Deletes an endpoint and its secret permanently. Its pending deliveries are not sent.',
      'A second deletion fails with 404, so after a lost response a 404 means that the endpoint is deleted.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiNoContentResponse({ description: 'The webhook endpoint is deleted. The response has no body.' })
  delete(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<void> {
    return this.banking.deleteWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/secret-rotation')
  @HttpCode(200)
  @Operation('rotateWebhookSecret', {
    summary: 'Rotate the secret of a webhook endpoint',
    description: paragraphs(
      'Makes a new secret, and shows it once.',
      'The former secret signs too for 24 hours, so receivers can change it meanwhile.',
      'Another rotation within that time ends the secret before the last one.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'The webhook endpoint with its new secret.', type: WebhookEndpointWithSecretDto })
  rotate(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookEndpointWithSecret> {
    return this.banking.rotateWebhookSecret(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/test')
  @HttpCode(202)
  @Operation('testWebhookEndpoint', {
    summary: 'Test a webhook endpoint',
    description: paragraphs(
      'Sends an event of the type `webhook.test`, which has no resource, to the endpoint shortly after the response.',
      'The list of deliveries shows the result.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiAcceptedResponse({ description: 'The delivery of the test.', type: WebhookDeliveryDto })
  test(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookDelivery> {
    return this.banking.testWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/replay')
  @HttpCode(202)
  @Operation('replayWebhookEvents', {
    summary: 'Replay events',
    description: paragraphs(
      'Delivers the events of a period again that the endpoint has a type of, whether they were delivered before or not.',
      'A receiver recognises a repeated event by its `webhook-id`.',
      'A period may have 10,000 events of the workspace at most. A workspace has one replay at a time: the next one may follow when each ' +
        'delivery was attempted.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...WEBHOOK_ENDPOINT_ID)
  @ApiAcceptedResponse({ description: 'How many events are delivered again.', type: WebhookReplayDto })
  replay(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Body(bodyPipe) input: WebhookReplayInputDto,
  ): Promise<WebhookReplay> {
    return this.banking.replayWebhookEvents(caller, { ...input, webhookEndpointId });
  }
}

@Module({ controllers: [WebhookEndpointsController, WebhookDeliveriesController] })
export class WebhookEndpointsModule {}

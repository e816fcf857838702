import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  type RequestOptions,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookEndpointId,
  type WebhookEndpointWithSecret,
  type WebhookReplay,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/caller.js';
import { Operation } from '../access/operation.decorator.js';
import { ApiIdParam, IdPipe } from '../http/id.pipe.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { bodyPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { WebhookDeliveryDto } from './webhook-delivery.dto.js';
import { WebhookEndpointDto, WebhookEndpointWithSecretDto, WebhookReplayDto } from './webhook-endpoint.dto.js';
import {
  CreateWebhookEndpointInputDto,
  WebhookEndpointChangeDto,
  WebhookReplayInputDto,
} from './webhook-endpoint-input.dto.js';
import * as docs from './webhook-endpoints.docs.js';

@ApiTags('Webhook endpoints')
@Controller('webhook-endpoints')
export class WebhookEndpointsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listWebhookEndpoints', docs.listWebhookEndpoints)
  @ApiOkResponse({ description: 'A page of webhook endpoints.', type: [WebhookEndpointDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listWebhookEndpoints(caller, query));
  }

  @Post()
  @Operation('createWebhookEndpoint', docs.createWebhookEndpoint)
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
  @Operation('getWebhookEndpoint', docs.getWebhookEndpoint)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'The webhook endpoint.', type: WebhookEndpointDto })
  get(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookEndpoint> {
    return this.banking.getWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Patch(':webhookEndpointId')
  @Operation('changeWebhookEndpoint', docs.changeWebhookEndpoint)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
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
  @Operation('deleteWebhookEndpoint', docs.deleteWebhookEndpoint)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiNoContentResponse({ description: 'The webhook endpoint is deleted. The response has no body.' })
  delete(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<void> {
    return this.banking.deleteWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/secret-rotation')
  @HttpCode(200)
  @Operation('rotateWebhookSecret', docs.rotateWebhookSecret)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiOkResponse({ description: 'The webhook endpoint with its new secret.', type: WebhookEndpointWithSecretDto })
  rotate(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookEndpointWithSecret> {
    return this.banking.rotateWebhookSecret(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/test')
  @HttpCode(202)
  @Operation('testWebhookEndpoint', docs.testWebhookEndpoint)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiAcceptedResponse({ description: 'The delivery of the test.', type: WebhookDeliveryDto })
  test(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
  ): Promise<WebhookDelivery> {
    return this.banking.testWebhookEndpoint(caller, { webhookEndpointId });
  }

  @Post(':webhookEndpointId/replay')
  @HttpCode(202)
  @Operation('replayWebhookEvents', docs.replayWebhookEvents)
  @ApiIdParam(...docs.WEBHOOK_ENDPOINT_ID)
  @ApiAcceptedResponse({ description: 'How many events are delivered again.', type: WebhookReplayDto })
  replay(
    @CalledBy() caller: Caller,
    @Param('webhookEndpointId', IdPipe) webhookEndpointId: WebhookEndpointId,
    @Body(bodyPipe) input: WebhookReplayInputDto,
  ): Promise<WebhookReplay> {
    return this.banking.replayWebhookEvents(caller, { ...input, webhookEndpointId });
  }
}

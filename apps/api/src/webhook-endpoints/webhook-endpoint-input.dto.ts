import {
  EVENT_TYPES,
  WEBHOOK_URL_MAX,
  type CreateWebhookEndpointInput,
  type WebhookDeliveryQuery,
  type WebhookEndpointChange,
  type WebhookReplayInput,
} from '@banking/domain';
import { ChoiceField, ChoicesField, LineField, RequiredInstantField } from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { ChoiceParameter } from '../input/parameter.decorator.js';

const DESCRIPTION_MAX = 140;
const URL = 'https://hooks.northwind.example/banking';
const TYPES = EVENT_TYPES.map(({ type }) => type);

export class CreateWebhookEndpointInputDto implements CreateWebhookEndpointInput {
  @LineField(
    'ours',
    WEBHOOK_URL_MAX,
    'The address that receives the events: `https`, a public host, no credentials, no fragment.',
    URL,
    true,
  )
  readonly url!: string;

  @ChoicesField('ours', TYPES, 'The types of events to deliver. Without any, all types, also those of later releases.')
  readonly types?: NonNullable<CreateWebhookEndpointInput['types']>;

  @LineField('ours', DESCRIPTION_MAX, 'Your name for the endpoint.', 'Ledger of Northwind')
  readonly description?: string;
}

export class WebhookEndpointChangeDto implements Omit<WebhookEndpointChange, 'webhookEndpointId'> {
  @LineField('ours', WEBHOOK_URL_MAX, 'The new address.', `${URL}/v2`)
  readonly url?: string;

  @ChoicesField('ours', TYPES, 'The new types of events. An empty list stands for all types.')
  readonly types?: NonNullable<WebhookEndpointChange['types']>;

  @LineField('ours', DESCRIPTION_MAX, 'The new name.', 'Ledger of Northwind, Berlin')
  readonly description?: string;

  @ChoiceField(
    'ours',
    ['enabled', 'disabled'],
    'A disabled endpoint receives nothing. Enabled again, it continues with the first event that was not delivered.',
  )
  readonly status?: NonNullable<WebhookEndpointChange['status']>;
}

export class WebhookReplayInputDto implements Omit<WebhookReplayInput, 'webhookEndpointId'> {
  @RequiredInstantField('ours', 'Events that were created at this instant or later.', '2026-11-21T09:00:00Z')
  readonly createdFrom!: string;

  @RequiredInstantField('ours', 'Events that were created before this instant.', '2026-11-21T10:00:00Z')
  readonly createdTo!: string;
}

/** The filters of the deliveries of an endpoint. */
export class WebhookDeliveryQueryDto extends PageQueryDto implements Omit<WebhookDeliveryQuery, 'webhookEndpointId'> {
  @ChoiceParameter('ours', ['pending', 'delivered', 'failed'], 'Deliveries with this status.')
  readonly status?: NonNullable<WebhookDeliveryQuery['status']>;
}

import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refusal } from '@banking/domain';
import { Field } from '../http/field.decorator.js';
import { Operation } from '../access/operation.decorator.js';
import * as docs from './health.docs.js';
import { Draining, SharedReadiness } from './readiness.js';

class HealthDto {
  @Field('ours', { type: 'string', description: '`ok`', example: 'ok' })
  readonly status!: string;
}

class WorkStatusDto {
  @Field('ours', {
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 1, maximum: 1_000 },
    description: 'Pieces of work that are parked until an operator releases them, by kind; 1000 means that or more.',
    example: { payout: 2 },
    required: [],
    selfRequired: true,
  } as never)
  readonly parked!: Readonly<Record<string, number>>;

  @Field('ours', {
    type: 'integer',
    minimum: 0,
    description: 'For how long the work that is due longest has not been claimed; 0 when nothing is due.',
    example: 0,
  })
  readonly oldestDueSeconds!: number;
}

class ReadinessDto extends HealthDto {
  @Field('ours', {
    type: () => WorkStatusDto,
    description: 'What is done later, where this process runs a worker. At most 5 seconds old.',
    required: false,
  })
  readonly work?: WorkStatusDto;
}

@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly readiness: SharedReadiness,
    private readonly draining: Draining,
  ) {}

  @Get('live')
  @Header('Cache-Control', 'no-store')
  @Operation('getLiveness', docs.getLiveness)
  @ApiOkResponse({ description: 'The process is alive.', type: HealthDto })
  live(): HealthDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @Operation('getReadiness', docs.getReadiness)
  @ApiOkResponse({ description: 'The service can serve requests.', type: ReadinessDto })
  async ready(): Promise<ReadinessDto> {
    if (this.draining.begun) throw new Refusal('unavailable', 'The service is stopping.');
    const work = await this.readiness.read();
    return { status: 'ok', ...(work && { work }) };
  }
}

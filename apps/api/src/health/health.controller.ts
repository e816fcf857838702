import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refusal } from '@banking/domain';
import { Field } from '../http/field.decorator.js';
import { Operation } from '../http/operation.decorator.js';
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
  @Operation('getLiveness', {
    summary: 'Whether the process lives',
    description: 'For the supervisor: a process that does not answer should be restarted. The database plays no part.',
    provenance: 'ours',
    refusals: [],
    examples: [{ name: 'ok', summary: 'It lives' }],
  })
  @ApiOkResponse({ description: 'It lives.', type: HealthDto })
  live(): HealthDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @Operation('getReadiness', {
    summary: 'Whether requests can be served',
    description:
      'For the load balancer: false while the database, or at a gateway the deployment behind it, cannot be reached, and once the process is told to stop.',
    provenance: 'ours',
    refusals: ['unavailable'],
    examples: [{ name: 'ok', summary: 'They can' }],
  })
  @ApiOkResponse({ description: 'They can.', type: ReadinessDto })
  async ready(): Promise<ReadinessDto> {
    if (this.draining.begun) throw new Refusal('unavailable', 'The service is stopping.');
    const work = await this.readiness.read();
    return { status: 'ok', ...(work && { work }) };
  }
}

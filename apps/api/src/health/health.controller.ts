import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refusal } from '@banking/domain';
import { Field } from '../http/field.decorator.js';
import { Operation } from '../http/operation.decorator.js';
import { Draining, READINESS, type Readiness } from './readiness.js';

class HealthDto {
  @Field('ours', { type: 'string', description: '`ok`', example: 'ok' })
  readonly status!: string;
}

@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(
    @Inject(READINESS) private readonly readiness: Readiness,
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
  @ApiOkResponse({ description: 'They can.', type: HealthDto })
  async ready(): Promise<HealthDto> {
    if (this.draining.begun) throw new Refusal('unavailable', 'The service is stopping.');
    await this.readiness.check();
    return { status: 'ok' };
  }
}

import { Controller, type DynamicModule, Get, Header, Module } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refusal } from '@banking/domain';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { OwnTextField } from '../http/field.decorator.js';
import { Draining, type Readiness, SharedReadiness } from './readiness.js';

class HealthDto {
  @OwnTextField('`ok`', 'ok')
  readonly status!: string;
}

@ApiTags('Health')
@Controller('health')
class HealthController {
  constructor(
    private readonly readiness: SharedReadiness,
    private readonly draining: Draining,
  ) {}

  @Get('live')
  @Header('Cache-Control', 'no-store')
  @Operation('getLiveness', {
    summary: 'Report whether the process is alive',
    description: 'For a supervisor: restart a process that does not respond. The database is not checked.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The process is alive.', type: HealthDto })
  live(): HealthDto {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  @Operation('getReadiness', {
    summary: 'Report whether the service can serve requests',
    description: paragraphs(
      'For a load balancer. The service is not ready while the database is unreachable, and after the process was told to stop.',
      'A gateway is not ready while its upstream is unreachable.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The service can serve requests.', type: HealthDto })
  async ready(): Promise<HealthDto> {
    if (this.draining.begun) throw notReady();
    await this.readiness.read().catch((error: unknown) => {
      throw error instanceof Refusal ? notReady(error) : error;
    });
    return { status: 'ok' };
  }
}

/** Everyone may call this path, so the reason goes to the log and to the listener of operators only. */
function notReady({ retryAfterSeconds, cause }: Partial<Refusal> = {}): Refusal {
  return new Refusal('unavailable', 'The service is not ready.', { retryAfterSeconds, cause });
}

@Module({ controllers: [HealthController] })
export class HealthModule {
  static of(readiness: Readiness, draining: Draining): DynamicModule {
    return {
      module: HealthModule,
      providers: [
        { provide: SharedReadiness, useValue: new SharedReadiness(readiness) },
        { provide: Draining, useValue: draining },
      ],
    };
  }
}

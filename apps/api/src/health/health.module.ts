import { type DynamicModule, Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { Draining, type Readiness, SharedReadiness } from './readiness.js';

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

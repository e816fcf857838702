import { type DynamicModule, Module } from '@nestjs/common';
import { Draining } from '../health/readiness.js';
import { EventsController } from './events.controller.js';
import { HeldRequests } from './held-requests.js';

@Module({ controllers: [EventsController], providers: [HeldRequests] })
export class EventsModule {
  static of(draining: Draining): DynamicModule {
    return { module: EventsModule, providers: [{ provide: Draining, useValue: draining }] };
  }
}

import { Module } from '@nestjs/common';
import { ApiConfig } from '../config.js';
import { CachedResponsesModule } from '../http/cached-responses.module.js';
import { OrderLimit } from './order-limit.js';
import { OrdersController } from './orders.controller.js';
import { PurposesController } from './purposes.controller.js';

const orderLimit = {
  provide: OrderLimit,
  inject: [ApiConfig],
  useFactory: ({ orderLimit }: ApiConfig) => new OrderLimit(orderLimit?.perMinute),
};

@Module({
  imports: [CachedResponsesModule],
  controllers: [PurposesController, OrdersController],
  providers: [orderLimit],
})
export class OrdersModule {}

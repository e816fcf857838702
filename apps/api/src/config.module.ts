import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ApiConfig } from './config.js';

/** Makes the configuration injectable everywhere, as `ApiConfig`. */
@Global()
@Module({})
export class ConfigModule {
  static with(config: ApiConfig): DynamicModule {
    return { module: ConfigModule, providers: [{ provide: ApiConfig, useValue: config }], exports: [ApiConfig] };
  }
}

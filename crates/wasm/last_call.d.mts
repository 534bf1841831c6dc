// Types of last_call.mjs.

export function described(name: string, call: string, now: bigint | undefined): string;

export class LastCall {
  constructor(buffer?: SharedArrayBuffer);
  readonly buffer: SharedArrayBuffer;
  begin(name: string, call: string, now?: bigint): void;
  end(): void;
  get count(): number;
  get text(): string;
}

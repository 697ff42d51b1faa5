/** Tokens of quotas that are set aside, and settled when it is known how many were used. */
export interface TokenStore {
  /** The time of this process, which never goes back. */
  monotonicMs(): number;
  /** The tokens that are left in all regions, as far as this one knows, and how long the window lasts. */
  peek(quota: string, subject: Buffer): Promise<TokenStanding | TokenError>;
  /** Sets tokens aside; after `ttlMs` they count as spent. */
  reserve(quota: string, subject: Buffer, tokens: number, ttlMs: number): Promise<ReservedTokens | TokenError>;
  /** Gives back those that were not used; takes more where more were used, as far as there are any. */
  settle(id: string, used: number): void;
}

export interface TokenStanding {
  readonly remaining: number;
  readonly resetMs: number;
}

export interface ReservedTokens {
  /** Empty where there were not as many. */
  readonly id: string;
  readonly resetMs: number;
}

export interface TokenError {
  readonly error: string;
}

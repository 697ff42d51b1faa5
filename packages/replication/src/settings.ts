/** Raised with every change that an older replica would not understand. */
export const PROTOCOL_VERSION = 1;

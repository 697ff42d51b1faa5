/**
 * Bounds of the lists in a frame. A few bytes on the wire become more in memory (an empty key is one byte there and an
 * object here), so lists are bounded besides the frame.
 */

/** Of a batch or an inventory. The walks of the engine end their parts at 4096. */
export const MAXIMUM_COMPONENTS = 65_536;
/** Any other list: one entry for each shard, or for each range. */
export const MAXIMUM_ENTRIES = 65_536;
export const MAXIMUM_CANCELS = 262_144;
/** More than the engine has room for. */
export const MAXIMUM_CANCELLED_ORIGINS = 1024;
export const MAXIMUM_AGREEMENTS = 64;
export const MAXIMUM_KEY_BYTES = 65_536;
export const MAXIMUM_SHARD = 65_535;
/** Names and explanations. */
export const MAXIMUM_TEXT_BYTES = 65_536;

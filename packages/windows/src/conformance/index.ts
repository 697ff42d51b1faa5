export { describeWindowCounterStore, type WindowCounterStoreHarness } from './describe-window-counter-store.js';

export { ArtifactManager } from "./artifacts";
export {
	BlobStore,
	externalizeImageData,
	externalizeImageDataUrl,
	isBlobRef,
	isImageDataUrl,
	parseBlobRef,
	resolveImageData,
	resolveImageDataUrl,
} from "./blob-store";
export { configure, type LeaflogOptions, type Logger, SequenceGenerator } from "./config";
export {
	findMostRecentSession,
	getRecentSessions,
	type ListOptions,
	type RecentSessionInfo,
	type ResolvedSessionMatch,
	resolveResumableSession,
} from "./discovery";
export { LeaflogError, type LeaflogErrorCode } from "./errors";
export {
	buildSessionContext,
	CURRENT_SESSION_VERSION,
	getLatestCompactionEntry,
	loadEntriesFromFile,
	migrateSessionEntries,
	parseSessionEntries,
} from "./functions";
export { type HistoryEntry, HistoryStorage } from "./history";
export {
	type BranchSummaryMessage,
	type CompactionSummaryMessage,
	type CustomMessage,
	createBranchSummaryMessage,
	createCompactionSummaryMessage,
	createCustomMessage,
} from "./messages";
export { SessionManager } from "./session-manager";
export { SessionView } from "./session-view";
export {
	FileSessionStorage,
	MemorySessionStorage,
	type OpenWriterOptions,
	type SessionStorage,
	type SessionStorageStat,
	type SessionStorageWriter,
} from "./storage";
export type * from "./types";

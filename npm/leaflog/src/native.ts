import { convert } from "./errors";

/** A session: a manager, or what one held at a moment. */
export type Handle = { readonly native: "session" };
/** A storage that is not the file system. */
export type StorageHandle = { readonly native: "storage" };
/** Where a session that another thread makes is put. */
export type SlotHandle = { readonly native: "slot" };
export type WriterHandle = { readonly native: "writer" };
export type HistoryHandle = { readonly native: "history" };
export type ProgressHandle = { readonly native: "progress" };
export type StateHandle = { readonly native: "state" };
export type SequenceHandle = { readonly native: "sequence" };

/** JSON text. */
type Json = string;

export interface NativeOptions {
	/** The variables that folders and the terminal are found by. */
	env: Record<string, string>;
	agentDir?: string;
	configDirName?: string;
	homeRelative?: boolean;
	sessionDir?: string;
	lockTimeoutMs?: number;
	syncAppends?: boolean;
	deferredMigration?: boolean;
	generator?: SequenceHandle;
}

interface SyncNative {
	create(cwd: string, options: NativeOptions, storage?: StorageHandle): Handle;
	inMemory(cwd: string, options: NativeOptions, storage?: StorageHandle): Handle;

	sequenceNew(startMs: number, stepMs: number): SequenceHandle;

	slotNew(): SlotHandle;
	slotTake(slot: SlotHandle): Handle;
	environmentVariables(): string[];
	errorCodes(): string[];

	appendMessage(session: Handle, message: Json): string;
	appendMessageBytes(session: Handle, array: Uint8Array, length: number): string;
	appendEntry(session: Handle, fields: Json): string;

	stamp(session: Handle, stamp: Buffer): void;
	light(session: Handle, positions: Uint32Array | undefined, from: number): Json;
	texts(session: Handle, positions: Uint32Array, start: number): Json;
	messages(session: Handle, positions: Uint32Array, start: number): Json;
	differs(session: Handle, position: number, text: Json, changed: boolean): 0 | 1 | 2;
	find(session: Handle, id: string): number;
	leaf(session: Handle): number;
	path(session: Handle, id?: string): Json;
	children(session: Handle, id: string): Json;
	tree(session: Handle): Json;
	labels(session: Handle): Json;
	label(session: Handle, id: string): string | null;
	usage(session: Handle): Json;
	header(session: Handle): Json;
	title(session: Handle): string | null;
	titleSource(session: Handle): string | null;
	lastModelChangeRole(session: Handle): string | null;
	context(session: Handle): Json;
	report(session: Handle): Json;
	snapshot(session: Handle): Handle;
	takeReplaced(session: Handle): Handle | null;

	cwd(session: Handle): string;
	sessionDir(session: Handle): string;
	sessionId(session: Handle): string;
	sessionFile(session: Handle): string | null;
	isPersisted(session: Handle): boolean;
	isStarted(session: Handle): boolean;
	branch(session: Handle, id: string): void;
	resetLeaf(session: Handle): void;
	lockTimeout(session: Handle): number;
	setLockTimeout(session: Handle, ms: number): void;
	flushNow(session: Handle): void;
	close(session: Handle): void;
	release(session: Handle): void;
	ensureOnDisk(session: Handle): void;
	replaceTexts(session: Handle, positions: Uint32Array, texts: Json[]): void;
	rewriteEntries(session: Handle): void;
	showAsLoaded(session: Handle): boolean;
	setSessionName(session: Handle, name: string, byUser: boolean): boolean;
	setSessionFile(session: Handle, path: string): void;
	newSession(session: Handle, parent?: string): string | null;
	fork(session: Handle): [string, string] | null;
	moveTo(session: Handle, cwd: string): void;
	dirAfterMove(session: Handle, cwd: string): string;
	createBranchedSession(session: Handle, leaf: string): string | null;
	captureState(session: Handle): StateHandle;
	restoreState(session: Handle, state: StateHandle): void;
	stateView(state: StateHandle): Handle;
	persistStatus(session: Handle): Json;
	reportFailure(session: Handle, message: string): void;
	takeLog(session: Handle): string[];

	queueNew(): StorageHandle;
	queueText(storage: StorageHandle, path: string, text?: string): void;
	queueExists(storage: StorageHandle, path: string, exists: boolean): void;
	queueTake(storage: StorageHandle): Json;

	memoryNew(): StorageHandle;
	storageEnsureDir(storage: StorageHandle | undefined, dir: string): void;
	storageExists(storage: StorageHandle | undefined, path: string): boolean;
	storageRead(storage: StorageHandle | undefined, path: string): string;
	storageReadPrefix(storage: StorageHandle | undefined, path: string, most: number): string;
	storageWrite(storage: StorageHandle | undefined, path: string, content: string): void;
	storageStat(storage: StorageHandle | undefined, path: string): [size: number, ms: number];
	storageList(storage: StorageHandle | undefined, dir: string, pattern: string): string[];
	storageRename(storage: StorageHandle | undefined, from: string, to: string): void;
	storageUnlink(storage: StorageHandle | undefined, path: string): void;
	deleteSession(path: string): void;
	writerOpen(storage: StorageHandle | undefined, path: string, truncate: boolean): WriterHandle;
	writerLine(writer: WriterHandle, line: string): void;
	writerFlush(writer: WriterHandle): void;
	writerFsync(writer: WriterHandle): void;
	writerClose(writer: WriterHandle): void;

	blobPut(dir: string, bytes: Uint8Array): string;
	blobGet(dir: string, hash: string): Buffer | null;
	blobHas(dir: string, hash: string): boolean;
	blobHash(reference: string): string | null;
	isImageDataUrl(text: string): boolean;

	artifactsDir(sessionFile: string): string | null;
	artifactAllocate(sessionFile: string, toolType: string): [id: string, path: string];
	artifactSave(sessionFile: string, content: Uint8Array, toolType: string): string;
	artifactPath(sessionFile: string, id: string): string | null;
	sessionSaveArtifact(session: Handle, content: Uint8Array, toolType: string): string;
	sessionAllocateArtifact(session: Handle, toolType: string): [id: string, path: string] | null;
	sessionArtifactPath(session: Handle, id: string): string | null;

	memoryPut(storage: StorageHandle, path: string, text: string, ms: number): void;
	sessionFolders(cwd: string | undefined, options: NativeOptions): string[];
	progressNew(): ProgressHandle;
	progressGet(progress: ProgressHandle): [done: number, total: number];
	progressStop(progress: ProgressHandle): void;
	timeAgo(ms: number): string;
	allMessagesText(path: string, storage?: StorageHandle): Json;
	blobsDir(options: NativeOptions): string;
	historyDb(options: NativeOptions): string;
	defaultSessionDir(cwd: string, options: NativeOptions, storage?: StorageHandle): string;

	historyOpen(path: string): HistoryHandle;
	historyAdd(history: HistoryHandle, prompt: string, cwd?: string): void;
	historyRecent(history: HistoryHandle, limit: number): Json;
	historySearch(history: HistoryHandle, query: string, limit: number): Json;
	historyClose(history: HistoryHandle): void;

	parseEntries(content: string): Json;
	loadEntries(content: string): Json;
	loadFile(path: string): Json;
	migrateEntries(content: string): Json;
	planContext(content: string, leaf: string | undefined, before: boolean): Json;
}

interface AsyncNative {
	open(slot: SlotHandle, path: string, options: NativeOptions, storage?: StorageHandle): Promise<void>;
	forkFrom(
		slot: SlotHandle,
		source: string,
		cwd: string,
		options: NativeOptions,
		storage?: StorageHandle,
	): Promise<void>;
	openView(slot: SlotHandle, path: string, content: string | undefined, options: NativeOptions): Promise<void>;
	continueRecent(slot: SlotHandle, cwd: string, options: NativeOptions, storage?: StorageHandle): Promise<void>;
	lockWait(session: Handle, ms: number): Promise<void>;
	flush(session: Handle, lockTimeoutMs: number): Promise<void>;
	historyFlush(history: HistoryHandle): Promise<void>;
	list(
		cwd: string | undefined,
		options: NativeOptions,
		storage: StorageHandle | undefined,
		progress: ProgressHandle,
	): Promise<Json>;
	recentSessions(dir: string, limit: number, options: NativeOptions, storage?: StorageHandle): Promise<Json>;
	mostRecentOf(cwd: string, options: NativeOptions, storage?: StorageHandle): Promise<Json>;
	resolveSession(arg: string, cwd: string, options: NativeOptions, storage?: StorageHandle): Promise<Json>;
}

export type Native = SyncNative & AsyncNative;

const ASYNC = new Set<string>([
	"open",
	"forkFrom",
	"openView",
	"continueRecent",
	"lockWait",
	"flush",
	"historyFlush",
	"list",
	"recentSessions",
	"mostRecentOf",
	"resolveSession",
] satisfies (keyof AsyncNative)[]);

/**
 * The addon. Each package is named in a call of its own: a bundler sees them, and takes the one
 * that is there into its output.
 */
function addon(): Record<string, (...args: unknown[]) => unknown> {
	try {
		// Built from source beside this package.
		return require("../native/leaflog.node");
	} catch (error) {
		if (!isMissing(error)) throw error;
	}
	const { platform, arch } = process;
	const target = `${platform}-${arch}`;
	try {
		switch (target) {
			case "linux-x64":
				return isMusl() ? require("@leaflog/linux-x64-musl") : require("@leaflog/linux-x64-gnu");
			case "linux-arm64":
				return isMusl() ? require("@leaflog/linux-arm64-musl") : require("@leaflog/linux-arm64-gnu");
			case "darwin-x64":
				return require("@leaflog/darwin-x64");
			case "darwin-arm64":
				return require("@leaflog/darwin-arm64");
			case "win32-x64":
				return require("@leaflog/win32-x64-msvc");
		}
	} catch (cause) {
		throw unusable(
			isMissing(cause)
				? `leaflog has no native part for ${target} installed: it comes as an optional dependency, ` +
						"so install without leaving those out, on the system it is to run on"
				: `leaflog cannot load its native part for ${target}: ${(cause as Error).message}`,
			cause,
		);
	}
	throw unusable(`leaflog does not run on ${target}`);
}

/** Why the package cannot be loaded, with the code that the engine gave. */
function unusable(message: string, cause?: unknown): Error {
	const code = (cause as { code?: string } | undefined)?.code ?? "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM";
	return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code });
}

function isMissing(error: unknown): boolean {
	const { code, message } = error as { code?: string; message?: string };
	// The second is what a bundler leaves of a module that was not there.
	return code === "MODULE_NOT_FOUND" || /cannot (find|require|resolve)/i.test(message ?? "");
}

function isMusl(): boolean {
	const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
	return report?.header !== undefined && report.header.glibcVersionRuntime === undefined;
}

type Function7 = (a: unknown, b: unknown, c: unknown, d: unknown, e: unknown, f: unknown, g: unknown) => unknown;

/** A native function whose exceptions are errors of this package. */
function wrap(inner: Function7, name: string): Function7 {
	return (a, b, c, d, e, f, g) => {
		try {
			return inner(a, b, c, d, e, f, g);
		} catch (error) {
			throw convert(error, name);
		}
	};
}

function wrapAsync(inner: Function7, name: string): Function7 {
	return async (a, b, c, d, e, f, g) => {
		try {
			return await inner(a, b, c, d, e, f, g);
		} catch (error) {
			throw convert(error, name);
		}
	};
}

function load(): Native {
	const functions: Record<string, unknown> = {};
	for (const [name, inner] of Object.entries(addon())) {
		functions[name] = ASYNC.has(name) ? wrapAsync(inner, name) : wrap(inner, name);
	}
	return functions as unknown as Native;
}

export const native: Native = load();
